"""The three files of a SQLite database, and whether they are still the ones that this process opened.

A database is its file, a `-wal` with what was committed of late, and a `-shm` by which processes agree on
what is in the `-wal`. SQLite removes the last two when the last connection closes, so none of the three goes
away while a process has the database open. A process that finds another file or none where one was has been
cut off: it would commit into a file that no other process reads, while the next process to start makes new
files and is a second ledger. So it looks before a transaction, and after the commit before anything is
acknowledged. Where a file is not the same any more it ends, and leaves what is there now alone.

The next process looks too. A `-wal` or `-shm` that is missing while another process has the database open,
or a database that is missing beside its `-wal`, is the same fault from the other side: it is refused before
it makes new files. And a process that was cut off leaves a mark beside the database: until
`fencepost migrate --restored` has lifted the ledger, no process starts on it.

A database that was copied over the live one (`cp`) is in the same file. It shows by errors of SQLite, or by a
file that became shorter and does not fit what is in the `-wal`. That is treated the same.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock

import apsw

from fencepost.errors import StoreReplaced, StoreUnavailable

PROBE_TRIES, PROBE_PAUSE_S = 60, 0.05
WAL_MODE = b"\x02\x02"
WAL_MODE_AT = 18
"""Where a database's header has its read and write versions."""
SHARED_AT, SHARED_BYTES = 0x4000_0002, 510
"""The bytes that a connection in WAL mode keeps locked for as long as it is open."""
OWNER_ONLY = 0o600

Identity = tuple[int, int] | None


@dataclass
class DatabaseFiles:
    """The files of one database that this process has open, by as many connections as `users`."""

    path: Path
    paths: tuple[Path, ...]
    users: int = 0
    opened: tuple[Identity, ...] | None = None
    size: int = 0
    is_damaged: bool = False

    def check(self) -> None:
        """Raise where one of the files is not the one that was opened."""
        if self.is_damaged:
            raise self.damaged()
        if self.opened is not None and (lost := self._lost()):
            _leave_mark(self.paths[0])
            raise StoreReplaced(
                f"store {self.path}: {', '.join(lost)} was deleted or replaced while this process had it "
                f"open; {remedy(self.path)}"
            )

    def check_content(self, connection: apsw.Connection) -> None:
        """Raise where another database was copied over this one. Only a checkpoint after a `VACUUM` makes
        the file shorter; a copy of an older database does too, and does not fit what is in the `-wal`."""
        size = _size(self.paths[0])
        if size < self.size and connection.pragma("quick_check", 1) != "ok":
            raise self.damaged()
        self.size = size

    def damaged(self) -> StoreReplaced:
        """The database does not fit together, and will not by waiting."""
        self.is_damaged = True
        _leave_mark(self.paths[0])
        return damaged(self.path)

    def leave_alone(self, connection: apsw.Connection) -> None:
        """Before a connection is closed: the last one to close would write its `-wal` into the database and
        delete by name what stands in the place of its files."""
        with suppress(StoreUnavailable):
            if self.opened is not None and not self.is_damaged and not self._lost():
                return
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)

    def _lost(self) -> list[str]:
        assert self.opened is not None
        pairs = zip(self.paths, self.opened, strict=True)
        return [path.name for path, before in pairs if _identity(path) != before]


class OpenDatabases:
    """The databases that this process has open by our own copy of the SQLite library.

    SQLite's locks are the process's: a second copy of the library, as in the interpreter's `sqlite3`, sees
    none of them, and lets go of all of them when it closes the file.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[Path, DatabaseFiles] = {}

    def __contains__(self, path: Path) -> bool:
        return path.resolve() in self._known

    def enter(self, path: Path) -> DatabaseFiles:
        """Before a connection is opened. The first one looks for other processes: it opens the file for that,
        and closing that would let go of this process's locks, so no other connection is opened meanwhile."""
        real = path.resolve()
        with self._lock:
            files = self._known.get(real)
            if files is None:
                _check_mark(real)
                _check_complete(real)
                files = DatabaseFiles(path, _files(real))
                self._known[real] = files
            files.check()
            files.users += 1
            return files

    def entered(self, files: DatabaseFiles) -> None:
        """The connection is open: its files are those of the first one, or are refused."""
        with self._lock:
            if files.opened is None:
                files.opened = tuple(_identity(one) for one in files.paths)
        files.check()

    def leave(self, files: DatabaseFiles) -> None:
        """One connection less."""
        with self._lock:
            files.users -= 1
            if not files.users:
                del self._known[files.paths[0]]


OPEN_HERE = OpenDatabases()


def create_private(path: Path) -> None:
    """Make a missing file, for its owner alone; SQLite makes the other two with the same mode."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY))


def damaged(path: Path) -> StoreReplaced:
    """What is said of a database that SQLite cannot read."""
    return StoreReplaced(
        f"store {path}: the database is damaged: another file was copied over it while a process had it "
        f"open, or the disk failed; {remedy(path)}"
    )


def remedy(path: Path) -> str:
    """What to do about it: the database may be older than what was acknowledged."""
    return (
        "stop every process of this store, restore a backup if it is damaged "
        "(docs/guides/backup-and-restore.md), then run: "
        f"fencepost migrate --restored --store sqlite:///{path}"
    )


def remove_mark(path: Path) -> None:
    """The ledger is about to be lifted past all that was given out (`fencepost migrate --restored`)."""
    _mark(path.resolve()).unlink(missing_ok=True)


def _mark(path: Path) -> Path:
    return Path(f"{path}-replaced")


def _leave_mark(path: Path) -> None:
    """The process that noticed ends, and the next to start would find nothing wrong."""
    with suppress(OSError):
        _mark(path).touch(OWNER_ONLY)


def _check_mark(path: Path) -> None:
    if _mark(path).exists():
        raise StoreReplaced(
            f"store {path}: its files were deleted or replaced while a process had it open, as "
            f"{_mark(path).name} says; {remedy(path)}, or delete that file to begin anew without a past"
        )


def _check_complete(path: Path) -> None:
    """Refuse a database without its `-wal` or `-shm` that another process has open: a process that is opening
    or closing it is in that state for a moment. And refuse a `-wal` without its database."""
    main, wal, shm = _files(path)
    if not _identity(main) and _identity(wal):
        raise StoreReplaced(
            f"store {path}: the file is missing, and {wal.name} is there: it was deleted alone; put it back, "
            f"or stop every process of this store and delete {wal.name} and {shm.name} to begin anew"
        )
    missing: list[str] = []
    for _ in range(PROBE_TRIES):
        missing = [one.name for one in (wal, shm) if not _identity(one)]
        if not missing or not _is_open_elsewhere(path):
            return
        Event().wait(PROBE_PAUSE_S)
    raise StoreReplaced(
        f"store {path}: {', '.join(missing)} is missing although another process has the store open; "
        f"{remedy(path)}"
    )


def _is_open_elsewhere(path: Path) -> bool:
    """Whether another process has a connection in WAL mode."""
    try:
        with path.open("r+b", buffering=0) as file:
            if os.pread(file.fileno(), len(WAL_MODE), WAL_MODE_AT) != WAL_MODE:
                return False
            return not _may_lock(file.fileno())
    except OSError:
        return False


def _may_lock(file: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_BYTES, SHARED_AT)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _files(path: Path) -> tuple[Path, Path, Path]:
    return path, Path(f"{path}-wal"), Path(f"{path}-shm")


def _identity(path: Path) -> Identity:
    found = _stat(path)
    return None if found is None else (found.st_dev, found.st_ino)


def _size(path: Path) -> int:
    found = _stat(path)
    return 0 if found is None else found.st_size


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreUnavailable(f"store {path}: {error.strerror}") from error
