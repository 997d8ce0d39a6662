"""The web as an ASGI application of a host: it starts with the first request, or with the host's lifespan.

Frameworks do not tell an application that is mounted in them when they start and stop. So the first
request opens the store, and the signals that end the process are heard here too: a live stream has no
end, and a server waits for every answer before it tells its application that it stops. The host's own
handlers are called after ours. With `lifespan` the host says both itself, and waits until the store is
closed.

It runs in the host's event loop, with a store of its own. A stop ends the streams first, then lets the
answers on their way go out, then closes the store.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Any
from urllib.parse import quote

from litestar.types import HTTPScope, Receive, Scope, Send

from fencepost.config import Settings
from fencepost.errors import FencepostError, StoreUnavailable, TurnedAway
from fencepost.ports.store import Store
from fencepost.services.fleet import LeaseReader
from fencepost.telemetry.logs import Log
from fencepost.telemetry.metrics import start_metrics
from fencepost.web.auth.headers import STATIC, dressed
from fencepost.web.auth.reading import wants_page
from fencepost.web.live.hub import Pace
from fencepost.web.mounted.paths import Outward, inner_scope, split_path
from fencepost.web.mounted.people import VISITOR, Authorize, HostDoorkeeper, Visitor, shows_token, visitor_of
from fencepost.web.problems import FORBIDDEN, UNAUTHORIZED, Problem, of_exception
from fencepost.web.running import RunningWeb
from fencepost.web.sending import send_problem, send_redirect

STREAM_LASTS_S = 60.0
"""For so long the host is not asked again about one who follows a live stream."""
ANSWERED_WITHIN_S = 5.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)
NO_USER = "sign in to the application that this is a part of"
NO_ROLE = "you are signed in, and have no role here; an administrator of this application can give you one"


class MountedWeb:
    """The dashboard and the API, to be mounted. `sign_in` is the host's page for a browser without a user."""

    def __init__(
        self,
        open_store: Callable[[], Awaitable[Store]],
        settings: Callable[[], Settings],
        authorize: Authorize,
        sign_in: str | None = None,
        leases: Callable[[Store], LeaseReader | None] = lambda _: None,
    ) -> None:
        self._open_store = open_store
        self._settings = settings
        self._authorize = authorize
        self._sign_in = sign_in
        self._leases = leases
        self._log = Log("web")
        self._running: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[RunningWeb] | None = None
        self._stopping = asyncio.Event()
        self._is_over = False
        self._answering = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind: str = scope["type"]
        if kind == "lifespan":
            await self._live(receive, send)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "there is no web socket here"})
        else:
            await self._answer(scope, receive, send)  # type: ignore[arg-type]

    @asynccontextmanager
    async def lifespan(self, host: object = None) -> AsyncIterator[dict[str, Any]]:
        """Run as long as the host does: `FastAPI(lifespan=this)`. A store that is away does not keep the host
        from starting; the first request asks it again."""
        self._is_over = False
        try:
            await self._start()
        except StoreUnavailable as error:
            self._log.warning("the store is away; the first request tries again", error=str(error))
        try:
            yield {}
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End the streams, let out the answers on their way, close the store."""
        self._end()
        if self._running is not None:
            await asyncio.wait({self._running})

    async def _answer(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        root, path = split_path(scope)
        inner = inner_scope(scope, path)
        needs_user = not path.startswith(STATIC) and not shows_token(inner, self._settings().token)
        visitor = await visitor_of(self._authorize, scope, root) if needs_user else None
        inner["state"] = {VISITOR: visitor}
        outward = Outward(send, root, visitor.new_cookie if visitor is not None else None)
        if needs_user and (refused := _refusal(visitor)) is not None:
            await self._send_away(root, inner, refused, send, outward)
            return
        try:
            web = await self._start()
        except FencepostError as error:
            await send_problem(inner, dressed(inner, outward), of_exception(error))
            return
        with self._counted():
            await web.application(inner, receive, outward)

    async def _send_away(
        self, root: str, inner: HTTPScope, refused: Problem, send: Send, outward: Outward
    ) -> None:
        """Redirect a browser without a user to the host's sign-in, where there is one."""
        if refused.kind is UNAUTHORIZED and self._sign_in is not None and wants_page(inner):
            query = inner["query_string"].decode("ascii", "replace")
            there = f"{root}{inner['path']}" if inner["method"] != "POST" else f"{root}/"
            asked = f"{there}?{query}" if query and inner["method"] != "POST" else there
            mark = "&" if "?" in self._sign_in else "?"
            await send_redirect(send, f"{self._sign_in}{mark}next={quote(asked, safe='')}")
        else:
            await send_problem(inner, dressed(inner, outward), refused)

    async def _start(self) -> RunningWeb:
        """What answers, started where it is not running in this loop."""
        if self._is_over:
            raise TurnedAway("the server is stopping")
        loop = asyncio.get_running_loop()
        if self._running is None or self._running.done() or self._running.get_loop() is not loop:
            self._stopping, self._idle = asyncio.Event(), asyncio.Event()
            self._idle.set()
            self._answering = 0
            self._ready = loop.create_future()
            self._running = loop.create_task(self._run(self._ready))
        assert self._ready is not None
        return await asyncio.shield(self._ready)

    async def _run(self, ready: asyncio.Future[RunningWeb]) -> None:
        try:
            settings = self._settings()
            store = await self._open_store()
        except Exception as error:
            ready.set_exception(error)
            return
        try:
            start_metrics(settings.metrics_jobs_max)
            keeper, pace = HostDoorkeeper(store, settings), Pace(age_max_s=STREAM_LASTS_S)
            web = RunningWeb(store, settings, self._leases(store), doorkeeper=keeper, pace=pace)
            await self._serve(web, ready)
        finally:
            await store.close()
            self._log.info("stopped")

    async def _serve(self, web: RunningWeb, ready: asyncio.Future[RunningWeb]) -> None:
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            telling = await web.start()
            with asked_to_end(self._end):
                ready.set_result(web)
                self._log.info("serving, mounted")
                await asyncio.wait({stopping, telling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            web.close()
            async with _within(ANSWERED_WITHIN_S):
                await self._idle.wait()
            await web.closed()

    def _end(self) -> None:
        self._is_over = True
        self._stopping.set()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """One answer more on its way."""
        idle = self._idle
        self._answering += 1
        idle.clear()
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                idle.set()

    async def _live(self, receive: Receive, send: Any) -> None:
        """The lifespan of a host that tells what is mounted in it."""
        await receive()
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def _refusal(visitor: Visitor | None) -> Problem | None:
    if visitor is None:
        return Problem(UNAUTHORIZED, NO_USER)
    return Problem(FORBIDDEN, NO_ROLE) if visitor.user.role is None else None


@contextmanager
def asked_to_end(hear: Callable[[], None]) -> Iterator[None]:
    """Call this in the running loop when the process is asked to end, before the handler that is there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: found for number in SIGNALS if callable(found := signal.getsignal(number))}

    def heard(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(hear)
        before[signal.Signals(number)](number, frame)

    for number in before:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is heard:
                signal.signal(number, handler)


@asynccontextmanager
async def _within(limit_s: float) -> AsyncIterator[None]:
    """At most for so long."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        pass
