"""A SQLite connection of any driver as what the parts of the store call a database.

A part of the store is a function of apsw's connection; here it is given something that answers alike. It
runs where the caller's connection lives, and never commits.

SQLite has no message that travels with a commit, so the hint to sleeping workers is sent once the caller's
transaction is over: by the framework's own hook, or by a watcher of the connection. Where that takes too
long the workers' poll is the net.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from fencepost.clock import Clock
from fencepost.errors import UnfitConnection
from fencepost.model.clocks import StoreTime
from fencepost.ports.signals import Topic
from fencepost.stores.borrowed.kinds import Kind, Lent
from fencepost.stores.borrowed.watching import Watchers
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.files import OPEN_HERE
from fencepost.stores.sqlite.opening import warn_of_old_sqlite
from fencepost.stores.sqlite.signals import SqliteSignals

T = TypeVar("T")

QUERIES = load_queries("fencepost.stores.sqlite", "connection.sql") | load_queries(
    "fencepost.stores.borrowed", "sqlite.sql"
)
WATCHERS = Watchers()


class BorrowedSqliteDatabase:
    """See `stores.sqlite.connection.Database`."""

    def __init__(self, lent: Lent, clock: Clock) -> None:
        self._lent = lent
        self._clock = clock

    async def transact(self, work: Callable[[Any, StoreTime], T]) -> T:
        """Run the work in the caller's transaction, all of it or nothing."""
        return await self._at_home(lambda connection: self._whole(connection, work))

    read = transact

    async def file(self) -> str:
        """The path of the file, empty where there is none; nothing is begun for it."""
        return await self._at_home(lambda connection: str(connection.execute(QUERIES["file"]).get or ""))

    def now(self) -> StoreTime:
        return StoreTime(self._clock.wall())

    async def _at_home(self, work: Callable[[Any], T]) -> T:
        """Run something where the connection lives."""
        connection = self._lent.connection
        match self._lent.kind:
            case Kind.SQLALCHEMY_ASYNC:
                return cast("T", await connection.run_sync(lambda one: work(AnySqlite(one))))
            case Kind.GUEST:
                return cast("T", await connection.apply(work))
            case Kind.APSW:
                return work(connection)
        return work(AnySqlite(connection))

    def _whole(self, connection: Any, work: Callable[[Any, StoreTime], T]) -> T:
        if not connection.in_transaction:
            # The write lock is taken at once: a transaction that begins by reading may fail when it writes.
            connection.execute(QUERIES["begin_write"])
        connection.execute(QUERIES["open_hop"])
        try:
            result = work(connection, self.now())
        except BaseException:
            if connection.in_transaction:
                connection.execute(QUERIES["undo_hop"])
                connection.execute(QUERIES["close_hop"])
            raise
        connection.execute(QUERIES["close_hop"])
        return result


class BorrowedSignals:
    """Hints that wait for the caller's commit."""

    def __init__(self, lent: Lent, path: Path) -> None:
        self._lent = lent
        self._hint = partial(_hint, path)

    def hint(self, topic: Topic) -> None:
        if self._lent.on_commit is not None:
            self._lent.on_commit(partial(self._hint, topic))
            return
        connection = self._lent.connection
        driver = AnySqlite(getattr(connection, "sync_connection", connection)).driver
        WATCHERS.tell_after(driver, topic, self._hint)


class AnySqlite:
    """A connection of sqlite3 or SQLAlchemy that answers as apsw's does."""

    def __init__(self, connection: Any) -> None:
        if hasattr(connection, "exec_driver_sql"):
            self._run = connection.exec_driver_sql
            self.driver: Any = connection.connection.driver_connection
        else:
            self._run = partial(_run_plain, connection)
            self.driver = connection

    @property
    def in_transaction(self) -> bool:
        return bool(self.driver.in_transaction)

    def total_changes(self) -> int:
        return int(self.driver.total_changes)

    def execute(self, statement: str, terms: Mapping[str, Any] | Sequence[Any] | None = None) -> Answer:
        if terms is None:
            return Answer(self._run(statement))
        return Answer(self._run(statement, dict(terms) if isinstance(terms, Mapping) else tuple(terms)))

    def executemany(self, statement: str, every: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
        """The rows of all of them; other drivers refuse rows here, so it is one by one."""
        return iter([row for terms in every for row in self.execute(statement, terms)])


class Answer:
    """What a statement returned: rows to walk, and apsw's way to ask for a single value."""

    def __init__(self, cursor: Any) -> None:
        self._names = _names(cursor)
        self._rows = [tuple(row) for row in cursor] if self._names else []

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    @property
    def get(self) -> Any:
        first = self._rows[0] if self._rows else None
        return first[0] if first is not None and len(first) == 1 else first

    def get_description(self) -> list[tuple[str]]:
        return [(name,) for name in self._names]

    def fetchall(self) -> list[Any]:
        return self._rows


def check_library(path: Path) -> None:
    """The interpreter's own SQLite is another copy of the library than the ledger's, often an older one. In a
    process that has the ledger open both would work on one file and not see each other's locks: what one
    commits the other may lose. Between processes the locks hold."""
    if path in OPEN_HERE:
        raise UnfitConnection(
            f"connection: this process has {path} open as its ledger, by another copy of the SQLite library, "
            "and the two do not see each other's locks; use run.transaction(), or a connection of apsw"
        )
    warn_of_old_sqlite(sqlite3.sqlite_version)


def _hint(path: Path, topic: Topic) -> None:
    signals = SqliteSignals(path)
    try:
        signals.hint(topic)
    finally:
        signals.close()


def _names(cursor: Any) -> list[str]:
    if hasattr(cursor, "returns_rows"):
        return list(cursor.keys()) if cursor.returns_rows else []
    return [column[0] for column in cursor.description or ()]


def _run_plain(connection: sqlite3.Connection, *given: Any) -> sqlite3.Cursor:
    """By a cursor of our own: what the caller's connection makes of rows is the caller's."""
    cursor = connection.cursor(sqlite3.Cursor)
    cursor.row_factory = None
    return cursor.execute(*given)
