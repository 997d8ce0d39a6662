"""A hub on a store in memory that counts what it is asked, and listeners who write down what they hear."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

from fencepost.model.access import Came, Principal, Role
from fencepost.model.claiming import ClaimRequest
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Namespace, NodeId, job_key
from fencepost.model.run import Claim, NewRun, Outcome, RunState
from fencepost.model.views import News
from fencepost.ports.ledger import Ledger
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.web.live.hub import Hub, Pace
from fencepost.web.live.listener import Listener

NS, OTHER = Namespace("default"), Namespace("tenant")
JOB = JobName("report")


def principal(credential_id: str = "t1", namespace: Namespace = NS) -> Principal:
    return Principal("anna", Role.VIEWER, namespace, Came.TOKEN, credential_id)


class CountingLedger:
    """The ledger, with every call counted; `hidden` are runs whose commit nobody has seen yet."""

    def __init__(self, inner: Ledger) -> None:
        self._inner = inner
        self.calls: Counter[str] = Counter()
        self.hidden: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self._inner, name)

    async def news(self, since: StoreTime, limit: int, namespaces: Sequence[Namespace]) -> News:
        self.calls["news"] += 1
        news = await self._inner.news(since, limit, namespaces)
        seen = tuple(one for one in news.runs if one.run_key not in self.hidden)
        return News(news.at, seen, news.cut, news.standings, news.leases_at)


class Theatre:
    """One hub and its store, moved by hand."""

    def __init__(self, **pace: Any) -> None:
        self.clock = VirtualClock()
        self.store = MemoryStore(self.clock)
        self.ledger = CountingLedger(self.store.ledger)
        self.store.ledger = cast("Any", self.ledger)
        self.revoked: set[str] = set()
        self.checks: Counter[str] = Counter()
        self.questions = 0
        self.hub = Hub(self.store, self._still_good, self.clock, Pace(**pace), lambda: 0.0)

    async def _still_good(self, asked: Sequence[Principal]) -> set[str]:
        self.questions += 1
        self.checks.update(one.credential_id for one in asked)
        return {one.credential_id for one in asked} - self.revoked

    async def look(self, after_s: float = 1.0) -> float:
        """Let some time pass, and have the hub look."""
        self.clock.advance(after_s)
        return await self.hub.run_once()

    async def begin(self, key: str, namespace: Namespace = NS) -> Claim:
        """A run by hand that somebody starts."""
        new = NewRun(job_key(JOB, key), JOB, {}, DEFAULT_QUEUE, 3)
        await self.store.ledger.enqueue(namespace, [new])
        claim_request = ClaimRequest(NodeId("w-1"), (DEFAULT_QUEUE,), (JOB,), 30.0, namespace)
        (claim,) = await self.store.ledger.claim_direct(claim_request, 1)
        return claim

    async def end(self, claim: Claim, state: RunState = RunState.SUCCEEDED, **more: Any) -> None:
        await self.store.ledger.finish([Outcome(claim.ticket, state, **more)])


async def heard(listener: Listener) -> list[tuple[str, Any]]:
    """What waits for a listener, as (event, data)."""
    taken = await listener.take(0)
    return parsed(taken or b"")


def parsed(text: bytes) -> list[tuple[str, Any]]:
    """The events of a piece of a stream."""
    found = []
    for block in text.decode().split("\n\n"):
        lines = dict(line.partition(": ")[::2] for line in block.splitlines())
        if "event" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def runs_in(told: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    """The runs that were told, as (key, state)."""
    return [(run["run_key"], run["state"]) for name, data in told if name == "runs" for run in data["runs"]]
