"""The server: the application on a socket, in a thread with an event loop and a store of its own.

A client that reaches the socket can make this loop busy. The planner, the elector, the worker and the
heartbeat of the same process have loops and connections of their own, and go on.

The socket is bound before anything runs, so that a port that is taken is one line and not a dead process.
When the process is asked to stop, live streams end at once, workers that wait for work get an empty answer,
and the answers on their way are sent.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from fencepost.config import Settings
from fencepost.ports.store import Store
from fencepost.services.fleet import LeaseReader
from fencepost.services.loop_thread import LoopThread, opened_patiently
from fencepost.telemetry.logs import Log
from fencepost.telemetry.metrics import start_metrics
from fencepost.web.binding import BACKLOG_MAX
from fencepost.web.connections import BETWEEN_S, ConnectionLimit, connections_max, protocols
from fencepost.web.running import RunningWeb
from fencepost.web.tls import Tls

GRACE_S = 5
ENDED_WITHIN_S = 15.0
"""How long a node that stops waits for the web: the grace, and the time to close the store."""
OPEN_AGAIN_S = 1.0
HEAD_BYTES_MAX = 32 * 1024
ACCEPTED_AT_ONCE = 32
"""The number of connections accepted in one turn of the loop. It takes a few turns until one that is too many
is closed, and until then each takes up a file."""


class WebThread(LoopThread):
    """The web beside the services of a node. `stop` belongs to the loop of the node."""

    def __init__(
        self,
        open_store: Callable[[], Awaitable[Store]],
        settings: Settings,
        listener: socket.socket,
        stop: asyncio.Event,
        leases: Callable[[Store], LeaseReader | None] = lambda _: None,
        tls: Tls | None = None,
    ) -> None:
        super().__init__("fencepost-web")
        self.address = _address(listener, tls)
        self._open_store = open_store
        self._settings = settings
        self._listener = listener
        self._stop = stop
        self._leases = leases
        self._tls = tls
        start_metrics(settings.metrics_jobs_max)

    async def run(self) -> None:
        """Serve until asked to stop, or cancelled; then wait to be cancelled."""
        ended = self._begun()
        stopping = asyncio.create_task(self._stop.wait())
        try:
            either: set[asyncio.Future[Any]] = {ended, stopping}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            self._ask_to_stop()
            await asyncio.wait({ended}, timeout=ENDED_WITHIN_S)
        if ended.done():
            ended.result()
        await asyncio.Event().wait()

    async def serve(self) -> None:
        store = await opened_patiently(self._open_store, OPEN_AGAIN_S)
        try:
            web = WebServer(store, self._settings, self._listener, self._leases(store), tls=self._tls)
            await web.run()
        finally:
            await store.close()


class WebServer:
    """One socket, its routes, waiting claims and live streams; all in one event loop."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        listener: socket.socket,
        leases: LeaseReader | None = None,
        dice: Callable[[], float] = random.random,
        tls: Tls | None = None,
    ) -> None:
        self.log = Log("web")
        self._listener = listener
        self.address = _address(listener, tls)
        self._web = RunningWeb(store, settings, leases, dice)
        self._server = HttpServer(self._web.application, tls)

    async def run(self) -> None:
        """Serve until cancelled, then send the answers on their way."""
        telling = await self._web.start()
        serving = asyncio.create_task(self._server.serve([self._listener]))
        self.log.info("serving", address=self.address)
        try:
            await asyncio.wait({serving, telling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._web.close()
            self._server.should_exit = True
            await asyncio.shield(serving)
            self.log.info("stopped", address=self.address)
            await asyncio.wait({telling})
        await self._web.closed()
        raise AssertionError("the web ended by itself")


class HttpServer(uvicorn.Server):
    """The server library with a limit on its connections. The process itself handles signals."""

    def __init__(self, application: object, tls: Tls | None) -> None:
        self.limit = ConnectionLimit(connections_max())
        super().__init__(_config(application, protocols(self.limit, tls)))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As many connections as the loop accepts in a turn may wait for it, unless told otherwise."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(BACKLOG_MAX)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Connections without a request, and possibly without a TLS handshake, are not waited for."""
        self.limit.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(application: object, http: Callable[..., asyncio.Protocol]) -> uvicorn.Config:
    return uvicorn.Config(
        application,  # type: ignore[arg-type]
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http=http,  # type: ignore[arg-type]
        server_header=False,
        proxy_headers=False,
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=BETWEEN_S,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=HEAD_BYTES_MAX,
    )


def _address(listener: socket.socket, tls: Tls | None) -> str:
    host, port = listener.getsockname()[:2]
    scheme = "http" if tls is None else "https"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
