"""A connection with one transaction for a job's own code: bounded from outside, not to be ended from inside.

The connection belongs to a thread of its own, so no event loop waits for it. From the moment at which it has
the write lock a timer runs, in another thread: a loop that is blocked, even for ever, does not keep the lock.
At the bound what is under way is broken off and the connection closed, which takes back what was written.

The guest's code has the connection in its hands, and there are many ways to end a transaction: COMMIT,
ROLLBACK, a conflict clause, a trigger. After any of them the next statement would be committed alone. SQLite
itself tells of them, by its hooks: a commit that is not ours is turned into a rollback, and after a rollback
nothing is accepted any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Timer
from typing import TypeVar

import apsw

from fencepost.errors import TimedOut, UsageError
from fencepost.ports.transactions import IN_BLOCK
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.files import DatabaseFiles
from fencepost.stores.sqlite.opening import BUSY_TIMEOUT_MS, connect_watched, disconnect

T = TypeVar("T")

QUERIES = load_queries("fencepost.stores.sqlite", "connection.sql")
BUSY_PAUSE_S = 0.02
BUSY_TRIES = round(BUSY_TIMEOUT_MS / 1000 / BUSY_PAUSE_S)
CLOSE_TRIES, CLOSE_PAUSE_S = 500, 0.01

TOO_LATE = (
    "run.transaction() was open for more than {:g}s and was rolled back; on SQLite every other write waits "
    "for it"
)
WAITS_FOR_ITSELF = (
    "on SQLite this write would wait for run.transaction() to end; make it part of that (connection=tx, "
    "app.schedules.within(tx)), or do it before or after the block"
)
BROKEN_OFF = "run.transaction() was broken off, because its attempt is over; nothing was written"
ENDED_INSIDE = (
    "run.transaction() was ended inside the block, by COMMIT, ROLLBACK or a conflict that rolls back; "
    "nothing was written; leave its end to the block"
)
OVER = "run.transaction() has ended; use its tx inside the block"


def check_no_block(path: Path) -> None:
    """Refuse a write to this database from inside a block that has its lock."""
    guest = getattr(IN_BLOCK.get(), "guest", None)
    if isinstance(guest, Guest) and guest.has_lock_of(path):
        raise UsageError(WAITS_FOR_ITSELF)


class Guest:
    """The connection, its thread and its bound; `on_closed` is called in the loop once the lock is free."""

    connection: apsw.Connection
    _files: DatabaseFiles

    def __init__(self, path: Path, open_max_s: float, on_closed: Callable[[], None]) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="fencepost-transaction")
        self._timer = Timer(open_max_s, self._end)
        self._timer.daemon = True
        self._open_max_s = open_max_s
        self._cut: str | None = None
        self._on_closed: Callable[[], None] | None = on_closed
        self._loop = asyncio.get_running_loop()
        self._gate = Lock()
        self._given_up = Event()
        self._is_closing = self._is_committing = False
        self._may_commit = self._is_commit_refused = self._is_rolled_back = False

    async def begin(self) -> None:
        """Connect and take the write lock; the bound counts from then on."""
        await asyncio.wrap_future(self._thread.submit(self._begin))

    async def apply(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run something in the transaction, in the connection's thread."""
        self._check_block()
        return await asyncio.wrap_future(self._thread.submit(self._apply, work))

    async def commit(self, last: Callable[[apsw.Connection], object]) -> None:
        """Write the last of it and commit; from here on the bound does not break in."""
        await asyncio.wrap_future(self._thread.submit(self._commit, last))

    async def close(self) -> None:
        """Take back what was not committed. The thread does it, whether or not a caller waits here."""
        closed = asyncio.Event()
        self._give_up()
        self._is_closing = True
        self._thread.submit(self._close).add_done_callback(lambda _: self._tell(closed.set))
        self._thread.shutdown(wait=False)
        await closed.wait()

    def abort(self) -> None:
        """Break it off; this waits for nothing."""
        self._cut_short(BROKEN_OFF)

    def cut_short(self) -> TimedOut | None:
        """Why it was broken off, where it was."""
        return None if self._cut is None else TimedOut(self._cut)

    def has_lock_of(self, path: Path) -> bool:
        """Whether no other connection can write to this database."""
        return path.resolve() == self._path.resolve() and not self._is_closing and self._cut is None

    def _begin(self) -> None:
        self.connection, self._files = connect_watched(self._path)
        self.connection.set_busy_handler(self._goes_on_waiting)
        self.connection.execute(QUERIES["begin_write"])
        self._timer.start()
        self.connection.set_commit_hook(self._is_refused)
        self.connection.set_rollback_hook(self._note_rollback)

    def _apply(self, work: Callable[[apsw.Connection], T]) -> T:
        self._check()
        try:
            result = work(self.connection)
        except apsw.Error:
            if self._cut is not None or self._is_commit_refused:
                self._check()
            raise
        self._check()
        return result

    def _commit(self, last: Callable[[apsw.Connection], object]) -> None:
        with self._gate:
            self._check()
            self._is_committing = True
        try:
            last(self.connection)
            self._check()
            self._files.check()
            self._may_commit = True
            self.connection.execute(QUERIES["commit"])
            self._files.check()
        except BaseException:
            # The timer does not break in any more.
            self._close()
            raise

    def _end(self) -> None:
        """The bound was reached."""
        self._cut_short(TOO_LATE.format(self._open_max_s))

    def _cut_short(self, why: str) -> None:
        with self._gate:
            if self._is_committing or self._cut is not None:
                return
            self._cut = why
        self._give_up()
        with suppress(RuntimeError):
            # Where the thread takes no more work, its last is to close.
            self._thread.submit(self._close)

    def _give_up(self) -> None:
        """What waits for the lock waits no more, and a statement under way is broken off."""
        self._given_up.set()
        with self._gate, suppress(AttributeError, apsw.Error):
            if not self._is_committing:
                self.connection.interrupt()

    def _close(self) -> None:
        self._timer.cancel()
        if self._on_closed is not None:
            if hasattr(self, "connection"):
                _close(self.connection, self._files)
            self._tell(self._on_closed)
            self._on_closed = None

    def _tell(self, what: Callable[[], None]) -> None:
        """Call something in the loop, where it is still there."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)

    def _check(self) -> None:
        if self._cut is not None:
            raise TimedOut(self._cut)
        if self._is_rolled_back or not self._is_in_transaction():
            raise UsageError(ENDED_INSIDE)

    def _is_in_transaction(self) -> bool:
        try:
            return self.connection.in_transaction
        except apsw.ConnectionClosedError:
            return False

    def _check_block(self) -> None:
        if self._is_closing:
            raise UsageError(OVER)

    def _goes_on_waiting(self, waited: int) -> bool:
        return waited < BUSY_TRIES and not self._given_up.wait(BUSY_PAUSE_S)

    def _is_refused(self) -> bool:
        self._is_commit_refused = not self._may_commit
        return self._is_commit_refused

    def _note_rollback(self) -> None:
        self._is_rolled_back = True


def _close(connection: apsw.Connection, files: DatabaseFiles) -> None:
    """The job may be using the connection in a thread of its own at this moment."""
    for _ in range(CLOSE_TRIES):
        try:
            disconnect(connection, files)
            return
        except apsw.ThreadingViolationError:
            connection.interrupt()
            Event().wait(CLOSE_PAUSE_S)
