"""Turns: how many requests are worked on at once.

The web shares the event loop and the store's connections with the elector, the planner and the worker of its
process. Whoever asks often enough would take them all, and the node would lose its leases for want of a
renewal. So a few requests are worked on at a time; the others wait in the order in which they came. Those who
would wait too long, or find too many before them, are turned away with a 503: nothing of theirs was done.

There are lanes, and nobody waits for those of another one. Pages and calls share one. The reports of workers
outside have turns of their own: a heartbeat that waits behind pages may come too late, and the run of a
worker that lives would be rescued. So have those without a credential (the sign-in), who must not keep out
those who have one, and the probe that asks whether the process can serve, because what it is told must not
depend on how many look at pages.

What waits by design has no turn: live streams, and claims, which are bounded by the waiting room. So have
files and `/healthz`, which cost the store nothing.

A turn ends as the answer begins: the work is done then, and one who reads slowly must not hold it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, HTTPScope, Receive, Scope, Send
from litestar.utils import normalize_path

from fencepost.operations.operation import API
from fencepost.web.problems import TURNED_AWAY, TURNED_AWAY_S, Problem
from fencepost.web.sending import send_problem

AT_ONCE_MAX = 8
REPORTS_AT_ONCE_MAX = 4
STRANGERS_AT_ONCE_MAX = 2
PROBES_AT_ONCE_MAX = 2
WAITING_MAX = 200
"""In each lane."""
WITHIN_S = 5.0
FREE = frozenset({"/healthz", f"{API}/events", f"{API}/claims"})
STATIC = "/static/"
PROBE = "/readyz"
RUNS = f"{API}/runs/"
REPORTS = ("/heartbeat", "/complete", "/fail")
BUSY = "too many requests wait here: nothing of this one was done, ask again later"


class Turn:
    """The place of one request: it waits, is at work, or is over. `come` is done once it is its turn."""

    def __init__(self, lane: Lane) -> None:
        self.come: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lane = lane
        self._is_over = False

    def end(self) -> None:
        """Give the turn back, or the place in the queue; as often as one likes."""
        if not self._is_over:
            self._is_over = True
            self._lane.let_go(self)


class Lane:
    """So many at work, and so many who wait, in order."""

    def __init__(self, at_once_max: int, waiting_max: int = WAITING_MAX) -> None:
        self._free = at_once_max
        self._waiting_max = waiting_max
        self._waiting: deque[Turn] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def join(self) -> Turn | None:
        """A turn, at once or later; None where too many wait already."""
        turn = Turn(self)
        if self._free:
            self._free -= 1
            turn.come.set_result(None)
        elif len(self._waiting) < self._waiting_max:
            self._waiting.append(turn)
        else:
            return None
        return turn

    def let_go(self, turn: Turn) -> None:
        """The turn goes to whoever waits longest."""
        if not turn.come.done():
            self._waiting.remove(turn)
        elif self._waiting:
            self._waiting.popleft().come.set_result(None)
        else:
            self._free += 1


class Turns:
    """An application that works on a few requests at once. Its requests are whole: it stands behind the
    doorway, so that nobody holds a turn by sending slowly."""

    def __init__(
        self,
        app: ASGIApp,
        at_once_max: int = AT_ONCE_MAX,
        waiting_max: int = WAITING_MAX,
        within_s: float = WITHIN_S,
    ) -> None:
        self._app = app
        self._within_s = within_s
        self.people = Lane(at_once_max, waiting_max)
        self.reports = Lane(REPORTS_AT_ONCE_MAX, waiting_max)
        self.strangers = Lane(STRANGERS_AT_ONCE_MAX, waiting_max)
        self.probes = Lane(PROBES_AT_ONCE_MAX, waiting_max)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        lane = self._lane_of(scope) if scope["type"] == ScopeType.HTTP else None
        if lane is None:
            await self._app(scope, receive, send)
            return
        turn = lane.join()
        if turn is None:
            await _turn_away(send)
            return
        try:
            await self._in_turn(turn, scope, receive, send)
        finally:
            turn.end()

    async def _in_turn(self, turn: Turn, scope: Scope, receive: Receive, send: Send) -> None:
        if not turn.come.done():
            kept = _Kept(await receive(), receive)
            is_gone = await _wait(turn, receive, self._within_s)
            if not turn.come.done():
                turn.end()
                if not is_gone:
                    await _turn_away(send)
                return
            receive = kept
        await self._app(scope, receive, _Ending(turn, send))

    def _lane_of(self, scope: HTTPScope) -> Lane | None:
        """The router takes a path with a slash more for the same; so it is here."""
        path = normalize_path(scope["path"])
        if path in FREE or path.startswith(STATIC):
            return None
        if path == PROBE:
            return self.probes
        if scope["state"].get("principal") is None:
            return self.strangers
        is_report = scope["method"] == "POST" and path.startswith(RUNS) and path.endswith(REPORTS)
        return self.reports if is_report else self.people


async def _wait(turn: Turn, receive: Receive, within_s: float) -> bool:
    """Until it is its turn, whoever asked has gone, or it took too long; whether they have gone."""
    leaving = asyncio.create_task(_gone(receive))
    try:
        await asyncio.wait({turn.come, leaving}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        return leaving.done()
    finally:
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _turn_away(send: Send) -> None:
    await send_problem(send, Problem(TURNED_AWAY, BUSY, {"Retry-After": str(TURNED_AWAY_S)}))


class _Kept:
    """What was received before the turn came, once, and then what comes."""

    def __init__(self, message: Any, receive: Receive) -> None:
        self._message: Any = message
        self._receive = receive

    async def __call__(self) -> HTTPReceiveMessage:
        message, self._message = self._message, None
        received: Any = message if message is not None else await self._receive()
        return received  # type: ignore[no-any-return]


class _Ending:
    """A `send` that ends the turn as the answer begins."""

    def __init__(self, turn: Turn, send: Send) -> None:
        self._turn = turn
        self._send = send

    async def __call__(self, message: Any) -> None:
        self._turn.end()
        await self._send(message)
