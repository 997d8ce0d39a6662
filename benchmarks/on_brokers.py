"""Message brokers: runs that are sent, beside a bare publisher of the same client library; round trips to a
processor; and messages that become runs, beside a bulk enqueue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Protocol

from benchmarks.contest import OURS, Contender, Ground, middle, module
from benchmarks.peers.measuring import Answer
from benchmarks.report import Figure, costs, heading
from tests.servers.nats import NatsServer
from tests.servers.rabbitmq import RabbitServer

RUNS, TRIPS, TRIES = 20_000, 200, 3
SHARE, TRIP_MS = 0.4, 15.0
INTAKE_PER_S = 3_000.0


class Server(Protocol):
    """A private broker."""

    @property
    def url(self) -> str: ...

    def close(self) -> None: ...


SERVERS: dict[str, Callable[[], Server]] = {"RabbitMQ": RabbitServer, "NATS": NatsServer}


def measure(ground: Ground) -> Iterator[Figure]:
    """Each broker by itself."""
    for name, start in SERVERS.items():
        with closing(start()) as server:
            yield from _on(ground, name, server.url)


def _on(ground: Ground, name: str, url: str) -> Iterator[Figure]:
    heading(f"{name}: {RUNS:,} messages, {TRIES} times in turns")
    ours = Contender(name, module("over_brokers"), url)
    taken: dict[str, list[Answer]] = {}
    for _ in range(TRIES):
        for step, answer in _round(ground, ours):
            taken.setdefault(step, []).append(answer)
    best = {step: middle(answers) for step, answers in taken.items()}
    deliver, bare = best["deliver"], best["bare"]["per_s"]
    yield Figure(
        f"{name}: sent, no reply",
        deliver["per_s"],
        "runs/s",
        {"bare publisher": bare},
        f"≥ {SHARE:.0%} of bare",
        deliver["per_s"] >= SHARE * bare,
        **costs(deliver),
    )
    trip, echo = best["trip"], best["echo"]
    yield Figure(
        f"{name}: round trip with a result, p50",
        trip["p50_ms"],
        "ms",
        {"message and answer alone": echo["p50_ms"]},
        f"< {TRIP_MS:g}",
        trip["p50_ms"] < TRIP_MS,
    )
    yield Figure(
        f"{name}: round trip with a result, p99",
        trip["p99_ms"],
        "ms",
        {"message and answer alone": echo["p99_ms"]},
    )
    intake, bulk = best["intake"], best["bulk"]["per_s"]
    yield Figure(
        f"{name}: messages taken in",
        intake["per_s"],
        "runs/s",
        {"bulk enqueue": bulk},
        f"≥ {INTAKE_PER_S:,.0f}/s or ≥ {SHARE:.0%} of bulk",
        intake["per_s"] >= min(INTAKE_PER_S, SHARE * bulk),
        **costs(intake),
    )


def _round(ground: Ground, ours: Contender) -> Iterator[tuple[str, Answer]]:
    with ground.database() as url:
        ours.take("install", ground.options(url))
        ours.take("fill", ground.options(url, count=RUNS))
        yield "deliver", ground.take(ours, "deliver", url, count=RUNS)
        yield "bare", ground.take(ours, "bare", url, count=RUNS)
        yield "trip", ground.take(ours, "trip", url, count=TRIPS)
        yield "echo", ground.take(ours, "echo", url, count=TRIPS)
    with ground.database() as url:
        ours.take("install", ground.options(url))
        ours.take("arrive", ground.options(url, count=RUNS))
        yield "intake", ground.take(ours, "intake", url, count=RUNS)
        yield "bulk", ground.take(OURS, "bulk", url, count=RUNS)
