"""The store on PostgreSQL: the rules over its rows, and statements of its own where they pay."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.clock import Clock
from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.rules.store import RuleStore
from fencepost.stores.postgres.address import Address, parse_address
from fencepost.stores.postgres.audit_log import PostgresAuditLog
from fencepost.stores.postgres.caveats import read_caveats
from fencepost.stores.postgres.connection import Database, open_database
from fencepost.stores.postgres.faults import translated_at_open
from fencepost.stores.postgres.leases import PostgresLeases
from fencepost.stores.postgres.ledger import PostgresLedger
from fencepost.stores.postgres.migrations import check_schema
from fencepost.stores.postgres.nodes import PostgresNodes
from fencepost.stores.postgres.plans import PostgresPlans
from fencepost.stores.postgres.rows import PostgresRows
from fencepost.stores.postgres.schedules import PostgresSchedules
from fencepost.stores.postgres.signals import PostgresSignals
from fencepost.stores.postgres.steps import PostgresSteps
from fencepost.stores.postgres.transactions import PostgresTransactions
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "store.sql")
POOL_MAX = 5
TRANSACTIONS_MAX = 10


class PostgresStore(RuleStore):
    """See `ports.store`."""

    def __init__(
        self,
        database: Database,
        address: Address,
        clock: Clock,
        transactions_max: int = TRANSACTIONS_MAX,
        caveats: Sequence[Caveat] = (),
    ) -> None:
        rows = PostgresRows(database)
        super().__init__(rows)
        self.caveats = caveats
        self._database = database
        self.signals = PostgresSignals(address, clock)
        self.schedules = PostgresSchedules(rows)
        self.audit_log = PostgresAuditLog(rows)
        self.plans = PostgresPlans(rows)
        self.ledger = PostgresLedger(rows)
        self.leases = PostgresLeases(database, self.signals, clock)
        self.nodes = PostgresNodes(rows, self.signals)
        self.steps = PostgresSteps(rows)
        self.transactions = PostgresTransactions(address, transactions_max)

    async def now(self) -> StoreTime:
        return StoreTime(await self._database.fetch_value(QUERIES["now"]))

    async def close(self) -> None:
        await self.leases.close()
        await self.transactions.close()
        await self.signals.close()
        await self._database.close()


async def open_store(
    url: str,
    *,
    clock: Clock,
    pool_max: int = POOL_MAX,
    transactions_max: int = TRANSACTIONS_MAX,
    unfinished: bool = False,
) -> PostgresStore:
    """Connect to a store that has been set up, and check that its schema fits this program. One that a copy
    was begun into is opened if it may be `unfinished`."""
    address = parse_address(url)
    database = await open_database(address, pool_max)
    try:
        with translated_at_open(address):
            await check_schema(database, address, unfinished=unfinished)
            caveats = await read_caveats(database)
    except BaseException:
        await database.close()
        raise
    return PostgresStore(database, address, clock, transactions_max, caveats)
