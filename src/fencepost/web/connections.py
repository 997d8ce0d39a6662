"""Connections: how many there may be, which one is closed where there are too many, and what one may cost.

A client that reaches the socket can open connections and send nothing; that needs no credential. Each takes
a file of the process, and the store, the leases and the jobs need files too. So this module protects the
planner.

**How many.** At most half of the files that the process may open. Beyond that the connection that has sent
nothing for longest is closed in favour of the new one, then the one that has rested longest since its last
answer. A connection that is being answered stays: where all are, the new one is closed. So a probe of a load
balancer is answered however many are silent. With TLS a connection counts from the moment it is accepted,
because a client may begin the handshake and send nothing.

**How long.** The server library waits without end for the first request, and for one whose headers come
drop by drop. Here a connection is closed without a whole request within some seconds after it was made, or
after the last answer. Where answers are not taken, the connection is cut after some seconds too.

**How much.** From a connection a bounded number of bytes is read at a time, and no more before they are
answered. A body in tiny pieces costs far more than its bytes, and ends the connection. One of its requests is
answered in each pass of the loop, however many came at once. At most one of its answers waits, beside what
the transport buffers (64 KiB).
"""

from __future__ import annotations

import asyncio
import resource
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from fencepost.telemetry.events import RefusedFor, RequestRefused, emit
from fencepost.web.tls import Tls

CONNECTIONS_MAX = 1_000
DESCRIPTORS_MAX = 65_536
HANDSHAKE_WITHIN_S = 10.0
BETWEEN_S = 20
TAKEN_WITHIN_S = 20.0
"""How long answers may wait for a slow reader."""
READ_BYTES = 32 * 1024
PIECES_FREE = 64
PIECE_BYTES_MIN = 128
"""After the first pieces of a body, the pieces must have at least this number of bytes on average."""


def protocols(limit: ConnectionLimit, tls: Tls | None) -> Callable[..., asyncio.Protocol]:
    """The factory of the protocol of each connection; with TLS, of one that does the handshake first."""
    if tls is None:
        return partial(Connection, limit)
    context = tls.context()

    def handshake(**about: Any) -> asyncio.Protocol:
        return Handshake(limit, context, partial(Connection, limit, **about))

    return handshake


def connections_max() -> int:
    """The largest number of connections of a server; raises the number of files that the process may open."""
    return min(CONNECTIONS_MAX, _raise_descriptors() // 2)


class Member(Protocol):
    """One connection."""

    def drop(self) -> None:
        """Close it now; what was not sent yet is lost."""


class ConnectionLimit:
    """Connections that have sent nothing yet and those that rest, the longest first, and those being
    answered."""

    def __init__(self, most: int = CONNECTIONS_MAX) -> None:
        self._most = most
        self._silent: dict[Member, None] = {}
        self._resting: dict[Member, None] = {}
        self._answered: dict[Member, None] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._silent) + len(self._resting) + len(self._answered)

    def enter(self, member: Member) -> None:
        """Add a connection, in the place of another where there are too many."""
        if self._is_closed:
            member.drop()
            return
        self._silent[member] = None
        if len(self) > self._most:
            goes = next(iter(self._silent if len(self._silent) > 1 else self._resting or self._silent))
            self.leave(goes)
            emit(RequestRefused(RefusedFor.CONNECTIONS))
            goes.drop()

    def ask(self, member: Member) -> None:
        """Its request is whole."""
        self._move(member, self._answered)

    def rest(self, member: Member) -> None:
        """It was answered."""
        self._move(member, self._resting)

    def leave(self, member: Member) -> None:
        """It is over; a connection that was dropped is gone already."""
        for some in (self._silent, self._resting, self._answered):
            some.pop(member, None)

    def close(self) -> None:
        """Refuse new ones, and close those that have sent nothing."""
        self._is_closed = True
        for member in list(self._silent):
            self.leave(member)
            member.drop()

    def _move(self, member: Member, to: dict[Member, None]) -> None:
        if member in self._silent or member in self._resting or member in self._answered:
            self.leave(member)
            to[member] = None


class Handshake(asyncio.Protocol):
    """One connection before its TLS; `connection` makes the protocol that follows."""

    def __init__(
        self, limit: ConnectionLimit, tls: ssl.SSLContext, connection: Callable[[], asyncio.Protocol]
    ) -> None:
        self._limit = limit
        self._tls = tls
        self._connection = connection
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.pause_reading()
        self._limit.enter(self)
        self._task = asyncio.get_running_loop().create_task(self._agree())

    def drop(self) -> None:
        """Close it now."""
        self._transport.abort()

    async def _agree(self) -> None:
        early = _Early()
        secured = None
        try:
            with suppress(OSError):
                secured = await asyncio.get_running_loop().start_tls(
                    *(self._transport, early, self._tls),
                    server_side=True,
                    ssl_handshake_timeout=HANDSHAKE_WITHIN_S,
                )
        finally:
            self._limit.leave(self)
        if secured is None or early.is_over or self._transport.is_closing():
            self._transport.abort()
        else:
            early.hand_over(secured, self._connection())


class _Early(asyncio.Protocol):
    """Takes the bytes that come with the end of the handshake, before the task knows that it ended."""

    def __init__(self) -> None:
        self.is_over = False
        self._said: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        self._said.append(data)

    def eof_received(self) -> None:
        self.is_over = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True

    def hand_over(self, transport: asyncio.Transport, connection: asyncio.Protocol) -> None:
        """From now on everything goes to the connection."""
        transport.set_protocol(connection)
        connection.connection_made(transport)
        for said in self._said:
            connection.data_received(said)


class TinyPieces(Exception):
    """A body came in pieces that are too small."""


class Pieces(h11.Connection):
    """HTTP/1.1 that counts the pieces of a body. Each costs the same, whether it has one byte or thousands,
    and all that were read at once are gone through in one pass of the loop."""

    _pieces = _bytes = 0

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._pieces = self._bytes = 0
        elif isinstance(event, h11.Data):
            self._pieces += 1
            self._bytes += len(event.data)
            if self._pieces > PIECES_FREE and self._bytes < self._pieces * PIECE_BYTES_MIN:
                raise TinyPieces
        return event


class Connection(H11Protocol):
    """HTTP/1.1 with a limit on the time between requests, and on how many there are."""

    _alarm: asyncio.TimerHandle | None = None
    _cut: asyncio.TimerHandle | None = None

    def __init__(self, limit: ConnectionLimit, **about: Any) -> None:
        super().__init__(**about)
        self._limit = limit
        head_max = self.config.h11_max_incomplete_event_size
        self.conn = Pieces(h11.SERVER) if head_max is None else Pieces(h11.SERVER, head_max)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = READ_BYTES
        self._set_alarm()
        self._limit.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit.leave(self)
        self._unset_alarm()
        self._unset_cut()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cut = self.loop.call_later(TAKEN_WITHIN_S, self._give_up)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unset_cut()

    def handle_events(self) -> None:
        try:
            super().handle_events()
        except TinyPieces:
            emit(RequestRefused(RefusedFor.TINY_PIECES))
            self.drop()
            return
        if not self._is_idle and not self.cycle.more_body:
            self._limit.ask(self)

    def on_response_complete(self) -> None:
        self._limit.rest(self)
        super().on_response_complete()
        self._set_alarm()

    def drop(self) -> None:
        """Close it now: a client that takes nothing would hold it by unsent bytes."""
        self.transport.abort()

    @property
    def _is_idle(self) -> bool:
        """Whether no answer is pending."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _set_alarm(self) -> None:
        self._unset_alarm()
        self._alarm = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _unset_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _unset_cut(self) -> None:
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None

    def _close_if_idle(self) -> None:
        if not self._is_idle:
            return
        if self.transport.get_write_buffer_size():
            self._give_up()
        elif not self.transport.is_closing():
            self.transport.close()

    def _give_up(self) -> None:
        """Its answers were not taken."""
        emit(RequestRefused(RefusedFor.SLOW_READER))
        self.drop()


def _raise_descriptors() -> int:
    """How many files this process may open from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_MAX if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else soft
