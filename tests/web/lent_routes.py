"""Routes that were built once, and serve one test after another: to build them takes longer than most tests.

A route looks at what it serves when a request comes. So it is built for a stand-in, which is whatever the
routes are lent to. They come back when nothing holds them any more; a test with two applications has two.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any, cast

from litestar import Litestar
from litestar.types import Receive, Scope, Send

from fencepost.web import application
from fencepost.web.dashboard import routes as dashboard_routes
from fencepost.web.live.hub import Hub
from fencepost.web.serving import Serving

Build = Callable[[Serving, Hub | None], Litestar]

_kept: defaultdict[tuple[object, ...], list[_Lent]] = defaultdict(list)


def lend(build: Build, serving: Serving, hub: Hub | None = None) -> Litestar:
    """What the function builds, for this serving and hub."""
    parts = (
        application.routes,
        application.operations,
        vars(dashboard_routes)["all_pages"],
    )  # a test may add to them
    kept = _kept[build, serving.settings.namespace, *parts]
    lent = kept.pop() if kept else _Lent()
    borrowed = _Borrowed(lent.to(build, serving, hub))
    weakref.finalize(borrowed, _take_back, lent, kept)
    return cast(Litestar, borrowed)


class _Lent:
    def __init__(self) -> None:
        self.serving: Serving | None = None
        self.hub: Hub | None = None
        self.routes: Litestar | None = None

    def to(self, build: Build, serving: Serving, hub: Hub | None) -> Litestar:
        self.serving, self.hub = serving, hub
        if self.routes is None:
            stand_in = _StandIn(self, lambda: self.serving)
            other = None if hub is None else _StandIn(self, lambda: self.hub)
            self.routes = build(cast(Serving, stand_in), cast(Hub | None, other))
        return self.routes


class _StandIn:
    """Has every attribute of what is lent to. While routes are built only plain values are looked up."""

    def __init__(self, lent: _Lent, find: Callable[[], object]) -> None:
        self._lent = lent
        self._find = find

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._find(), name)
        if self._lent.routes is not None or isinstance(found, str | int | float | None):
            return found
        return _StandIn(self._lent, lambda: getattr(self._find(), name))


class _Borrowed:
    def __init__(self, routes: Litestar) -> None:
        self.routes = routes.routes
        self._call = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._call(scope, receive, send)


def _take_back(lent: _Lent, kept: list[_Lent]) -> None:
    lent.serving = lent.hub = None
    kept.append(lent)
