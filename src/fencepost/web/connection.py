"""A connection that cannot be held by saying nothing, nor by taking nothing.

The server library waits without end for the first request, and for one whose headers come drop by drop. Here
a connection is closed where no whole request is there some seconds after it was made, or after the last
answer; sooner where others need its place (`crowd.py`). Where answers are not taken, the connection is cut
after some seconds too.

What one connection costs is bounded. Of what it sends, so many bytes are read at a time, and no more before
they are answered. A body in tiny pieces costs far more than its bytes, and ends the connection. Of its
requests one is answered in each pass of the loop, however many came at once. Of its answers one waits at
most, beside what the transport buffers (64 KiB).
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from fencepost.telemetry.events import RefusedFor, RequestRefused, emit
from fencepost.web.crowd import Crowd

BETWEEN_S = 20
TAKEN_WITHIN_S = 20.0
"""How long answers may wait for a reader who does not keep up."""
READ_BYTES = 32 * 1024
PIECES_FREE = 64
PIECE_BYTES_MIN = 128
"""Beyond the first pieces of a body each has to have so many bytes on average."""


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
    """HTTP/1.1 with a limit on the time between requests, and on how many are connected."""

    _alarm: asyncio.TimerHandle | None = None
    _cut: asyncio.TimerHandle | None = None

    def __init__(self, crowd: Crowd, **about: Any) -> None:
        super().__init__(**about)
        self._crowd = crowd
        head_max = self.config.h11_max_incomplete_event_size
        self.conn = Pieces(h11.SERVER) if head_max is None else Pieces(h11.SERVER, head_max)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = READ_BYTES
        self._set_alarm()
        self._crowd.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.leave(self)
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
            self._crowd.ask(self)

    def on_response_complete(self) -> None:
        self._crowd.rest(self)
        super().on_response_complete()
        self._set_alarm()

    def drop(self) -> None:
        """Close it now: whoever takes nothing would hold it by what was not sent yet."""
        self.transport.abort()

    @property
    def _is_idle(self) -> bool:
        """Whether nobody waits for an answer."""
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
