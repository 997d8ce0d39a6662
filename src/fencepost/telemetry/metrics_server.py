"""`/metrics` on a socket of its own, for processes that serve no web.

Threads answer, and one of them at a time makes the page. There are two pages, `/metrics` and `/healthz`, and
neither takes input from the client.
"""

from __future__ import annotations

import asyncio
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Lock, Thread
from typing import Any, Protocol

from fencepost.telemetry.logs import Log

ANSWER_MAX_S = 10.0
"""How long a request may take to arrive, and its answer to leave."""
POLL_S = 0.05
"""How often the thread looks whether it should end."""
CONNECTIONS_MAX = 16
"""How many requests are answered at a time, each by a thread; requests beyond that are refused."""
PLAIN = "text/plain; charset=utf-8"


class Page(Protocol):
    """What is shown."""

    def render(self) -> bytes: ...


class MetricsServer:
    """Serves while it runs; begun and ended with the other loops of a process."""

    def __init__(self, page: Page, content_type: str, listener: socket.socket) -> None:
        self.log = Log("metrics")
        listener.setblocking(True)
        host, port = listener.getsockname()[:2]
        self.address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._server = _Server(listener, page, content_type)
        self._thread = Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="fencepost-metrics", daemon=True
        )

    async def run(self) -> None:
        """Serve until cancelled."""
        self._thread.start()
        self.log.info("serving", address=f"{self.address}/metrics")
        try:
            await asyncio.Event().wait()
        finally:
            self._server.shutdown()
            self.close()

    def close(self) -> None:
        """Give the socket back; closing twice is fine."""
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    """On a socket that is bound already. A scrape under way is not waited for at the end."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, listener: socket.socket, page: Page, content_type: str) -> None:
        super().__init__(listener.getsockname(), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.page = page
        self.rendering = Lock()
        self._free = BoundedSemaphore(CONNECTIONS_MAX)
        self.content_type = content_type

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is not logged."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = ANSWER_MAX_S
    server_version = "fencepost"
    sys_version = ""

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/metrics":
                with self.server.rendering:
                    body = self.server.page.render()
                self._answer(200, self.server.content_type, body)
            case "/healthz":
                self._answer(200, PLAIN, b"ok\n")
            case _:
                self._answer(404, PLAIN, b"not found: /metrics and /healthz are here\n")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Scrapes are not logged either."""
