"""The store in a MongoDB replica set or sharded cluster: the rules over rows in collections."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pymongo
from pymongo import AsyncMongoClient

from fencepost.drivers.mongodb.address import Target, read_url
from fencepost.drivers.mongodb.calls import in_time
from fencepost.drivers.mongodb.faults import translated_at_open
from fencepost.drivers.mongodb.opening import SELECTION_TIMEOUT_S, check, connect, disconnect, is_router
from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.ports.leases import LeaseStore
from fencepost.rules.leases import LeaseRules
from fencepost.rules.store import RuleStore
from fencepost.stores.mongodb.caveats import examine, read_caveats
from fencepost.stores.mongodb.job_transactions import MongoTransactions
from fencepost.stores.mongodb.leases import MongoStoreLeases
from fencepost.stores.mongodb.ledger import MongoLedger, MongoNodes
from fencepost.stores.mongodb.migrations import check_schema, check_version
from fencepost.stores.mongodb.rows import MongoRows
from fencepost.stores.mongodb.signals import MongoSignals
from fencepost.stores.mongodb.transaction import SIGNALS

OPEN_TIMEOUT_S = 4.0


class MongoStore(RuleStore):
    """See `ports.store`."""

    def __init__(
        self,
        client: AsyncMongoClient[dict[str, Any]],
        rows: MongoRows,
        target: Target,
        caveats: Sequence[Caveat] = (),
    ) -> None:
        super().__init__(rows)
        self.caveats = caveats
        self._rows = rows
        self.signals = MongoSignals(rows.database[SIGNALS])
        self.leases: LeaseStore = LeaseRules(rows, self.signals)
        if not rows.is_sharded:  # See `sharding`.
            self.leases = MongoStoreLeases(client, target, rows, self.signals)
            self.ledger, self.nodes = MongoLedger(rows), MongoNodes(rows)
        self.transactions = MongoTransactions(rows, target)
        self._client = client

    async def examine(self) -> Sequence[Caveat]:
        return await self._rows.ask(examine(self._client, self._rows))

    async def close(self) -> None:
        await self.signals.close()
        await self.transactions.close()
        await disconnect(self._client)


async def open_store(
    url: str, *, now: Callable[[], Awaitable[StoreTime]] | None = None, unfinished: bool = False
) -> MongoStore:
    """Connect to a store that has been set up, and check that its schema fits this program. `now` replaces
    the server's clock, in tests. One that a copy was begun into is opened if it may be `unfinished`."""
    target = read_url(url, "store")
    client = connect(target)
    rows = MongoRows(client, target, now)
    try:
        caveats = await _check(client, target, rows, unfinished)
    except BaseException:
        await disconnect(client)
        raise
    store = MongoStore(client, rows, target, caveats)
    if now is not None:  # A lease that is one document ends by the server's own clock.
        store.leases = LeaseRules(rows, store.signals)
    return store


async def _check(
    client: AsyncMongoClient[dict[str, Any]], target: Target, rows: MongoRows, unfinished: bool
) -> list[Caveat]:
    with translated_at_open(target), pymongo.timeout(SELECTION_TIMEOUT_S):
        rows.is_sharded = is_router(await in_time(check(client, target), OPEN_TIMEOUT_S))
        await in_time(check_version(client, target), OPEN_TIMEOUT_S)
        caveats = [] if rows.is_sharded else await in_time(read_caveats(client), OPEN_TIMEOUT_S)
    await check_schema(rows, target, unfinished=unfinished)
    return caveats
