"""Leases in PostgreSQL: one row a shard, judged by the server's clock after any wait for the row.

Expiry is the server's `clock_timestamp()`. Besides, a node that listens holds a lock on that session, and
leaves the lock's key with its leases: where the session has ended, the lease is free before its time. That
is a hint, and may be wrong of a node that merely lost its connection; the fence in the ledger makes it
harmless.

The end of a session sends no notification, and to wait for its lock would hold a snapshot open all the while
and keep the server from cleaning up. So a watcher looks, with one small statement every half second while the
sessions of others hold leases. Whether they do is also told by every renewal: a node that holds all leases
does not look. Behind a pooler no node has a session of its own: there the lease's term is all there is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from fencepost.clock import Clock
from fencepost.errors import StoreUnavailable
from fencepost.model.clocks import STEP_MIN_S
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, HeldBy, LeaseRecord, Lost, Release, Released, Renewal
from fencepost.ports.signals import Topic
from fencepost.rules.rows import Row, reader
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.signals import PostgresSignals
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "leases.sql")
LOOK_EVERY_S = 0.5
LOOKS_LEFT_OUT_MAX = 20
"""A node that has learned nothing from a renewal for so long looks for itself."""
ANSWER_S = 2.5
"""How long an answer may take: less than the shortest lease."""


_to_record = reader(LeaseRecord)


class PostgresLeases:
    """See `ports.leases`."""

    caveats: Sequence[str] = ()

    def __init__(self, database: Database, signals: PostgresSignals, clock: Clock) -> None:
        self._database = database
        self._signals = signals
        self._clock = clock
        self._watchers: list[Callable[[], None]] = []
        self._lookout: asyncio.Task[None] | None = None
        self._has_others, self._unlooked = True, 0

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        wanted = sorted(set(shards))
        terms = wanted, holder, ttl_s, self._signals.session_key, STEP_MIN_S
        rows = await self._database.fetch(QUERIES["acquire"], *terms, within_s=ANSWER_S)
        answers = {row["shard"]: _acquisition(row) for row in rows}
        self._has_others |= any(isinstance(one, HeldBy) for one in answers.values())
        return answers

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        terms = list(held), list(held.values()), holder, ttl_s, self._signals.session_key, STEP_MIN_S
        rows = await self._database.fetch(QUERIES["renew"], *terms, within_s=ANSWER_S)
        extended = {row["shard"]: Granted(row["epoch"], set_back_s=row["set_back_s"]) for row in rows}
        self._has_others = len(extended) < len(held) or any(row["others"] for row in rows)
        self._unlooked = 0
        return {shard: extended.get(shard, Lost()) for shard in held}

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        terms = list(held), list(held.values()), holder
        self._has_others = True
        rows = await self._database.fetch(QUERIES["release"], *terms, within_s=ANSWER_S)
        freed = {row["shard"] for row in rows}
        return {shard: Released() if shard in freed else Lost() for shard in held}

    async def read(self) -> Sequence[LeaseRecord]:
        return [_to_record(row) for row in await self._database.fetch(QUERIES["read"], STEP_MIN_S)]

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        unlisten = await self._signals.listen(Topic.LEASES, callback)
        self._watchers.append(callback)
        if self._lookout is None:
            self._lookout = asyncio.create_task(self._look_out(), name="fencepost-lookout")

        def stop() -> None:
            unlisten()
            if callback in self._watchers:
                self._watchers.remove(callback)

        return stop

    async def close(self) -> None:
        """Stop looking; the store closes itself."""
        self._watchers.clear()
        lookout, self._lookout = self._lookout, None
        if lookout is not None:
            lookout.cancel()
            await asyncio.gather(lookout, return_exceptions=True)

    async def _look_out(self) -> None:
        while True:
            await self._clock.sleep(LOOK_EVERY_S)
            await self._look_if_due()

    async def _look_if_due(self) -> None:
        self._unlooked += 1
        if self._watchers and (self._has_others or self._unlooked >= LOOKS_LEFT_OUT_MAX):
            await self._look()

    async def _look(self) -> None:
        self._unlooked = 0
        with suppress(StoreUnavailable):
            row = await self._database.fetch_one(QUERIES["others"], self._signals.session_key)
            assert row is not None
            self._has_others = row["any"]
            for callback in tuple(self._watchers) if row["gone"] else ():
                callback()


def _acquisition(row: Row) -> Acquisition:
    """A lease as it is after an attempt to acquire it: granted, else whose it is."""
    if row["granted"]:
        return Granted(row["epoch"], set_back_s=row["set_back_s"])
    return HeldBy(row["holder"], row["epoch"], float(row["expires_in_s"]))
