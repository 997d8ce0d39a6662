"""Rounds of ours and a peer in turns, and what they come to."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.contest import OURS, Contender, Ground, middle
from benchmarks.on_postgres import idle_rates
from benchmarks.on_schedules import clone_schedules
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.measuring import Answer, Options
from benchmarks.report import heading
from tests.servers.redis import RedisServer

SINGLES, PICKUPS = 500, 100
BEFORE_DUE_S = 40
RATES = ("bulk", "single", "drain tuned", "drain defaults")
LESS_IS_BETTER = {
    "pick-up p50": "p50_ms",
    "pick-up p99": "p99_ms",
    "schedules p99": "p99_ms",
    "idle": "per_s",
}

Take = Callable[..., Answer]
Taken = dict[str, list[Answer]]


@dataclass(frozen=True)
class Line:
    """One workload: ours, the peer's, and how many times as good ours is."""

    peer: str
    workload: str
    unit: str
    ours: Answer
    theirs: Answer
    ratio: float
    goal: float | None = None
    note: str = ""

    @property
    def good(self) -> bool | None:
        return None if self.goal is None else self.ratio >= self.goal


def measure(ground: Ground, peer: Peer, them: Contender, tries: int) -> list[Line]:
    """Ours, the peer, ours, the peer …"""
    taken: dict[str, Taken] = {OURS.name: {}, them.name: {}}
    for number in range(tries):
        for contender in (OURS, them):
            heading(f"{peer.name}, turn {number + 1} of {tries}: {contender.name}")
            for workload, answer in _round(ground, peer, contender):
                taken[contender.name].setdefault(workload, []).append(answer)
    if peer.is_counted:
        for contender in (OURS, them):
            taken[contender.name]["idle"] = [_idle(ground, contender)]
    return lines(peer, taken[OURS.name], taken[them.name])


def lines(peer: Peer, ours: Taken, theirs: Taken) -> list[Line]:
    """The medians beside each other, of what both have."""
    return [_line(peer, name, middle(ours[name]), middle(theirs[name])) for name in ours if name in theirs]


def _line(peer: Peer, workload: str, ours: Answer, theirs: Answer) -> Line:
    if workload in RATES:
        ratio = ours["per_s"] / theirs["per_s"]
        return Line(peer.name, workload, "/s", ours, theirs, ratio, peer.goals.get(workload))
    value = LESS_IS_BETTER[workload]
    unit = "trans/s" if workload == "idle" else "ms"
    ratio = theirs[value] / ours[value] if ours[value] and theirs.get("ran", 1) else float("inf")
    missing = [text for text in (_missing("ours", ours), _missing(peer.name, theirs)) if text]
    return Line(peer.name, workload, unit, ours, theirs, ratio, note="; ".join(missing))


def _missing(name: str, answer: Answer) -> str:
    ran, expected = answer.get("ran", 0), answer.get("expected", 0)
    return "" if ran >= expected else f"{name} ran {ran:,.0f} of {expected:,.0f}"


def _round(ground: Ground, peer: Peer, contender: Contender) -> Iterator[tuple[str, Answer]]:
    with _place(ground, peer, contender) as take:
        take("install", tuned=True)
        yield "bulk", take("bulk", count=peer.runs, tuned=True)
        yield "drain tuned", take("drain", count=peer.runs, tuned=True)
        picked = take("pick_up", count=PICKUPS, tuned=True)
        yield "pick-up p50", picked
        yield "pick-up p99", picked
        yield "single", take("single", count=SINGLES, tuned=True)
    with _place(ground, peer, contender) as take:
        take("install")
        take("bulk", count=peer.runs)
        yield "drain defaults", take("drain", count=peer.runs)
    if peer.schedules:
        yield "schedules p99", _schedules(ground, peer, contender)


@contextmanager
def _place(ground: Ground, peer: Peer, contender: Contender) -> Iterator[Take]:
    """A fresh database, file or Redis, and how a step is taken there. Ours uses PostgreSQL beside Redis."""
    if peer.store == "redis" and contender is not OURS:
        with closing(RedisServer()) as server:
            yield lambda step, **more: contender.take(step, Options(server.url, server.pid, **more))
        return
    if peer.store == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield lambda step, **more: contender.take(step, Options(f"sqlite:///{folder}/jobs.db", **more))
        return
    with ground.database() as url:
        yield lambda step, **more: ground.take(contender, step, url, **more)


def _schedules(ground: Ground, peer: Peer, contender: Contender) -> Answer:
    if contender is not OURS:
        with _place(ground, peer, contender) as take:
            take("install", tuned=True)
            return take("schedules", count=peer.schedules, due_at=float(_due_at(peer)), tuned=True)
    with ground.database() as url:
        OURS.take("install", ground.options(url, tuned=True))
        due_at = _due_at(peer)
        asyncio.run(clone_schedules(url, peer.schedules, datetime.fromtimestamp(due_at, UTC)))
        return ground.take(OURS, "schedules", url, count=peer.schedules, due_at=float(due_at), tuned=True)


def _due_at(peer: Peer) -> int:
    """Late enough that all schedules are there before it."""
    return -(-(int(time.time()) + BEFORE_DUE_S) // peer.due_every_s) * peer.due_every_s


def _idle(ground: Ground, contender: Contender) -> Answer:
    heading(f"{contender.name}: idle")
    with ground.database() as url:
        contender.take("install", ground.options(url))
        transactions, statements = idle_rates(ground, contender, url, "idle")
    return {"per_s": transactions, "statements": statements}
