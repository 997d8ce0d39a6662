"""A second processor joins the group while the first is in the middle of its runs, on a real Kafka."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fencepost import Fencepost, Retry, Run
from fencepost.assembly import build_processors
from fencepost.errors import StaleFence
from fencepost.model.run import RunState
from tests.executors.test_process_jobs import until_ended
from tests.servers.kafka import KafkaAddress

pytestmark = [pytest.mark.kafka, pytest.mark.proof, pytest.mark.timeout(300)]

PATIENCE_S = 90.0
HELD, LATER = 24, 12
"""So many runs that each of the six partitions has some."""
CALM = {"heartbeat_every_s": 100.0, "heartbeat_timeout_s": 300.0, "concurrency": HELD + LATER}
"""No heartbeat is due while the test runs, so a processor whose run went to another one is not told."""


class Sink:
    """Another system. It keeps the largest fence of each run and refuses what is not larger."""

    def __init__(self) -> None:
        self.effects: dict[str, list[int]] = defaultdict(list)
        self.refused: list[tuple[str, int]] = []

    def write(self, run: Run) -> None:
        if self.effects[run.key] and run.fence <= self.effects[run.key][-1]:
            self.refused.append((run.key, run.fence))
            raise StaleFence(f"run {run.key}: fence {run.fence} is not larger")
        self.effects[run.key].append(run.fence)


class Hands:
    """One processor's function. The first attempts stall in it, or fail."""

    def __init__(self, sink: Sink, stall: asyncio.Event | None = None) -> None:
        self._sink = sink
        self._stall = stall
        self.begun: dict[tuple[str, int], int] = {}
        """The fence of each attempt."""
        self.ended = 0

    async def work(self, run: Run) -> None:
        self.begun[run.key, run.attempt] = run.fence
        try:
            if run.attempt == 1 and self._stall is None:
                raise LookupError("not at the first attempt")
            if self._stall is not None:
                await self._stall.wait()
            self._sink.write(run)
        finally:
            self.ended += 1


def application(store: str, hands: Hands, settings: dict[str, Any]) -> Fencepost:
    app = Fencepost(store, **settings)
    retry = Retry(3, base="10ms", cap="10ms", budget=None)

    @app.message_job("work", destination=settings["namespace"], reply="result", retry=retry)
    async def work(run: Run) -> None:
        await hands.work(run)

    return app


async def until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not look():  # noqa: ASYNC110 - neither hands nor sink send a signal
            await asyncio.sleep(0.02)


@asynccontextmanager
async def processor(app: Fencepost, destination: str) -> AsyncIterator[None]:
    """A processor as `fencepost processor` makes it."""
    stop = asyncio.Event()
    processors = await build_processors(app.settings, app.jobs_here, [destination])
    task = asyncio.create_task(processors.run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


async def test_no_run_ends_twice_or_has_two_effects_where_a_processor_joins_in_mid_run(
    kafka_server: KafkaAddress, tmp_path: Path
) -> None:
    """Takes 10 to 20 s besides the server: a member hears of another one by its heartbeats, 3 s apart."""
    destination = f"work-{uuid4().hex[:8]}"
    sink, stall = Sink(), asyncio.Event()
    first, second = Hands(sink, stall), Hands(sink)
    settings: dict[str, Any] = {"broker": kafka_server.url, "namespace": destination, **CALM}
    apps = [application(f"sqlite:///{tmp_path / 'ledger.db'}", hands, settings) for hands in (first, second)]
    async with apps[0] as app, app.running(plans=False), processor(app, destination):
        keys: list[str] = [await app.enqueue("work", key=str(number)) for number in range(HELD)]
        await until(lambda: len(first.begun) == HELD)
        async with processor(apps[1], destination):
            await until(lambda: any(len(fences) == 1 for fences in sink.effects.values()))
            taken_over = {key: fences[0] for key, fences in sink.effects.items()}
            keys += [await app.enqueue("work", key=str(HELD + number)) for number in range(LATER)]
            stall.set()
            runs = {key: (await until_ended(app, key))[0] for key in keys}
            await until(lambda: first.ended == len(first.begun))
    assert {run.state for run in runs.values()} == {RunState.SUCCEEDED}
    for key, run in runs.items():
        assert sink.effects[key].count(run.fence) == 1, key
        assert sink.effects[key][-1] == run.fence, key
    assert taken_over
    for key, fence in taken_over.items():
        assert (runs[key].attempt, runs[key].fence) == (2, fence)
        assert second.begun[key, 1] == first.begun[key, 1] < fence, "the same attempt was begun by both"
        assert sink.effects[key] == [fence], "what the stalled copy did came too late"
        assert (key, first.begun[key, 1]) in sink.refused
