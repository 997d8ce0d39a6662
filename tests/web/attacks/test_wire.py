"""A real server process, spoken to in bytes that no well-behaved client sends, with secrets planted in it."""

from __future__ import annotations

import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from fencepost.web.request_limits import BODY_WITHIN_S
from tests.cli.calls import called, called_json, refused
from tests.cli.processes import PATIENCE_S, Process
from tests.web.house import TOKEN
from tests.web.serving import LOOK_AGAIN_S, LOOKS_MAX, MANIFEST, Server

HEAD = f"Host: h\r\nAuthorization: Bearer {TOKEN}\r\n"
ENQUEUE = "POST /api/v1/jobs/count/enqueue HTTP/1.1\r\n" + HEAD
SMUGGLED = f"GET /api/v1/whoami HTTP/1.1\r\n{HEAD}\r\n"
PASSWORD = "canary0db9password"


class Running:
    """A server, its process and its store's file."""

    def __init__(self, server: Server, process: Process, path: Path) -> None:
        self.server = server
        self.process = process
        self.path = path


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("wire")) as running:
        yield running


@pytest.fixture
def guessed(tmp_path: Path) -> Iterator[Running]:
    """One for wrong tokens: who sends several has to wait, whatever they send next."""
    with served(tmp_path) as running:
        yield running


@contextmanager
def served(folder: Path) -> Iterator[Running]:
    path = folder / "store.db"
    server = Server(f"sqlite:///{path}")
    called("migrate", "--store", server.store)
    with server.process(folder, "web", "--log-level", "debug") as process:
        yield Running(server, process, path)


@contextmanager
def line_to(running: Running) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", running.server.port), timeout=PATIENCE_S) as line:
        yield line


def spoken(running: Running, text: str | bytes) -> bytes:
    """All that is answered until the server closes, or says no more for a moment."""
    with line_to(running) as line:
        with suppress(OSError):
            line.sendall(text if isinstance(text, bytes) else text.encode("latin-1"))
        heard = b""
        with suppress(OSError):  # The server may have closed already.
            line.shutdown(socket.SHUT_WR)
            while part := line.recv(65_536):
                heard += part
        return heard


def enqueued(running: Running) -> int:
    return len(running.server.ask("GET", "/api/v1/runs?limit=500").body["items"])


def test_a_body_whose_length_is_said_twice_is_refused_and_nothing_behind_it_is_read(running: Running) -> None:
    before = enqueued(running)
    chunked = "Transfer-Encoding: chunked\r\n"
    ways = [
        f"{ENQUEUE}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}",
        f"{ENQUEUE}Content-Length: 2, 3\r\n\r\n{{}}",
        f"{ENQUEUE}Content-Length: 2\r\n{chunked}\r\n2\r\n{{}}\r\n0\r\n\r\n",
        f"{ENQUEUE}{chunked}Content-Length: 2\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n",
        f"{ENQUEUE}Transfer-Encoding: xchunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n",
        f"{ENQUEUE}Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n",
        f"{ENQUEUE}Transfer-Encoding : chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n",
        f"{ENQUEUE}Content-Length: +2\r\n\r\n{{}}",
        f"{ENQUEUE}Content-Length: -2\r\n\r\n{{}}",
        f"{ENQUEUE}Content-Length: {'9' * 5_000}\r\n\r\n{{}}",
        f"{ENQUEUE}Content-Length: 0x2\r\n\r\n{{}}",
        f"{ENQUEUE}{chunked}\r\n2;\n\r\n{{}}\r\nZZ\r\n\r\n",
    ]
    for one in ways:
        heard = spoken(running, one + SMUGGLED)
        statuses = [part.split(b" ")[1] for part in heard.split(b"\r\n") if part.startswith(b"HTTP/1.1 ")]
        assert statuses in ([b"400"], [b"413"], [b"501"]), (one[-120:], heard)
        assert b"FENCEPOST_TOKEN" not in heard, "what stands behind it is no request"
    assert enqueued(running) == before


def test_headers_that_are_none_are_refused(running: Running) -> None:
    ways: list[str | bytes] = [
        f"GET /api/v1/whoami HTTP/1.1\r\nHost: a\r\n{HEAD}\r\n",
        f"GET /api/v1/whoami HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n",
        f"GET /api/v1/whoami HTTP/1.1\r\n{HEAD}X: a\x00b\r\n\r\n",
        f"GET /api/v1/whoami HTTP/1.1\r\n{HEAD}: b\r\n\r\n",
        f"GET /api/v1/whoami HTTP/1.1\r\n{HEAD}X: {'a' * 300_000}\r\n\r\n",
        f"GET /{'a' * 300_000} HTTP/1.1\r\n{HEAD}\r\n",
        "\r\n\r\n\r\nhello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
    for one in ways:
        heard = spoken(running, one)
        assert b"HTTP/1.1 200" not in heard, one[:100]
    twice = f"GET /api/v1/whoami HTTP/1.1\r\n{HEAD}Authorization: Bearer {TOKEN}\r\n\r\n"
    assert b" 401 " in spoken(running, twice).partition(b"\r\n")[0]


def test_an_upgrade_is_not_taken(running: Running) -> None:
    keys = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    for credential in ("Host: h\r\n", HEAD):
        for kind in (f"Upgrade: websocket\r\n{keys}", "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"):
            asked = f"GET /api/v1/whoami HTTP/1.1\r\n{credential}Connection: Upgrade\r\n{kind}\r\n"
            assert b" 101 " not in spoken(running, asked)


def test_a_line_break_in_a_path_or_a_place_to_go_is_no_header(running: Running) -> None:
    for path in ("/%0d%0aSet-Cookie:%20a=b", "/x?next=%0d%0aSet-Cookie:%20a=b", "/sign-in?next=%0d%0aX:%20y"):
        heard = spoken(
            running, f"GET {path} HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        )
        head = heard.partition(b"\r\n\r\n")[0].lower()
        assert b"\r\nset-cookie" not in head
        assert b"\r\nx:" not in head


def test_one_who_sends_slowly_holds_no_place_for_ever(running: Running) -> None:
    """`test_connection` has those whose headers come slowly."""
    with line_to(running) as body:
        body.settimeout(BODY_WITHIN_S + PATIENCE_S)
        body.sendall(f"{ENQUEUE}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in body.recv(65_536).partition(b"\r\n")[0]
        assert running.server.ask("GET", "/api/v1/whoami").status == 200, "others are served meanwhile"


def test_a_revoked_token_ends_its_open_stream(running: Running) -> None:
    """A credential is looked at again after some seconds."""
    server = running.server
    made = called_json("token", "create", "tv", "--role", "viewer", "--store", server.store)
    asked = f"GET /api/v1/events HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {made['token']}\r\n\r\n"
    with line_to(running) as line:
        line.sendall(asked.encode())
        assert b" 200 " in line.recv(65_536).partition(b"\r\n")[0]
        called("token", "revoke", made["token_id"], "--store", server.store)
        began = time.monotonic()
        while (part := line.recv(65_536)) and not part.endswith(b"0\r\n\r\n"):
            assert time.monotonic() - began < PATIENCE_S, "it goes on and on"
    for _ in range(LOOKS_MAX):
        if server.ask("GET", "/api/v1/whoami", token=made["token"]).status == 401:
            break
        time.sleep(LOOK_AGAIN_S)
    assert server.ask("GET", "/api/v1/events", token=made["token"]).status == 401


def test_the_store_has_digests_and_the_log_has_nothing(guessed: Running) -> None:
    server = guessed.server
    made = called_json("token", "create", "ci", "--role", "admin", "--store", server.store)
    link = server.ask("POST", "/api/v1/links", {}, token=made["token"]).body["link"]
    for token in (TOKEN, made["token"], made["token"][:-1], "wrong" * 9):
        for path in ("/api/v1/whoami", "/metrics", f"/runs?token={token}", "/%ff", "/api/v1/runs?limit=x"):
            server.ask("GET", path, token=token)
    secrets = [TOKEN, *(one.rpartition("_")[2][:60] for one in (made["token"], link))]
    with closing(sqlite3.connect(guessed.path)) as store:
        kept = "\n".join(store.iterdump())
    assert made["token_id"] in kept, "the id is there, so this looks at the right place"
    said = "\n".join(guessed.process.lines)
    for secret in secrets:
        assert secret not in kept
        assert secret not in said


def test_the_password_of_a_store_is_in_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_TOKEN", TOKEN)
    for store in (
        f"postgresql://anna:{PASSWORD}@127.0.0.1:1/x",
        f"postgresql://anna:{PASSWORD}@127.0.0.1:1/x?sslmode=nonsense",
        f"postgrex://anna:{PASSWORD}@127.0.0.1:1/x",
    ):
        line = refused("web", str(MANIFEST), "--no-wait", "--bind", "127.0.0.1:0", "--store", store)
        assert PASSWORD not in line
