"""The store on SQLite: the rules over its rows, and statements of its own where they pay."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.clock import Clock, SystemClock
from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.rules.leases import LeaseRules
from fencepost.rules.store import RuleStore
from fencepost.stores.sqlite import migrations
from fencepost.stores.sqlite.connection import Database
from fencepost.stores.sqlite.files import remove_mark
from fencepost.stores.sqlite.ledger import SqliteLedger
from fencepost.stores.sqlite.opening import path_of
from fencepost.stores.sqlite.plans import SqlitePlans
from fencepost.stores.sqlite.rows import SqliteRows
from fencepost.stores.sqlite.schedules import SqliteSchedules
from fencepost.stores.sqlite.signals import SqliteSignals
from fencepost.stores.sqlite.transactions import SqliteTransactions

SHARDS_DEFAULT = 8


class SqliteStore(RuleStore):
    """See `ports.store`. One file on one host; the host's clock is the store's."""

    caveats: Sequence[Caveat] = ()

    def __init__(self, database: Database, signals: SqliteSignals, transactions: SqliteTransactions) -> None:
        rows = SqliteRows(database, signals)
        super().__init__(rows)
        self._database = database
        self.signals = signals
        self.schedules = SqliteSchedules(rows)
        self.plans = SqlitePlans(rows)
        self.ledger = SqliteLedger(rows)
        self.leases = LeaseRules(rows, signals)
        self.transactions = transactions

    async def now(self) -> StoreTime:
        return self._database.now()

    async def close(self) -> None:
        """Give back the thread and the sockets."""
        self.signals.close()
        await self._database.close()


async def open_store(
    url: str, *, clock: Clock, shards: int = SHARDS_DEFAULT, unfinished: bool = False
) -> SqliteStore:
    """Open the database of a URL; one that is empty or missing is set up at once, with that many shards. One
    that a copy was begun into is opened if it may be `unfinished`."""
    database = Database(path_of(url), clock)
    await database.open()
    try:
        if await database.read(lambda connection, _: migrations.is_empty(connection)):
            await database.transact(lambda connection, _: migrations.apply(connection, url, shards))
        await database.read(lambda connection, _: migrations.check(connection, url, unfinished=unfinished))
    except BaseException:
        await database.close()
        raise
    signals = SqliteSignals(path_of(url))
    return SqliteStore(database, signals, SqliteTransactions(path_of(url), signals, clock))


async def migrate(url: str, *, shards: int = SHARDS_DEFAULT, restored: bool = False) -> list[str]:
    """Bring a database up to this release's schema; the names of the migrations applied."""
    if restored:
        remove_mark(path_of(url))
    database = Database(path_of(url), SystemClock())
    await database.open()
    try:
        return await database.transact(lambda connection, _: migrations.apply(connection, url, shards))
    finally:
        await database.close()
