"""Runs over each real broker: sent, done by a processor, replied to and ended once; and messages that become
runs, each once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from fencepost.app import Fencepost
from fencepost.assembly import build_processors
from fencepost.clock import SystemClock
from fencepost.model.identifiers import JobName
from fencepost.model.message import Confirmed, Message
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.ports.run import Run
from fencepost.services.node import NodeRunner
from fencepost.stores.memory import MemoryStore
from fencepost.wiring import open_broker

RUNS = 40
PATIENCE_S = 90.0
LOOK_AGAIN_S = 0.05
BROKERS = [
    pytest.param("nats_server", marks=pytest.mark.nats, id="nats"),
    pytest.param("rabbitmq_server", marks=pytest.mark.rabbitmq, id="rabbitmq"),
    pytest.param("kafka_server", marks=pytest.mark.kafka, id="kafka"),
    pytest.param("redis_server", marks=pytest.mark.redis, id="redis"),
]


class Trip:
    """An application on one broker, with names of its own there, and all of its processes in this one."""

    def __init__(self, url: str, folder: Path) -> None:
        self.name = f"trip-{uuid4().hex[:10]}"
        self.store = MemoryStore(SystemClock(), 1)
        self.app = Fencepost(f"sqlite:///{folder}/store.db", broker=url, namespace=self.name, poll_s=0.2)
        self.app.stand_on(self, lambda: uuid4().hex)
        self.done: Counter[str] = Counter()

        @self.app.message_job("thumbs", destination=f"{self.name}.thumbs", reply="result")
        async def thumbs(run: Run, image: int) -> int:
            self.done[run.key] += 1
            return image * 2

        self.app.message_job("events", destination=f"{self.name}.events")

        @self.app.on_message(f"{self.name}.orders", name="handle", key="order")
        async def handle(run: Run, order: int) -> None:
            self.done[run.key] += 1

    async def open(self, settings: Any) -> MemoryStore:
        return self.store

    def read(self, question: Any) -> Any:
        raise NotImplementedError

    async def node(self) -> NodeRunner:
        return await self.app.node(plans=False)

    async def runs(self, job: str) -> list[RunRecord]:
        found = await self.store.ledger.list(
            self.app.settings.namespace, RunFilter(job=JobName(job), limit=500)
        )
        return list(found)

    async def all_ended(self, job: str, count: int) -> list[RunRecord]:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                runs = await self.runs(job)
                if len(runs) == count and all(one.finished_at is not None for one in runs):
                    return runs
                await asyncio.sleep(LOOK_AGAIN_S)


@pytest.fixture
async def trip(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trip]:
    made = Trip(request.getfixturevalue(request.param).url, tmp_path)
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(made.app.close)
        node = await made.node()
        processors = await build_processors(made.app.settings, made.app.jobs_here, [f"{made.name}.thumbs"])
        tasks = [asyncio.create_task(one.run(stop)) for one in (node, processors)]
        yield made
        stop.set()
        await asyncio.gather(*tasks)


@pytest.mark.parametrize("trip", BROKERS, indirect=True)
async def test_no_run_is_lost_or_done_twice_on_its_way(trip: Trip) -> None:
    """Up to 20 s where the broker has to be started first."""
    for number in range(RUNS):
        await trip.app.enqueue("thumbs", key=str(number), image=number)
        await trip.app.enqueue("events", key=str(number))
    runs = await trip.all_ended("thumbs", RUNS)
    assert {one.state for one in runs} == {RunState.SUCCEEDED}
    assert {one.attempt for one in runs} == {1}
    assert trip.done == {one.run_key: 1 for one in runs}
    (attempt,) = await trip.store.ledger.attempts(runs[0].namespace, runs[0].run_key)
    assert attempt.output == str(int(str(runs[0].payload["image"])) * 2)
    events = await trip.all_ended("events", RUNS)
    assert {one.state for one in events} == {RunState.SUCCEEDED}


@pytest.mark.parametrize("trip", BROKERS, indirect=True)
async def test_no_message_becomes_no_run_or_two(trip: Trip) -> None:
    """Up to 20 s where the broker has to be started first."""
    broker = await open_broker(trip.app.settings)
    source = f"{trip.name}.orders"
    messages = [Message(source, f"m-{n}", b'{"order": %d}' % (n // 2)) for n in range(2 * RUNS)]
    try:
        await broker.declare([source])
        answers = await broker.publish([*messages, Message(source, "bad", b"not JSON")])
    finally:
        await broker.close()
    assert set(answers) == {Confirmed()}
    runs = await trip.all_ended("handle", RUNS + 1)
    states = Counter(one.state for one in runs)
    assert states == {RunState.SUCCEEDED: RUNS, RunState.DEAD: 1}
    assert set(trip.done.values()) == {1}
    assert len(trip.done) == RUNS
