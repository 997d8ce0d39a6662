"""Commands that a server carries out: the same answers, the same refusals, and one change for one call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.cli.answers import RUN
from tests.cli.calls import call, called, called_json, refused
from tests.web.house import TOKEN
from tests.web.serving import Server

TICK = "2026-01-01T00:30:00Z"
QUESTIONS = [
    ("runs", "list"),
    ("runs", "list", "--state", "dead", "--since", "1d"),
    ("runs", "list", "--held"),
    ("runs", "show", "double#ok"),
    ("runs", "show", "no such#run"),
    ("runs", "logs", "double#ok"),
    ("runs", "stuck"),
    ("dead", "list"),
    ("dead", "show", "burn#bad"),
    ("dead", "show", "double#ok"),
    ("dead", "replay", "--all", "--dry-run"),
    ("jobs", "list"),
    ("schedules", "list"),
    ("schedules", "show", "report"),
    ("schedules", "show", "reprt"),
    ("schedules", "history", "report"),
    ("calendars", "list"),
    ("queues", "list"),
    ("gate", "list"),
    ("backfill", "report", "--from", TICK, "--to", TICK, "--dry-run"),
    ("backfills", "list"),
    ("backfills", "show", "7"),
    ("why", "double#ok"),
    ("why", "report", TICK),
    ("audit", "--from", TICK, "--to", TICK),
    ("log",),
]


@pytest.fixture
def server(used: str, tmp_path: Path) -> Iterator[Server]:
    found = Server(used)
    with found.process(tmp_path):
        yield found


def there(server: Server) -> tuple[str, ...]:
    return ("--server", f"http://127.0.0.1:{server.port}", "--token", TOKEN)


def test_a_server_answers_as_the_store_does(server: Server) -> None:
    for question in QUESTIONS:
        for form in ((), ("--json",)):
            here, far = (
                call(*question, *form, *place) for place in (("--store", server.store), there(server))
            )
            assert (far.exit_code, far.stdout, far.stderr) == (here.exit_code, here.stdout, here.stderr), (
                question
            )


def test_every_change_is_made_once_and_in_the_tokens_name(server: Server) -> None:
    far = there(server)
    added = called_json("schedules", "add", "hourly", "--job", "report", "--every", "1h", *far)
    assert added["version"] == 1
    called("schedules", "edit", "hourly", "--every", "2h", "--reason", "too often", *far)
    called("schedules", "pause", "hourly", *far)
    called("schedules", "resume", "hourly", *far)
    run_key = called("schedules", "trigger", "hourly", *far).strip()
    called("runs", "cancel", run_key, *far)
    assert called("enqueue", "double", "--payload", '{"number": 2}', "--key", "two", *far)
    one = ("--payload", '{"number": 2}', "--unique", "1h", "--expires", "5m")
    assert called("enqueue", "double", *one, *far) == call("enqueue", "double", *one, *far).stdout
    called("runs", "replay", "burn#bad", *far)
    called("freeze", *far)
    called("thaw", *far)
    called("queues", "pause", "default", *far)
    called("queues", "resume", "default", *far)
    called("schedules", "remove", "hourly", *far)
    entries = called_json("log", "--store", server.store)
    mine = [one for one in entries if one["source"].startswith("api from 127.0.0.1")]
    assert [one["action"] for one in reversed(mine)] == [
        *("schedule.put", "schedule.put", "schedule.pause", "schedule.resume", "schedule.trigger"),
        *(
            "run.cancel",
            "run.enqueue",
            "run.enqueue",
            "run.replay",
            "freeze",
            "thaw",
            "freeze",
            "thaw",
            "schedule.remove",
        ),
    ]
    assert [one["reason"] for one in mine if one["reason"]] == ["too often"]


def test_a_server_that_is_not_there_or_not_ours_is_one_line(tmp_path: Path) -> None:
    assert "no answer" in refused("runs", "list", "--server", "http://127.0.0.1:9", "--token", TOKEN)
    assert "show a token" in refused("runs", "list", "--server", "http://127.0.0.1:9")
    assert "expected such as https://" in refused("runs", "list", "--server", "ftp://x", "--token", TOKEN)


def test_a_wrong_token_is_one_line_that_does_not_show_it(server: Server) -> None:
    wrong = "not-the-token-of-this-server-at-all"
    said = refused("runs", "list", "--server", f"http://127.0.0.1:{server.port}", "--token", wrong)
    assert wrong not in said
    remedy = "show another with --token, or in FENCEPOST_TOKEN"
    assert said == f"this token is not known here, or has ended; {remedy}"


def test_an_answer_that_was_lost_is_asked_for_again_under_the_same_key() -> None:
    with losing_server() as (port, seen):
        called("runs", "cancel", "double#ok", "--server", f"http://127.0.0.1:{port}", "--token", TOKEN)
    assert len(seen) == 2
    assert len(set(seen)) == 1
    assert seen[0]


@contextmanager
def losing_server() -> Iterator[tuple[int, list[str]]]:
    """A server that hangs up on the first request, and answers the second."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["Idempotency-Key"])
            self.rfile.read(int(self.headers["Content-Length"]))
            if len(seen) == 1:
                return
            import json

            body = json.dumps(RUN).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=web.serve_forever)
    thread.start()
    try:
        yield web.server_address[1], seen
    finally:
        web.shutdown()
        thread.join()
        web.server_close()
