"""From a URL to a connection, or to one line that says why not."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from threading import Event, Lock

import apsw

from fencepost.errors import StoreUnavailable, UsageError
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.files import OPEN_HERE, DatabaseFiles, create_private, damaged

SCHEME = "sqlite:///"
BUSY_TIMEOUT_MS = 10_000
SWITCH_TRIES, SWITCH_PAUSE_S = 200, 0.05
SAFE_SQLITE = (3, 51, 3)

log = logging.getLogger(__name__)

_one_at_a_time = Lock()
"""Connections of this process are opened and closed one at a time: the last one to close deletes the files
that one being opened would be held to."""


def path_of(url: str) -> Path:
    """The file behind `sqlite:///relative.db` or `sqlite:////absolute.db`."""
    path = url.removeprefix(SCHEME)
    if path == url or not path or path == ":memory:" or "?" in path or path.endswith("/"):
        raise UsageError(
            f"store {url}: expected a file, as in sqlite:///fencepost.db or sqlite:////srv/fencepost.db"
        )
    return Path(path)


def connect_watched(path: Path) -> tuple[apsw.Connection, DatabaseFiles]:
    """As `connect`, with the files that the connection is to be held to; give both to `disconnect`."""
    with _one_at_a_time:
        files = OPEN_HERE.enter(path)
        connection = None
        try:
            connection = connect(path)
            OPEN_HERE.entered(files)
        except BaseException:
            _disconnect(connection, files)
            raise
        return connection, files


def disconnect(connection: apsw.Connection, files: DatabaseFiles) -> None:
    """Close the connection; where its files were replaced, without touching those that are there now."""
    with _one_at_a_time:
        _disconnect(connection, files)


def _disconnect(connection: apsw.Connection | None, files: DatabaseFiles) -> None:
    if connection is not None:
        files.leave_alone(connection)
        connection.close(True)
    OPEN_HERE.leave(files)


def connect(path: Path) -> apsw.Connection:
    """Open or create the file, ready for use by several processes at once."""
    warn_of_old_sqlite(apsw.sqlite_lib_version())
    if not path.parent.is_dir():
        raise UsageError(f"store {path}: the folder {path.parent} does not exist; create it first")
    create_private(path)
    try:
        return _configured(apsw.Connection(str(path)))
    except apsw.NotADBError:
        raise UsageError(f"store {path}: the file is not a SQLite database") from None
    except apsw.CorruptError as error:
        raise damaged(path) from error
    except (apsw.CantOpenError, apsw.PermissionsError, apsw.ReadOnlyError):
        raise UsageError(
            f"store {path}: cannot be opened for writing; check that it is a file and its permissions"
        ) from None
    except apsw.Error as error:
        raise StoreUnavailable(f"store {path}: {error}") from error


def _configured(connection: apsw.Connection) -> apsw.Connection:
    queries = load_queries("fencepost.stores.sqlite", "connection.sql")
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        if connection.readonly("main"):
            raise apsw.ReadOnlyError("the file is write-protected")
        _persistently(connection, queries["settings"])
        # The first read makes the files beside the database.
        connection.execute(queries["first_read"]).fetchall()
    except BaseException:
        connection.close(True)
        raise
    return connection


def _persistently(connection: apsw.Connection, statement: str) -> None:
    """Two processes that switch a new file to WAL at once are told so at once, whatever the busy timeout.

    All rows are read: the driver stops at the first, and what stands behind it would never be done."""
    for _ in range(SWITCH_TRIES - 1):
        try:
            connection.execute(statement).fetchall()
            return
        except apsw.BusyError:
            Event().wait(SWITCH_PAUSE_S)
    connection.execute(statement).fetchall()


@cache
def warn_of_old_sqlite(version: str) -> None:
    """Once a process: older libraries can corrupt a WAL that several processes write."""
    if tuple(int(part) for part in version.split(".")[:3]) < SAFE_SQLITE:
        safe = ".".join(map(str, SAFE_SQLITE))
        log.warning(
            "SQLite %s can corrupt a database that several processes write; use one of %s or later",
            version,
            safe,
        )
