"""Deliverers and processors over one real broker, and what happens to them."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from fencepost.clock import SystemClock
from fencepost.config import settings_from
from fencepost.errors import BrokerUnavailable
from fencepost.model.identifiers import DEFAULT_QUEUE, JobName, Namespace, job_key
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.message import Confirmed, Message
from fencepost.model.run import NewRun
from fencepost.ports.broker import Broker, Subscription
from fencepost.stores.sqlite import open_store
from fencepost.wiring import open_broker
from tests.chaos.broker_app import CREATE_SINK, SINK, SINK_TIMEOUT_MS
from tests.chaos.fleet import Member, eventually
from tests.servers.process import Server
from tests.servers.proxy import Proxy

TARGET = "tests.chaos.broker_app:app"
BATCH = 100
STALL_S = (0.5, 8.0)
CUT_S = (0.5, 5.0)
DOWN_S = (0.0, 2.0)
AGAIN_S = 0.2
HEARD_S = 30.0
ENDS = (
    "CREATE TABLE drill_ends (run_key TEXT NOT NULL)",
    """
    CREATE TRIGGER drill_end AFTER UPDATE ON runs WHEN OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL
    BEGIN INSERT INTO drill_ends VALUES (NEW.run_key); END
    """,
    """
    CREATE TRIGGER drill_end_again AFTER UPDATE ON runs
    WHEN OLD.finished_at IS NOT NULL AND OLD.state <> NEW.state
    BEGIN INSERT INTO drill_ends VALUES (NEW.run_key); END
    """,
)


@dataclass
class Totals:
    """What a drill came to."""

    runs: int = 0
    succeeded: int = 0
    ended_more_than_once: int = 0
    told: int = 0
    """Runs without a reply whose message the broker has handed on."""
    applied: int = 0
    applied_by_another_fence: int = 0
    refused_by_the_sink: int = 0
    attempts: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        faults = ", ".join(f"{name} {count}" for name, count in sorted(self.faults.items()))
        return (
            f"{self.runs} runs, {self.succeeded} succeeded, {self.ended_more_than_once} ended more than "
            f"once, {self.attempts} attempts; {self.told} told; {self.applied} effects applied, "
            f"{self.applied_by_another_fence} of another attempt, "
            f"{self.refused_by_the_sink} refused by the sink; faults: {faults}"
        )


class BrokerFleet:
    """Its ledger is a file; its processes reach the broker by a proxy."""

    def __init__(self, folder: Path, server: Server, name: str, seed: int) -> None:
        self.server = server
        self.totals = Totals()
        self.members: list[Member] = []
        self._folder = folder
        self._name = name
        self._store = f"sqlite:///{folder / 'ledger.db'}"
        self._dice = random.Random(seed)
        port, self._proxy_port = server.by_proxy
        self._proxy = Proxy("127.0.0.1", port)
        self._roles: dict[str, list[Member]] = {"worker": [], "processor": []}
        self._environment: dict[str, str] = {}
        self._told: set[str] = set()
        self._listening: asyncio.Task[None] | None = None
        self._paused: set[Member] = set()

    async def open(self, workers: int, processors: int, **environment: str) -> None:
        self._environment = environment
        await (await open_store(self._store, clock=SystemClock())).close()
        for path, statements in (("ledger.db", ENDS), (SINK, CREATE_SINK)):
            with closing(self._opened(path)) as database:
                for one in statements:
                    database.execute(one)
        await self._proxy.start(self._proxy_port)
        self._listening = asyncio.create_task(self._listen(f"{self._name}.told"))
        for role, count in (("worker", workers), ("processor", processors)):
            for _ in range(count):
                self._start(role)

    async def close(self) -> None:
        for member in self.members:
            member.discard()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._proxy.close()

    @property
    def url(self) -> str:
        """As the processes have it."""
        led, changed = re.subn(r"(127\.0\.0\.1):\d+", rf"\1:{self._proxy.port}", self.server.url)
        assert changed == 1, self.server.url
        return led

    async def enqueue(self, numbers: range) -> None:
        """For each number a run of both jobs, and a message for the intake; every second message twice."""
        broker = await open_broker(settings_from({}, overrides={"broker": self.server.url}))
        try:
            for first in range(0, len(numbers), BATCH):
                some = numbers[first : first + BATCH]
                await self._send(some, "done", "told")
                await self._arrive(broker, some)
        finally:
            await broker.close()
        self.totals.runs += len(numbers)

    async def _send(self, numbers: Sequence[int], *names: str) -> None:
        """A run of each of these jobs for each number."""
        runs = [
            NewRun(
                job_key(JobName(name), str(number)),
                JobName(name),
                {"number": number},
                DEFAULT_QUEUE,
                PRIORITY_DEFAULT,
            )
            for name in names
            for number in numbers
        ]
        store = await open_store(self._store, clock=SystemClock())
        await store.ledger.enqueue(Namespace(self._name), runs)
        await store.close()
        self.totals.runs += len(runs)

    async def _listen(self, destination: str) -> None:
        """One who gets what is told without a reply, as often as the broker is there."""
        while True:
            broker = await open_broker(settings_from({}, overrides={"broker": self.server.url}))
            try:
                with suppress(BrokerUnavailable):
                    await broker.declare([destination])
                    await self._hear(await broker.subscribe(destination, "drill", BATCH))
            finally:
                with suppress(BrokerUnavailable):
                    await broker.close()
            await asyncio.sleep(AGAIN_S)

    async def _hear(self, subscription: Subscription) -> None:
        while True:
            deliveries = await subscription.receive(BATCH, AGAIN_S)
            self._told |= {one.id for one in deliveries}
            await subscription.acknowledge(deliveries)

    async def _arrive(self, broker: Broker, numbers: Sequence[int]) -> None:
        """Until each is confirmed; every second one is sent twice."""
        source = f"{self._name}.orders"
        left = [Message(source, f"m-{one}", b'{"number": %d}' % one) for one in numbers]
        left += left[::2]
        while left:
            with suppress(BrokerUnavailable):
                await broker.declare([source])
                answers = await broker.publish(left)
                left = [
                    one for one, said in zip(left, answers, strict=True) if not isinstance(said, Confirmed)
                ]
            await asyncio.sleep(AGAIN_S if left else 0)

    async def suffer(self, *kinds: str) -> None:
        """One thing after the other."""
        acts: dict[str, Callable[[], Awaitable[None]]] = {
            "worker killed": lambda: self._kill("worker"),
            "processor killed": lambda: self._kill("processor"),
            "worker stalled": lambda: self._stall("worker"),
            "processor stalled": lambda: self._stall("processor"),
            "broker killed": self._restart,
            "partition": self._cut,
        }
        for kind in kinds:
            await acts[kind]()
            self.totals.faults[kind] += 1

    async def kill_before_the_confirm(self, numbers: range) -> None:
        """A worker that has published runs and does not hear that the broker has them."""
        await self._publish_unheard(numbers)
        await self._replace(self._roles["worker"].pop())

    async def kill_before_the_ledger(self, numbers: range) -> None:
        """A worker that has heard it, and cannot write it down."""
        (worker,) = self._roles["worker"]
        before = len(worker.told("published"))
        await self._publish_unheard(numbers)
        with closing(self._opened("ledger.db")) as rival:
            rival.execute("BEGIN IMMEDIATE")
            self._proxy.heal()
            await _until(lambda: len(worker.told("published")) > before, "a batch is confirmed", self.logs)
            await self._replace(self._roles["worker"].pop())

    async def _publish_unheard(self, numbers: range) -> None:
        known = len(self._told)
        self._proxy.cut_answers()
        await self._send(numbers, "told")
        await _until(lambda: len(self._told) > known, "the broker has a message", self.logs)

    async def _replace(self, worker: Member) -> None:
        assert worker.alive, worker.log[-4_000:]
        worker.kill()
        self._proxy.reset()
        self._proxy.heal()
        self._start("worker")

    async def all_told(self) -> bool:
        """Whether the broker has handed on what the ledger takes for sent."""
        sent = await asyncio.to_thread(
            self._read, "ledger.db", "SELECT run_key FROM runs WHERE job = 'told' AND state = 'succeeded'"
        )
        return {one[0] for one in sent} <= self._told

    async def all_ended(self) -> bool:
        return await asyncio.to_thread(self._ended) == self.totals.runs

    def count(self) -> Totals:
        """What the ledger and the sink have."""
        totals = self.totals
        runs = self._read("ledger.db", "SELECT run_key, state, fence, attempt FROM runs")
        totals.succeeded = sum(one[1] == "succeeded" for one in runs)
        totals.attempts = sum(one[3] for one in runs)
        ends = Counter(one[0] for one in self._read("ledger.db", "SELECT run_key FROM drill_ends"))
        totals.ended_more_than_once = sum(number > 1 for number in ends.values())
        effects = dict(self._read(SINK, "SELECT run_key, fence FROM effects"))
        fences = {one[0]: one[2] for one in runs if one[0].startswith("done#")}
        totals.told = len(self._told)
        totals.applied = len(effects)
        totals.applied_by_another_fence = sum(effects.get(key) != fence for key, fence in fences.items())
        totals.refused_by_the_sink = self._read(SINK, "SELECT count(*) FROM refused")[0][0]
        return totals

    def logs(self) -> str:
        rows = self._read("ledger.db", "SELECT job, state, count(*) FROM runs GROUP BY 1, 2")
        return f"{rows}\n" + "".join(f"--- {one.name}\n{one.log[-2_000:]}\n" for one in self.members[-4:])

    def _ended(self) -> int:
        found = self._read("ledger.db", "SELECT count(*) FROM runs WHERE finished_at IS NOT NULL")
        return int(found[0][0])

    def _read(self, path: str, sql: str) -> list[Any]:
        with closing(self._opened(path)) as database:
            return list(database.execute(sql))

    def _opened(self, path: str) -> apsw.Connection:
        database = apsw.Connection(os.fspath(self._folder / path))
        database.set_busy_timeout(SINK_TIMEOUT_MS)
        return database

    def _start(self, role: str) -> None:
        environment = {
            "FENCEPOST_BROKER": self.url,
            "DRILL_NAME": self._name,
            "DRILL_FOLDER": os.fspath(self._folder),
            **self._environment,
        }
        member = Member(role, len(self.members), self._store, self._folder, TARGET, **environment)
        self.members.append(member)
        self._roles[role].append(member)

    async def _kill(self, role: str) -> None:
        member = self._roles[role].pop(self._dice.randrange(len(self._roles[role])))
        assert member.alive, member.log[-4_000:]
        member.send(signal.SIGKILL)
        await asyncio.to_thread(member.ended)
        self._start(role)

    async def _stall(self, role: str) -> None:
        member = self._dice.choice(self._roles[role])
        member.freeze()
        try:
            await asyncio.sleep(self._dice.uniform(*STALL_S))
        finally:
            member.thaw()

    async def _restart(self) -> None:
        await asyncio.to_thread(self.server.kill)
        await asyncio.sleep(self._dice.uniform(*DOWN_S))
        await asyncio.to_thread(self.server.start)

    async def _cut(self) -> None:
        self._proxy.cut()
        await asyncio.sleep(self._dice.uniform(*CUT_S))
        self._proxy.reset()
        self._proxy.heal()


async def _until(holds: Callable[[], bool], what: str, evidence: Callable[[], str]) -> None:
    async def now() -> bool:
        return holds()

    await eventually(now, what, HEARD_S, evidence)
