"""Secrets of commands, of calls and of payloads: a real process, and everything that it tells to anybody.

What a command finds in its environment, what a call is signed with, what stands in an address or in the text
of an exception is searched for in the log, in spans as a collector gets them, in every answer and page of the
web, in the metrics, and in what the command line says.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fencepost.web.application import operations
from tests.cli.processes import SIGTERM, said, started
from tests.servers.ports import free_port
from tests.traces.receiver import Receiver, receiving, serving
from tests.web.attacks.test_markup import addresses
from tests.web.house import TOKEN
from tests.web.serving import Server
from tests.web.test_roles import place_of

APP = Path(__file__).with_name("careless_app.py")
CANARY = "CaNaRy7f3e91"
JOBS = ("called", "command", "http")
SPIKY = f"it's #{CANARY}"
"""How a secret may end that is not only of letters: a blank, a quote, what ends an address."""
BEARER = f"Bearer {CANARY}m"
PAYLOAD = {
    "password": f"{CANARY}a {SPIKY}",
    "nested": {"api_token": f"{CANARY}b {SPIKY}"},
    "url": f"postgres://anna:{CANARY}c@db.example/x",
    "header": f"Bearer {CANARY}d",
    "hook": f"https://x.example/?access_token={CANARY}e&a=b",
}
HIDDEN = {
    "CANARY": CANARY,
    "PASSED_SECRET": f"{CANARY}j {SPIKY}",
    "CANARY_STRIPE": f"{CANARY}k",
    "CANARY_BEARER": BEARER,
    "CANARY_SIGNING": f"{CANARY}o-signing-secret",
}


class Echo(BaseHTTPRequestHandler):
    """A target that says what it was asked, with an error."""

    def do_POST(self) -> None:
        asked = f"{self.path} {dict(self.headers.items())}"
        assert CANARY in asked, "it is called with the secrets"
        body = f"cannot: {asked} {self.rfile.read(int(self.headers['Content-Length'])).decode()}".encode()
        self.send_response(400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@dataclass
class Heard:
    """What was told, by where."""

    server: Server
    told: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.server.ask(method, path, body)
        assert answer.status < 500, (path, answer.content)
        self.told.append((f"{method} {path}", f"{answer.content.decode()} {answer.headers}"))
        return answer

    def leaks(self) -> list[tuple[str, str]]:
        """Where a secret is to be seen, with what stands around it."""
        places = [(where, text, text.find(CANARY)) for where, text in self.told]
        return [(where, text[max(0, at - 80) : at + 40]) for where, text, at in places if at >= 0]


@contextmanager
def careless(folder: Path) -> Iterator[tuple[Heard, Receiver, Any]]:
    """The application in a process of its own, with the web before it and a collector behind it."""
    shutil.copy(APP, folder / APP.name)
    server = Server(f"sqlite:///{folder / 'store.db'}", free_port())
    with receiving() as receiver, serving(Echo) as port:
        arguments = ("run", "careless_app:app", "--bind", f"127.0.0.1:{server.port}", "--store", server.store)
        told = {
            **HIDDEN,
            "CANARY_TARGET": f"http://127.0.0.1:{port}",
            "FENCEPOST_TOKEN": TOKEN,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        more = ("--log-json", "--log-level", "debug")
        with started(*arguments, *more, folder=folder, **told) as process:
            process.wait_for('"event": "serving"')
            yield Heard(server), receiver, process


@pytest.mark.proof
def test_no_secret_of_a_job_is_to_be_seen_anywhere(tmp_path: Path) -> None:
    """About 15 s: a real node, every kind of job, and everything that they write."""
    with careless(tmp_path) as (heard, receiver, process):
        for job in JOBS:
            answer = heard.ask("POST", f"/api/v1/jobs/{job}/enqueue", {"key": "1", "payload": PAYLOAD})
            assert answer.status == 200, answer.content
        receiver.until(lambda one: all(dead(one, job) for job in JOBS))
        for job in JOBS:
            walk(heard, job)
        heard.ask("GET", "/metrics")
        store = ("--store", heard.server.store)  # the command knows none of the secrets
        heard.told += [(f"cli {' '.join(one)}", said(*one, *store)[1]) for one in commands()]
        process.signal(SIGTERM)
        assert process.ended() == 0
    heard.told += [("log", process.said)]
    heard.told += [("spans", body.decode("latin-1")) for body in receiver.bodies]
    assert heard.leaks() == [], "\n".join(map(str, heard.leaks()))
    told = dict(heard.told)
    assert "***" in told["log"]
    assert any("***" in text for where, text in heard.told if where == "spans")
    for job in JOBS:
        assert "***" in told[f"GET /api/v1/runs/{quote(f'{job}#1', safe='')}"]


def dead(receiver: Receiver, job: str) -> bool:
    return any(one.title == f"run {job}" and one.is_error for one in receiver.spans)


def walk(heard: Heard, job: str) -> None:
    """Everything that can be read of a run over HTTP."""
    named = {"run_key": f"{job}#1", "job": job, "schedule_id": "s", "name": "c", "backfill_id": "1"}
    for one in operations():
        if one.method == "GET":
            heard.ask("GET", place_of(one, {**named, "fire_time": "2026-03-01T00:00:00Z"}))
    for path in addresses(named):
        heard.ask("GET", path)


def commands() -> list[tuple[str, ...]]:
    about_all = [("runs", "list"), ("dead", "list"), ("log",), ("doctor",), ("status",)]
    about_one = [
        (*verb, f"{job}#1") for job in JOBS for verb in (("runs", "show"), ("runs", "logs"), ("why",))
    ]
    return [*about_all, *about_one, *((*one, "--json") for one in about_one if one[1] != "logs")]
