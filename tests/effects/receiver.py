"""Somebody else's server, which HTTP jobs call: it does its work to the end, whatever its caller does."""

from __future__ import annotations

import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from tests.chaos.sinks import DurableLines
from tests.effects.crash_jobs import EFFECTS, STARTS, is_due
from tests.effects.crash_points import Point


class Receiver:
    """In this process, on a port of its own. At a point of the case it kills whoever called."""

    def __init__(self, folder: Path) -> None:
        starts, effects = DurableLines(folder / STARTS), DurableLines(folder / EFFECTS)

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                key = unquote(self.headers["Idempotency-Key"])
                starts.append(key)
                self._kill_at(Point.AFTER_START)
                effects.append(key)
                self._kill_at(Point.EFFECT_DONE)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def _kill_at(self, point: Point) -> None:
                if is_due(point, self.headers["X-Job"], int(self.headers["Fencepost-Attempt"])):
                    os.kill(int(self.headers["X-Worker"]), signal.SIGKILL)

            def log_message(self, format: str, *arguments: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
