"""What the reference workers list in `known`: every fence that they were given, until its report is answered.

A worker that forgets a run which it had begun is given it again, and begins it twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Event, Thread
from typing import Any

import pytest

from tests.cli.processes import PATIENCE_S
from tests.marks import in_proof
from tests.web.serving import worker

FENCE = 41
ENDLESS = 100_000
PACE_S = 0.6
QUIET_CLAIMS = 4
"""So many requests for more, one after the other, are longer than the time between two heartbeats."""
CALLS_MAX = 200


class Host(ThreadingHTTPServer):
    """A server that gives one run, and answers whatever is said of it as it was told."""

    daemon_threads = True

    def __init__(self, to: int, statuses: dict[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), Calls)
        self.calls: Queue[tuple[str, list[int]]] = Queue()
        self._runs = [_run(to)]
        self._statuses = statuses
        self._over = Event()

    def answer(self, verb: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.calls.put((verb, body.get("known", [])))
        if verb != "claims":
            return self._statuses[verb], {"cancel_requested": False, "alive_for_s": 2.0}
        if not self._runs:
            self._over.wait(PACE_S)
            return 200, {"claims": []}
        return 200, {"claims": [self._runs.pop()]}

    def known_in_the_end(self) -> list[int]:
        """What a worker lists once it has nothing to say of its run any more."""
        begun, quiet = False, 0
        for _ in range(CALLS_MAX):
            verb, known = self.calls.get(timeout=PATIENCE_S)
            begun = begun or verb != "claims"
            quiet = quiet + 1 if verb == "claims" else 0
            if begun and quiet == QUIET_CLAIMS:
                return known
        raise AssertionError("it never came to an end")

    def end(self) -> None:
        self._over.set()
        self.shutdown()
        self.server_close()


class Calls(BaseHTTPRequestHandler):
    """One call each."""

    server: Host

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, said = self.server.answer(self.path.rpartition("/")[2], body)
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return None


@contextmanager
def hosted(to: int, **statuses: int) -> Iterator[Host]:
    host = Host(to, statuses)
    serving = Thread(target=host.serve_forever, daemon=True)
    serving.start()
    try:
        yield host
    finally:
        host.end()
        serving.join(PATIENCE_S)


@pytest.mark.parametrize("program", ["worker.mjs", *in_proof("worker.sh")])
@pytest.mark.parametrize(
    ("to", "heartbeat", "report", "known"),
    [
        pytest.param(ENDLESS, 503, 200, [FENCE], id="given up in silence"),
        pytest.param(ENDLESS, 409, 200, [FENCE], id="lost"),
        pytest.param(1, 200, 413, [FENCE], id="report refused"),
        pytest.param(1, 200, 200, [], id="report accepted"),
    ],
)
def test_a_fence_stays_known_until_its_report_was_accepted(
    program: str, to: int, heartbeat: int, report: int, known: list[int]
) -> None:
    with (
        hosted(to, heartbeat=heartbeat, complete=report, fail=report) as host,
        worker(program, host.server_port),
    ):
        assert host.known_in_the_end() == known


def _run(to: int) -> dict[str, Any]:
    return {
        "run_key": "count#1",
        "job": "count",
        "attempt": 1,
        "fence": FENCE,
        "payload": {"to": to, "pause_s": 0.05},
        "heartbeat_every_s": 1.0,
        "alive_for_s": 2.0,
    }
