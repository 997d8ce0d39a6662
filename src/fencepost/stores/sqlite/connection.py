"""One connection, one thread, one transaction a group of calls.

SQLite has one writer at a time, so a store has one connection, and only its own thread touches it. A call
is a *hop*: a function of the connection and the store's time that the thread runs inside a transaction.
Event loops never wait for the disk; several loops may call at once, each gets its answer on its own.

The write lock is taken before the work begins (`BEGIN IMMEDIATE`), and the time is read after that: a hop
that waited for another process must not judge by the time at which it began to wait. Processes take turns at
the lock (`turns`). Within a process the time does not run backwards, unless the host's clock is set back by
more than a second.

Hops that are waiting when the thread comes round share one commit, up to `GROUP_MAX` of them. Each stands in
a savepoint of its own (one that is alone needs none), so that one that fails takes nothing of the others
with it, and none is answered before the commit is durable. When the transaction as a whole is lost (disk
full, an I/O error) all of them hear `StoreUnavailable`: what became of them is unknown.

The database's files are looked at before the transaction and after its commit (`files`): nothing is answered
from a file that is not the store's any more.

A caller that was cancelled before its hop began is skipped; after that the hop runs to its end and the
answer is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeAlias, TypeVar

import apsw

from fencepost.clock import Clock
from fencepost.errors import StoreUnavailable
from fencepost.model.clocks import StoreTime, is_from_the_future
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Fence
from fencepost.stores.queries import load_queries
from fencepost.stores.sqlite.files import DatabaseFiles
from fencepost.stores.sqlite.guest import check_no_block
from fencepost.stores.sqlite.opening import connect_watched, disconnect
from fencepost.stores.sqlite.turns import Turns

T = TypeVar("T")
Work: TypeAlias = Callable[[apsw.Connection, StoreTime], T]

GROUP_MAX = 64
QUERIES = load_queries("fencepost.stores.sqlite", "connection.sql")
DAMAGES = (apsw.CorruptError, apsw.NotADBError)
FAULTS = (
    *DAMAGES,
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.IOError,
    apsw.InterruptError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)


def take_fences(connection: apsw.Connection, count: int) -> Fence:
    """Take fences from the sequence; the first of them."""
    value = connection.execute(QUERIES["take_fences"], {"count": count}).get
    return Fence(int(value) - count + 1)


@dataclass(frozen=True, slots=True)
class Hop:
    """One call on its way through the thread."""

    work: Work[Any]
    writes: bool
    answer: Future[Any]


@dataclass(frozen=True, slots=True)
class Settled:
    """What a hop came to, to be told after the commit."""

    result: Any
    error: Exception | None = None


class Database:
    """The connection and its thread."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = _RisingClock(clock)
        self._hops: SimpleQueue[Hop | None] = SimpleQueue()
        self._gate = Lock()
        self._closed = False
        self._opened: Future[None] = Future()
        self._ended: Future[None] = Future()
        self._thread = Thread(target=self._serve, name="fencepost-sqlite", daemon=True)

    async def open(self) -> None:
        """Start the thread and connect."""
        self._thread.start()
        await asyncio.wrap_future(self._opened)

    async def transact(self, work: Work[T]) -> T:
        """Run the work under the write lock; it is durable when this returns."""
        check_no_block(self._path)
        return await self._submit(work, writes=True)

    async def read(self, work: Work[T]) -> T:
        """Run the work, which only reads, in one snapshot without the write lock."""
        return await self._submit(work, writes=False)

    def now(self) -> StoreTime:
        """The time of this store."""
        return self._clock.now()

    async def close(self) -> None:
        """Let the hops in flight end, then the thread."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._hops.put(None)
        # Without an executor: at the end of the interpreter there is none any more.
        await asyncio.shield(asyncio.wrap_future(self._ended))

    async def _submit(self, work: Work[T], *, writes: bool) -> T:
        answer: Future[T] = Future()
        with self._gate:
            if self._closed:
                raise StoreUnavailable(f"store {self._path}: it has been closed")
            self._hops.put(Hop(work, writes, answer))
        return await asyncio.wrap_future(answer)

    def _serve(self) -> None:
        try:
            self._serve_until_closed()
        finally:
            self._ended.set_result(None)

    def _serve_until_closed(self) -> None:
        try:
            connection, files = connect_watched(self._path)
            turns = Turns(self._path)
            connection.set_busy_handler(turns.wait)
        except BaseException as error:
            with suppress(InvalidStateError):
                self._opened.set_exception(error)
            return
        with suppress(InvalidStateError):
            self._opened.set_result(None)
        try:
            while (group := self._next_group()) is not None:
                self._answer(connection, files, turns, group)
                if any(hop.writes for hop in group):
                    turns.released()
        finally:
            disconnect(connection, files)
            turns.close()

    def _next_group(self) -> list[Hop] | None:
        """The hops that wait, at least one; None when there will be no more."""
        first = self._hops.get()
        if first is None:
            return None
        group = [first]
        try:
            while len(group) < GROUP_MAX and (hop := self._hops.get_nowait()) is not None:
                group.append(hop)
        except Empty:
            return group
        if len(group) < GROUP_MAX:
            # The end was among them: serve these first and come back for it.
            self._hops.put(None)
        return group

    def _answer(
        self, connection: apsw.Connection, files: DatabaseFiles, turns: Turns, group: Sequence[Hop]
    ) -> None:
        """Run a group and tell every caller; nothing that happens here may end the thread."""
        hops = [hop for hop in group if hop.answer.set_running_or_notify_cancel()]
        try:
            files.check()
            files.check_content(connection)
            every = _run(connection, hops, self._clock, turns) if hops else []
            files.check()
        except Exception as error:
            every = [Settled(None, error)] * len(hops)
        for hop, settled in zip(hops, every, strict=True):
            if settled.error is None:
                hop.answer.set_result(settled.result)
            else:
                hop.answer.set_exception(self._told(settled.error, files))

    def _told(self, error: Exception, files: DatabaseFiles) -> Exception:
        """The world's faults in our words; a caller's own exception and our bugs as they are."""
        if not isinstance(error, FAULTS):
            return error
        told = StoreUnavailable(f"store {self._path}: {error}")
        if isinstance(error, DAMAGES):
            told = files.damaged()
        told.__cause__ = error
        return told


class _RisingClock:
    """The host's wall clock, which stands still where that one steps back a little. Where it is set back it
    follows, because the other processes of the host do."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._latest = StoreTime(clock.wall())

    def now(self) -> StoreTime:
        with self._lock:
            wall = StoreTime(self._clock.wall())
            self._latest = wall if is_from_the_future(self._latest, wall) else max(self._latest, wall)
            return self._latest


def _run(
    connection: apsw.Connection, hops: Sequence[Hop], clock: _RisingClock, turns: Turns
) -> list[Settled]:
    """All hops in one transaction; raises where it was lost as a whole."""
    writes = any(hop.writes for hop in hops)
    try:
        connection.execute(QUERIES["begin_write" if writes else "begin_read"])
    finally:
        turns.taken()
    try:
        if len(hops) == 1:
            every = [Settled(hops[0].work(connection, clock.now()))]
        else:
            every = [_settle(connection, hop, clock) for hop in hops]
        connection.execute(QUERIES["commit"])
    except BaseException:
        if connection.in_transaction:
            connection.execute(QUERIES["rollback"])
        raise
    return every


def _settle(connection: apsw.Connection, hop: Hop, clock: _RisingClock) -> Settled:
    connection.execute(QUERIES["open_hop"])
    try:
        result = hop.work(connection, clock.now())
    except Exception as error:
        if not connection.in_transaction:
            # SQLite gave up the whole transaction, and with it the hops before this one.
            raise
        connection.execute(QUERIES["undo_hop"])
        settled = Settled(None, error)
    else:
        settled = Settled(result)
    connection.execute(QUERIES["close_hop"])
    return settled
