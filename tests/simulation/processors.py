"""Processors of a world: ours, and one in another language that reads the contract and is not careful.

Both die, stall and come late. The other one answers twice, or long after; now and then it acknowledges an
order before it has done it, and then dies.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from typing import Any

from fencepost.config import Settings
from fencepost.core.messages import PREFIX, PROCESSORS
from fencepost.errors import BrokerUnavailable, PermanentFailure
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.message import Confirmed, Delivery, Message
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from fencepost.services.broker_link import BrokerLink
from fencepost.services.processor import Processor
from tests.simulation.broker import FarBroker, SimulatedBroker
from tests.simulation.loop import Life, context_of, the_loop
from tests.simulation.network import Line
from tests.simulation.recording import Recorder

AT_ONCE = 3
WAIT_S = 5.0
REPLIES_MAX = 20
FAILS_SHARE = 0.1
HOPELESS_SHARE = 0.1
TWICE_SHARE = 0.15
LATE_SHARE = 0.1
CARELESS_SHARE = 0.03


class Handling:
    """What an order comes to: it takes its time, does something outside, and may fail."""

    stoppable = True

    def __init__(self, dice: random.Random, recorder: Recorder, longest_s: float) -> None:
        self.dice = dice
        self._recorder = recorder
        self._longest_s = longest_s

    def check(self, payload: JsonObject) -> None:
        return None

    async def execute(self, run: Run) -> str | None:
        if not await self.handle(run.key, run.attempt, run.fence):
            if self.dice.random() < HOPELESS_SHARE:
                raise PermanentFailure("hopeless")
            raise RuntimeError("bad luck")
        return "done"

    async def handle(self, key: str, attempt: int, fence: int) -> bool:
        """Whether it went well; a failure may have had its effect, too."""
        await asyncio.sleep(self.dice.random() ** 4 * self._longest_s)
        fails = self.dice.random() < FAILS_SHARE
        if not fails or self.dice.random() < 0.5:
            self._recorder.saw_handled(key, attempt, fence)
        await asyncio.sleep(self.dice.random() * 0.1)
        return not fails


class ProcessorHost:
    """One machine with a processor on it, which may be killed and frozen like any process of a world."""

    def __init__(
        self,
        number: int,
        job: JobName,
        broker: SimulatedBroker,
        line: Line,
        settings: Settings,
        handling: Handling,
        failures: list[BaseException],
        *,
        is_foreign: bool,
    ) -> None:
        self._number = number
        self._job = job
        self._broker = broker
        self.line = line
        self._settings = settings
        self._handling = handling
        self._failures = failures
        self._is_foreign = is_foreign
        self.lives = 0
        self._life = Life("unborn")
        self._task: asyncio.Task[None] | None = None
        self._dead: list[Life] = []

    @property
    def name(self) -> str:
        return f"processor-{self._number}-{self.lives}"

    def start(self) -> None:
        if self._task is None:
            self.lives += 1
            self._life = Life(self.name)
            self._task = the_loop().create_task(self._live(), context=context_of(self._life))

    def kill(self) -> None:
        if self._task is not None:
            self.freeze()
            self._life.dead = True
            self._dead.append(self._life)
            self._task = None

    def freeze(self) -> None:
        the_loop().freeze(self._life)

    def thaw(self) -> None:
        if self._task is not None:
            the_loop().thaw(self._life)

    def unfreeze_the_dead(self) -> None:
        for life in [*self._dead, self._life]:
            the_loop().thaw(life)

    async def _live(self) -> None:
        far = FarBroker(self._broker, self.line)
        try:
            if self._is_foreign:
                await Foreign(far, self._job, self._handling).run()
            else:
                await self._processor(far).run()
        except Exception as failure:
            self._failures.append(failure)

    def _processor(self, far: FarBroker) -> Processor:
        async def opened() -> FarBroker:
            return far

        link = BrokerLink(opened, [self._job])
        jobs = {self._job: Job(JobSpec(self._job), self._handling)}
        return Processor(self._job, jobs, link, self._settings, self.name)


class Foreign:
    """See the module. It knows headers and JSON, and nothing of ours."""

    def __init__(self, far: FarBroker, source: str, handling: Handling) -> None:
        self._far = far
        self._source = source
        self._handling = handling
        self._dice = handling.dice
        self._tasks: set[asyncio.Task[None]] = set()
        self._number = 0

    async def run(self) -> None:
        while True:
            try:
                await self._take()
            except BrokerUnavailable:
                await asyncio.sleep(1.0)

    async def _take(self) -> None:
        subscription = await self._far.subscribe(self._source, PROCESSORS, AT_ONCE)
        while True:
            for one in await subscription.receive(AT_ONCE, WAIT_S):
                task = asyncio.create_task(self._do(subscription, one))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _do(self, subscription: Any, delivery: Delivery) -> None:
        try:
            if self._dice.random() < CARELESS_SHARE:
                await subscription.acknowledge([delivery])
                return
            await self._handle(delivery)
            await subscription.acknowledge([delivery])
        except BrokerUnavailable:
            return

    async def _handle(self, delivery: Delivery) -> None:
        said = delivery.headers
        key, attempt, fence = (
            said[f"{PREFIX}run-key"],
            int(said[f"{PREFIX}attempt"]),
            int(said[f"{PREFIX}fence"]),
        )
        told: dict[str, Any] = {"run_key": key, "attempt": attempt, "fence": fence}
        await self._say(said, {**told, "outcome": "started"}, 1)
        went_well = await self._handling.handle(key, attempt, fence)
        if self._dice.random() < LATE_SHARE:
            await asyncio.sleep(self._dice.random() * 10 * WAIT_S)
        outcome = {"outcome": "succeeded"} if went_well else {"outcome": "failed", "error": "bad luck"}
        for _ in range(2 if self._dice.random() < TWICE_SHARE else 1):
            await self._say(said, {**told, **outcome}, REPLIES_MAX)

    async def _say(self, order: Mapping[str, str], reply: Mapping[str, Any], times: int) -> None:
        self._number += 1
        identity = f"{reply['run_key']}/{reply['fence']}/{self._number}"
        message = Message(order[f"{PREFIX}reply-to"], identity, json.dumps(reply).encode())
        for _ in range(times):
            (answer,) = await self._far.publish([message])
            if isinstance(answer, Confirmed):
                return
            await asyncio.sleep(1.0)
