"""A server that is busy, away, or hangs up: asked again for a while, and never for a secret."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from fencepost.cli import patience
from tests.cli.answers import ANSWERS
from tests.cli.calls import call, refused
from tests.web.house import TOKEN

CANCEL = ("runs", "cancel", "double#ok")
CREATE = ("token", "create", "ci", "--role", "viewer")
HANG_UP = 0
Scripted = tuple[int, str, dict[str, str]]
"""A status, the kind of problem, and headers."""
PENDING = (409, "key-pending", {"Retry-After": "0"})
AWAY = (503, "store-unavailable", {"Retry-After": "0"})
BUSY = (429, "too-many-requests", {"Retry-After": "0"})
GONE: Scripted = (HANG_UP, "", {})


class Scene:
    """A server that answers as scripted, and as the example says once the script is over."""

    def __init__(self, script: list[Scripted], example: str) -> None:
        self.script, self.example = list(script), example
        self.keys: list[str | None] = []
        self.namespaces: list[str | None] = []
        self.port = 0

    @property
    def there(self) -> tuple[str, ...]:
        return ("--server", f"http://127.0.0.1:{self.port}", "--token", TOKEN)


@contextmanager
def scene(*script: Scripted, example: str = "runs.cancel") -> Iterator[Scene]:
    found = Scene(list(script), example)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            found.keys.append(self.headers["Idempotency-Key"])
            found.namespaces.append(self.headers["Fencepost-Namespace"])
            status, kind, headers = found.script.pop(0) if found.script else (200, "", {})
            if status == HANG_UP:
                self.close_connection = True
                return
            problem = {"type": f"urn:fencepost:problem:{kind}", "detail": f"it is {kind}"}
            body = json.dumps(problem if kind else ANSWERS[found.example]).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = web.server_address[1]
    thread = Thread(target=web.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        web.shutdown()
        thread.join()
        web.server_close()


@pytest.mark.parametrize("first", [PENDING, AWAY, BUSY, GONE, (502, "", {})])
def test_a_change_is_asked_for_again_under_the_same_key(first: Scripted) -> None:
    with scene(first, first) as server:
        result = call(*CANCEL, *server.there)
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(server.keys) == 3
    assert len({*server.keys}) == 1
    assert server.keys[0]


@pytest.mark.parametrize("refusal", [(409, "conflict", {}), (503, "too-slow", {}), (422, "refused", {})])
def test_what_will_be_refused_again_is_not_repeated(refusal: Scripted) -> None:
    with scene(refusal) as server:
        assert f"it is {refusal[1]}" in refused(*CANCEL, *server.there)
    assert len(server.keys) == 1


def test_nobody_waits_for_longer_than_a_key_is_held() -> None:
    with scene((429, "too-many-requests", {"Retry-After": "3600"})) as server:
        assert "too-many-requests" in refused(*CANCEL, *server.there)
    assert len(server.keys) == 1


def test_whoever_waits_is_told_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "SAID_AFTER_S", 0.0)
    with scene(PENDING, PENDING) as server:
        result = call(*CANCEL, *server.there)
    (line,) = result.stderr.splitlines()
    assert "asking again" in line
    assert result.exit_code == 0


def test_ctrl_c_ends_the_wait_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fencepost.cli.patience.time.sleep", interrupted)
    with scene(PENDING) as server:
        result = call(*CANCEL, *server.there)
    assert (result.exit_code, result.stdout, result.stderr.strip()) == (130, "", "")


@pytest.mark.parametrize("first", [GONE, AWAY])
def test_what_makes_a_secret_is_not_sent_twice(first: Scripted) -> None:
    with scene(first, example="tokens.create") as server:
        assert "unknown; look with: fencepost token list" in refused(*CREATE, *server.there)
    assert server.keys == [None]


def test_what_makes_a_secret_waits_where_it_was_turned_away() -> None:
    with scene(BUSY, example="tokens.create") as server:
        assert call(*CREATE, *server.there).exit_code == 0
    assert len(server.keys) == 2


def test_the_namespace_of_the_environment_is_sent_unless_an_option_names_one() -> None:
    with scene() as server:
        call(*CANCEL, *server.there)
        call(*CANCEL, *server.there, FENCEPOST_NAMESPACE="billing")
        call(*CANCEL, *server.there, "--namespace", "ops", FENCEPOST_NAMESPACE="billing")
    assert server.namespaces == [None, "billing", "ops"]


@pytest.mark.parametrize("token", ["secret\nb", "secretä€x", "secret\x7f"])
def test_a_token_that_is_none_is_refused_and_not_shown(token: str) -> None:
    said = refused("runs", "list", "--server", "http://127.0.0.1:9", "--token", token)
    assert "--token" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "server", ["http://[bad", "http://x:99999", "http://x:a", "http://x/ä", "http://x/a b", "http://u:p@x"]
)
def test_an_address_that_is_none_is_refused(server: str) -> None:
    assert "expected such as https://" in refused("runs", "list", "--server", server, "--token", TOKEN)


def test_a_server_that_was_never_there_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("fencepost.cli.patience.time.sleep", waits.append)
    with scene() as server:
        there = server.there
    assert "no answer" in refused(*CANCEL, *there)
    assert waits == []


@pytest.mark.parametrize(
    ("script", "example", "said"),
    [
        ([], "schedules.list", "none of ours"),
        ([(422, "refused", {})], "runs.cancel", "it is refused"),
        ([(500, "", {})], "schedules.list", "answered 500"),
        ([GONE], "runs.cancel", "no answer"),
    ],
)
def test_no_refusal_shows_the_token(
    monkeypatch: pytest.MonkeyPatch, script: list[Scripted], example: str, said: str
) -> None:
    monkeypatch.setattr(patience, "LASTS_S", -1.0)
    with scene(*script, example=example) as server:
        result = call(*CANCEL, *server.there)
    assert said in result.stderr
    assert TOKEN not in result.output
