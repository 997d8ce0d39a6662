"""The PostgreSQL store put together."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.clock import Clock
from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.stores.postgres.access import PostgresAccess
from fencepost.stores.postgres.address import Address, parse_address
from fencepost.stores.postgres.answers import PostgresAnswers
from fencepost.stores.postgres.audit_log import PostgresAuditLog
from fencepost.stores.postgres.backfills import PostgresBackfills
from fencepost.stores.postgres.calendars import PostgresCalendars
from fencepost.stores.postgres.caveats import read_caveats
from fencepost.stores.postgres.connection import Database, open_database
from fencepost.stores.postgres.epochs import PostgresEpochs
from fencepost.stores.postgres.faults import translated_at_open
from fencepost.stores.postgres.freezes import PostgresFreezes
from fencepost.stores.postgres.gates import PostgresGates
from fencepost.stores.postgres.jobs import PostgresJobs
from fencepost.stores.postgres.leases import PostgresLeases
from fencepost.stores.postgres.ledger import PostgresLedger
from fencepost.stores.postgres.logbook import PostgresLogbook
from fencepost.stores.postgres.migrations import check_schema
from fencepost.stores.postgres.planbook import PostgresPlanBook
from fencepost.stores.postgres.roster import PostgresRoster
from fencepost.stores.postgres.schedules import PostgresSchedules
from fencepost.stores.postgres.signals import PostgresSignals
from fencepost.stores.postgres.steps import PostgresSteps
from fencepost.stores.postgres.transactions import PostgresTransactions
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "store.sql")
POOL_MAX = 5
TRANSACTIONS_MAX = 10


class PostgresStore:
    """See `ports.store`."""

    def __init__(
        self,
        database: Database,
        address: Address,
        clock: Clock,
        transactions_max: int = TRANSACTIONS_MAX,
        caveats: Sequence[Caveat] = (),
    ) -> None:
        self.caveats = caveats
        self._database = database
        self._signals = PostgresSignals(address, clock)
        self._jobs = PostgresJobs(database)
        self._schedules = PostgresSchedules(database)
        self._calendars = PostgresCalendars(database)
        self._epochs = PostgresEpochs(database)
        self._planbook = PostgresPlanBook(database)
        self._ledger = PostgresLedger(database)
        self._leases = PostgresLeases(database, self._signals, clock)
        self._roster = PostgresRoster(database, self._signals)
        self._gates = PostgresGates(database)
        self._freezes = PostgresFreezes(database)
        self._backfills = PostgresBackfills(database)
        self._audit_log = PostgresAuditLog(database)
        self._access = PostgresAccess(database)
        self._answers = PostgresAnswers(database)
        self._steps = PostgresSteps(database)
        self._logbook = PostgresLogbook(database)
        self._transactions = PostgresTransactions(address, transactions_max)

    @property
    def jobs(self) -> PostgresJobs:
        return self._jobs

    @property
    def schedules(self) -> PostgresSchedules:
        return self._schedules

    @property
    def calendars(self) -> PostgresCalendars:
        return self._calendars

    @property
    def epochs(self) -> PostgresEpochs:
        return self._epochs

    @property
    def planbook(self) -> PostgresPlanBook:
        return self._planbook

    @property
    def ledger(self) -> PostgresLedger:
        return self._ledger

    @property
    def leases(self) -> PostgresLeases:
        return self._leases

    @property
    def roster(self) -> PostgresRoster:
        return self._roster

    @property
    def gates(self) -> PostgresGates:
        return self._gates

    @property
    def freezes(self) -> PostgresFreezes:
        return self._freezes

    @property
    def backfills(self) -> PostgresBackfills:
        return self._backfills

    @property
    def audit_log(self) -> PostgresAuditLog:
        return self._audit_log

    @property
    def access(self) -> PostgresAccess:
        return self._access

    @property
    def answers(self) -> PostgresAnswers:
        return self._answers

    @property
    def steps(self) -> PostgresSteps:
        return self._steps

    @property
    def logbook(self) -> PostgresLogbook:
        return self._logbook

    @property
    def transactions(self) -> PostgresTransactions:
        return self._transactions

    @property
    def signals(self) -> PostgresSignals:
        return self._signals

    async def now(self) -> StoreTime:
        return StoreTime(await self._database.fetch_value(QUERIES["now"]))

    async def close(self) -> None:
        await self._leases.close()
        await self._transactions.close()
        await self._signals.close()
        await self._database.close()


async def open_store(
    url: str, *, clock: Clock, pool_max: int = POOL_MAX, transactions_max: int = TRANSACTIONS_MAX
) -> PostgresStore:
    """Connect to a store that has been set up, and check that its schema fits this program."""
    address = parse_address(url)
    database = await open_database(address, pool_max)
    try:
        with translated_at_open(address):
            await check_schema(database, address)
            caveats = await read_caveats(database)
    except BaseException:
        await database.close()
        raise
    return PostgresStore(database, address, clock, transactions_max, caveats)
