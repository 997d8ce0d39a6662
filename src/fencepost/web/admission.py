"""Admission: how many requests are worked on at once.

The web has an event loop and connections of its own (`server.py`), but one store with all nodes. A caller
with enough requests would take the memory of this process and the time of that store. So a few requests are
worked on at a time; the others wait in the order in which they came. A request that would wait too long, or
finds too many before it, of other callers or of its own, is refused with a 503: no part of it was done.

There are lanes, and no request waits for those of another lane. Pages and calls share one. The reports of
workers outside have turns of their own: a heartbeat that waits behind pages may come too late, and the run of
a worker that lives would be rescued. So have requests without a credential (the sign-in), which must not keep
out those with one.

Requests that wait by design have no turn: live streams, and claims, which the long poll bounds. Nor have
files and `/healthz`, which cost the store nothing, and `/readyz`, which costs it the same for one as for all
(`health.py`): a probe's answer must not depend on how many people look at pages.

A turn ends as the answer begins: the work is done then, and a slow reader must not hold it. A request that
waits for a search for fire times holds none meanwhile (`lanes.py`). One credential has at most half of the
turns.
"""

from __future__ import annotations

import asyncio
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send
from litestar.utils import normalize_path

from fencepost.model.access import Principal
from fencepost.operations.operation import API
from fencepost.telemetry.events import RefusedFor, RequestRefused, emit
from fencepost.web.auth.reading import client_of
from fencepost.web.lanes import WAITING_MAX, Lane, Turn, current_turn
from fencepost.web.problems import TURNED_AWAY, TURNED_AWAY_S, Problem
from fencepost.web.receiving import Again
from fencepost.web.sending import send_problem

AT_ONCE_MAX = 8
AT_ONCE_EACH_MAX = 4
"""The limit of one credential. Requests of workers outside and without a credential are not counted."""
REPORTS_AT_ONCE_MAX = 4
STRANGERS_AT_ONCE_MAX = 2
WAITING_EACH_MAX = 100
"""The limit of one credential, or of one address without: no caller takes all places. Workers share one."""
WITHIN_S = 5.0
FREE = frozenset({"/healthz", "/readyz", f"{API}/events", f"{API}/claims"})
STATIC = "/static/"
RUNS = f"{API}/runs/"
REPORTS = ("/heartbeat", "/complete", "/fail")
BUSY = "too many requests wait here: nothing of this one was done, ask again later"


class Turns:
    """An application that works on a few requests at once. Its requests are whole: it stands behind the
    request limits, so that no caller holds a turn by sending slowly."""

    def __init__(
        self,
        app: ASGIApp,
        at_once_max: int = AT_ONCE_MAX,
        waiting_max: int = WAITING_MAX,
        each_max: int = WAITING_EACH_MAX,
        within_s: float = WITHIN_S,
    ) -> None:
        self._app = app
        self._within_s = within_s
        self.people = Lane(at_once_max, waiting_max, each_max, min(at_once_max, AT_ONCE_EACH_MAX))
        self.reports = Lane(REPORTS_AT_ONCE_MAX, waiting_max)
        self.strangers = Lane(STRANGERS_AT_ONCE_MAX, waiting_max, each_max)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or (lane := self._lane_of(scope)) is None:
            await self._app(scope, receive, send)
            return
        turn = lane.join(_who(scope))
        if turn is None:
            await _turn_away(scope, send)
            return
        try:
            await self._in_turn(turn, scope, receive, send)
        finally:
            turn.end()

    async def _in_turn(self, turn: Turn, scope: HTTPScope, receive: Receive, send: Send) -> None:
        if not turn.come.done():
            kept = Again(await receive(), receive)
            is_gone = await _wait(turn, receive, self._within_s)
            if not turn.come.done():
                turn.end()
                if not is_gone:
                    await _turn_away(scope, send)
                return
            receive = kept
        token = current_turn.set(turn)
        try:
            await self._app(scope, receive, _Ending(turn, send))
        finally:
            current_turn.reset(token)

    def _lane_of(self, scope: HTTPScope) -> Lane | None:
        """The lane of the path. As for the router, one more slash at its end makes no difference."""
        path = normalize_path(scope["path"])
        if path in FREE or path.startswith(STATIC):
            return None
        if scope["state"].get("principal") is None:
            return self.strangers
        is_report = scope["method"] == "POST" and path.startswith(RUNS) and path.endswith(REPORTS)
        return self.reports if is_report else self.people


def _who(scope: HTTPScope) -> str:
    """The credential of the caller; callers without one have their addresses."""
    principal = scope["state"].get("principal")
    return principal.asker if isinstance(principal, Principal) else client_of(scope)


async def _wait(turn: Turn, receive: Receive, within_s: float) -> bool:
    """Wait for the turn, until the caller has gone or it took too long; returns whether the caller has
    gone."""
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


async def _turn_away(scope: HTTPScope, send: Send) -> None:
    emit(RequestRefused(RefusedFor.BUSY))
    await send_problem(scope, send, Problem(TURNED_AWAY, BUSY, {"Retry-After": str(TURNED_AWAY_S)}))


class _Ending:
    """A `send` that ends the turn as the answer begins."""

    def __init__(self, turn: Turn, send: Send) -> None:
        self._turn = turn
        self._send = send

    async def __call__(self, message: Any) -> None:
        self._turn.end()
        await self._send(message)
