"""Live streams of a real web server: what they cost the database and the server, and how soon they hear.

Statements are counted by PostgreSQL itself, of every kind, what the server asks without anybody listening
included. One run is under way meanwhile, because a quiet house is looked at less often. A change is timed
from before the request that makes it until the last of the streams has heard.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import noop
from benchmarks.report import Figure, heading, median, percentile
from benchmarks.timing import Stopwatch, until
from tests.cli.calls import called
from tests.web.live.connection_limit import Ear, Statistics, Stream, connection_limit, ears_of, statistics
from tests.web.serving import Server

STREAMS, TOKENS = 200, 10
SPAN_S, SETTLED_S = 15.0, 5.0
PATIENT = {"FENCEPOST_HEARTBEAT_EVERY_S": "60", "FENCEPOST_HEARTBEAT_TIMEOUT_S": "600"}
CHANGES_PER_S = 50
TRIES, TRIES_BUSY, APART_S = 20, 20, 1.5
PATIENCE_S = 60.0
BESIDE_MAX = 2.0
"""A look a second, and what asks now and then whether everybody may stay."""
HEARD_MS_MAX = 2_000.0
SCHEDULE = "hourly"
HOME = "default"


@dataclass
class Hearing:
    """Who has heard of the change that is under way."""

    deaf: set[Stream] = field(default_factory=set)

    def told(self, stream: Stream, name: str) -> None:
        if name == "schedules":
            self.deaf.discard(stream)


@dataclass(frozen=True)
class Bench:
    """A server process, and the count of what it asks."""

    server: Server
    pid: int
    asked: Statistics
    ears: list[Ear]

    async def spent(self) -> tuple[float, float]:
        """Statements a second, and the share of a core that the server took."""
        watch, before_s = Stopwatch(), self._processor_s()
        statements = await self.asked.during(SPAN_S)
        return statements.per_s, (self._processor_s() - before_s) / watch.seconds * 100

    async def changes(self, streams: list[Stream], hearing: Hearing, tries: int) -> list[float]:
        """How many milliseconds each change took to reach the last stream."""
        spans = []
        for number in range(tries):
            await asyncio.sleep(APART_S)
            hearing.deaf = set(streams)
            watch = Stopwatch()
            path = f"/api/v1/schedules/{SCHEDULE}/{('pause', 'resume')[number % 2]}"
            answer = await asyncio.to_thread(self.server.ask, "POST", path, {})
            assert answer.status == 200, answer.body
            await until(lambda: not hearing.deaf, PATIENCE_S)
            spans.append(watch.seconds * 1000)
        return spans

    async def begin(self) -> dict[str, Any]:
        """Something that runs, so that the server looks every second."""
        await asyncio.to_thread(self.server.enqueue, "busy")
        (claim,) = await asyncio.to_thread(self.server.claim, "somebody")
        return claim

    async def end(self, claim: dict[str, Any]) -> None:
        """Nothing runs any more."""
        answer = await asyncio.to_thread(self.server.report, claim, "complete")
        assert answer.status == 200, answer.body

    def _processor_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(server_url: str, url: str) -> list[Figure]:
    """All figures, on a database of their own; its server was started with pg_stat_statements."""
    heading(f"live streams, {SPAN_S:g} s each of nobody, one and {STREAMS}")
    async with _bench(server_url, url) as bench:
        await bench.asked.during(SETTLED_S)
        running = await bench.begin()
        nobody, _ = await bench.spent()
        async with connection_limit(bench.server.port, bench.ears[:1]):
            one, _ = await bench.spent()
        hearing = Hearing()
        async with connection_limit(bench.server.port, bench.ears, hearing.told) as streams:
            many, idle = await bench.spent()
            await bench.end(running)
            heading(f"{TRIES} changes, each to {STREAMS} streams")
            quiet = await bench.changes(streams, hearing, TRIES)
            heading(f"{TRIES_BUSY} more amid {CHANGES_PER_S} runs a second")
            async with _runs(url):
                amid, busy = await bench.spent()
                loud = await bench.changes(streams, hearing, TRIES_BUSY)
            assert not any(stream.is_over for stream in streams)
    goal = f"≤ nobody + {BESIDE_MAX:g}"
    return [
        Figure("web, nobody listens", nobody, "stmt/s"),
        Figure("web, 1 stream", one, "stmt/s"),
        Figure(f"web, {STREAMS} streams", many, "stmt/s", goal=goal, good=many <= nobody + BESIDE_MAX),
        Figure(f"web's processor, {STREAMS} streams", idle, "%"),
        *_heard(f"a change reaches all {STREAMS}", quiet),
        Figure(f"amid {CHANGES_PER_S} runs a second, all statements", amid, "stmt/s"),
        Figure(f"web's processor, {STREAMS} streams amid that", busy, "%"),
        *_heard(f"a change reaches all {STREAMS} amid that", loud),
    ]


def _heard(name: str, spans: list[float]) -> list[Figure]:
    p95, goal = percentile(spans, 0.95), f"< {HEARD_MS_MAX:,.0f}"
    return [
        Figure(f"{name}, p50", median(spans), "ms"),
        Figure(f"{name}, p95", p95, "ms", goal=goal, good=p95 < HEARD_MS_MAX),
    ]


@asynccontextmanager
async def _bench(server_url: str, url: str) -> AsyncIterator[Bench]:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(url)
        with server.process(Path(folder), **PATIENT) as process:
            ears = await asyncio.to_thread(lambda: list(_ears(url)))
            payload = ("--payload", '{"to": 1}')
            added = (
                "schedules",
                "add",
                SCHEDULE,
                "--job",
                "count",
                "--every",
                "1h",
                *payload,
                "--store",
                url,
            )
            await asyncio.to_thread(called, *added)
            async with statistics(server_url, url) as asked:
                yield Bench(server, process.pid, asked, ears_of(ears, STREAMS // TOKENS))


def _ears(url: str) -> Iterator[Ear]:
    for number in range(TOKENS):
        made = called("token", "create", f"reader-{number}", "--role", "viewer", "--store", url)
        yield Ear(made.strip(), HOME)


@asynccontextmanager
async def _runs(url: str) -> AsyncIterator[None]:
    """Runs that begin and end, so many a second, by a worker of this process."""

    async def enqueue() -> None:
        while True:
            await app.enqueue_many("noop", [{}] * (CHANGES_PER_S // 10))
            await asyncio.sleep(0.1)

    async with noop.make(url) as app, app.running(plans=False):
        enqueuing = asyncio.create_task(enqueue())
        try:
            yield
        finally:
            enqueuing.cancel()
            with suppress(asyncio.CancelledError):
                await enqueuing
