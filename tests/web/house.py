"""The application in this process: called as a server would call it, on a store in memory."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any, cast
from unittest.mock import patch
from urllib.parse import quote, unquote

from litestar.types import ASGIApp, HTTPScope, Message

from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, NodeId, Queue, RunKey, job_key
from fencepost.model.job import JobSpec, Retry
from fencepost.model.run import Claim, NewRun
from fencepost.services.long_poll import LongPoll
from fencepost.services.offload import OffloadThreads
from fencepost.web import application
from fencepost.web.application import closed_hub
from fencepost.web.auth import Doorkeeper
from fencepost.web.live.hub import Hub
from fencepost.web.serving import Serving
from tests.services.house import NS, House
from tests.web.lent_routes import lend

TOKEN = "a-token-of-the-tests-with-32-characters"
CLAIMS = "/api/v1/claims"
JOBS = (
    JobSpec(JobName("resize"), external=True, open_payload=True, retry=Retry(3, "10s", "1m")),
    JobSpec(JobName("short"), external=True, open_payload=True, timeout=timedelta(seconds=10)),
    JobSpec(JobName("watched"), external=True, open_payload=True, progress_deadline=timedelta(seconds=40)),
    JobSpec(JobName("once"), external=True, open_payload=True, at_most_once=True),
    JobSpec(JobName("bulk"), Queue("slow"), external=True, open_payload=True),
    JobSpec(JobName("local"), open_payload=True),
)


@dataclass
class Answer:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def problem(self) -> str:
        """The kind of problem, which says of itself what the status says of it."""
        assert self.headers["content-type"] == "application/problem+json"
        assert self.body["status"] == self.status
        assert self.body["title"]
        assert self.body["detail"]
        return str(self.body["type"]).rpartition(":")[2]


class Web:
    """A house with the web before it."""

    def __init__(self, pollers_max: int = 10, offload: OffloadThreads | None = None, **settings: Any) -> None:
        self.house = House(**{"token": TOKEN, **settings})
        store, chosen = self.house.store, self.house.settings
        self.room = LongPoll(pollers_max)
        self.serving = Serving(
            store, chosen, self.room, dice=lambda: 0.5, offload=offload or OffloadThreads()
        )
        if offload is not None:
            self.serving = replace(self.serving, offload_short=offload)
        self.verbs = self.serving.verbs(NS)
        self.doorkeeper = Doorkeeper(store, chosen, self.house.clock)
        self.app = application_of(self.serving, self.doorkeeper)

    async def open(self) -> None:
        await self.house.memory.jobs.register(NS, JOBS)
        await self.room.open(self.house.store.signals)

    async def enqueue(self, key: str, job: str) -> RunKey:
        """A run by hand, in the queue of its job."""
        (spec,) = [one for one in JOBS if one.name == job]
        run = NewRun(job_key(spec.name, key), spec.name, {}, spec.queue, spec.priority)
        await self.house.memory.ledger.enqueue(NS, [run])
        return run.run_key

    async def claim_inside(self, job: str) -> Claim:
        """A run in the hands of a worker of the program."""
        claim_request = ClaimRequest(NodeId("host-1"), (DEFAULT_QUEUE,), (JobName(job),), 30.0)
        (claim,) = await self.house.memory.ledger.claim_direct(claim_request, 1)
        return claim

    async def post(self, path: str, body: Any, token: str | None = TOKEN) -> Answer:
        return await ask(self.app, "POST", path, json.dumps(body).encode(), token)

    async def get(self, path: str, token: str | None = TOKEN) -> Answer:
        return await ask(self.app, "GET", path, b"", token)

    async def claim(self, worker: str = "w1", *jobs: str, **more: Any) -> list[dict[str, Any]]:
        answer = await self.post(CLAIMS, {"worker": worker, "jobs": jobs or ["resize"], **more})
        assert answer.status == 200, answer.body
        found: list[dict[str, Any]] = answer.body["claims"]
        return found

    async def report(self, run: dict[str, Any], verb: str, **more: Any) -> Answer:
        ticket = {"attempt": run["attempt"], "fence": run["fence"]}
        return await self.post(run_path(run["run_key"], verb), {**ticket, **more})


def application_of(serving: Serving, doorkeeper: Doorkeeper, hub: Hub | None = None) -> ASGIApp:
    """As `build_application`, on routes that are built once."""
    hub = hub or closed_hub(serving)
    with patch.object(application, "build_routes", partial(lend, application.build_routes)):
        return application.build_application(serving, doorkeeper, hub)


def run_path(run_key: str, verb: str) -> str:
    return f"/api/v1/runs/{quote(run_key, safe='')}/{verb}"


async def ask(
    app: ASGIApp,
    method: str,
    path: str,
    body: bytes = b"",
    token: str | None = TOKEN,
    gone: asyncio.Event | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request, whose client hangs up at the event."""
    answer, hung_up, parts = Answer(), gone or asyncio.Event(), [body]

    async def receive() -> Any:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        await hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            for name, value in message["headers"]:
                named, told = name.decode().lower(), value.decode()
                before = f"{answer.headers[named]}\n" if named in answer.headers else ""
                answer.headers[named] = before + told
        elif message["type"] == "http.response.body":
            answer.content += message["body"]

    shown = {**(headers or {}), **({} if token is None else {"authorization": f"Bearer {token}"})}
    await app(scope_of(method, path, shown), receive, send)
    return answer


def scope_of(method: str, path: str, headers: dict[str, str]) -> HTTPScope:
    raw, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "extensions": {},
        "state": {},
    }
    return cast(HTTPScope, scope)
