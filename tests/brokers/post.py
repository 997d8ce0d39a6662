"""A store and a broker in memory, and the services between them, driven pass by pass."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from fencepost.app.message import message_route
from fencepost.config import Settings, settings_from
from fencepost.core.messages import reply_destination
from fencepost.executors.callable import CallableExecutor
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, NodeId, Queue, RunKey, job_key
from fencepost.model.job import JobSpec, Retry
from fencepost.model.message import Message
from fencepost.model.node import BrokerReport, Node, NodeReport
from fencepost.model.run import NewRun, RunRecord, RunState
from fencepost.ports.executor import Job
from fencepost.services.broker_link import BrokerLink
from fencepost.services.deliverer import Deliverer
from fencepost.services.processor import Processor
from fencepost.services.replies import Replies
from fencepost.services.trail import Trail
from fencepost.stores.memory import MemoryStore
from fencepost.testing.broker import MemoryBroker
from fencepost.testing.clock import VirtualClock
from tests.services.faults import FaultyStore

NS = DEFAULT_NAMESPACE
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
THUMBS = JobName("thumbs")
PATIENCE_S = 10.0
RETRY = Retry(3, base="1s", cap="1s")


class Post:
    """One message job, `thumbs`, and whoever sends and does its runs."""

    def __init__(self, reply: str = "result", settings: dict[str, Any] | None = None, **spec: Any) -> None:
        self.clock = VirtualClock(START)
        self.memory = MemoryStore(self.clock, 1)
        self.store = FaultyStore(self.memory)
        self.broker = MemoryBroker()
        self.settings: Settings = settings_from({}, overrides={"poll_s": 1.0, **(settings or {})})
        route = message_route(THUMBS, reply=reply, **spec.pop("route", {}))
        retry = spec.pop("retry", RETRY)
        self.spec = JobSpec(THUMBS, retry=retry, open_payload=True, message=route, **spec)
        self.trail = Trail(self.store)
        self.deliverer = self.new_deliverer("node-1")
        self.replies = self.new_replies()

    def link(self) -> BrokerLink:
        async def opened() -> MemoryBroker:
            return self.broker

        return BrokerLink(opened, [THUMBS, reply_destination(NS)])

    def new_deliverer(self, node: str) -> Deliverer:
        return Deliverer(
            self.store, {THUMBS: self.spec}, self.link(), self.settings, NodeId(node), lambda: 0.5, self.trail
        )

    def new_replies(self) -> Replies:
        return Replies(self.store, self.link(), self.settings, lambda: 0.5, self.trail)

    def processor(self, function: Callable[..., Any], **settings: Any) -> Processor:
        jobs = {THUMBS: Job(JobSpec(THUMBS), CallableExecutor(function))}
        chosen = settings_from({}, overrides={"poll_s": 1.0, **settings})
        return Processor(THUMBS, jobs, self.link(), chosen, "processor-1")

    async def enqueue(self, *keys: str, job: JobName = THUMBS, **payload: Any) -> list[RunKey]:
        """Runs by hand, due at once."""
        await self.memory.jobs.register(NS, [self.spec])
        runs = [NewRun(job_key(job, key), job, payload, Queue("default"), 2) for key in keys]
        await self.memory.ledger.enqueue(NS, runs)
        return [run.run_key for run in runs]

    async def deliver(self, deliverer: Deliverer | None = None) -> None:
        """One pass, and all that it began."""
        chosen = deliverer or self.deliverer
        await chosen.run_once()
        await self.sent(chosen)

    async def sent(self, deliverer: Deliverer) -> None:
        tasks = list(deliverer.sending)
        if tasks:
            await asyncio.wait(tasks)
            await asyncio.sleep(0)
        await self.trail.write()

    async def one_sent(self, **payload: Any) -> tuple[RunKey, Message]:
        """A run that was sent, and its message."""
        (key,) = await self.enqueue("1", **payload)
        await self.deliver()
        return key, self.broker.published[-1]

    async def reply(self, replies: Replies | None = None, **said: Any) -> None:
        """A reply of a processor, as it may be written in any language, and the pass that takes it."""
        await self.say(json.dumps(said).encode())
        await (replies or self.replies).run_once()
        await self.trail.write()

    async def say(self, body: bytes) -> None:
        message = Message(reply_destination(NS), f"reply-{len(self.broker.published)}", body)
        await self.broker.declare([message.destination])
        await self.broker.publish([message])

    async def hear(self, heard_s: float = 3600.0) -> None:
        """A worker of the fleet says for how long it has heard processors."""
        node = Node(NodeId("node-1"), "host-1", 1, plans=False, works=True)
        away_s = 0.0 if heard_s else 60.0
        report = NodeReport(broker=BrokerReport("memory", away_s, heard_s=heard_s))
        await self.memory.nodes.beat(node, report, 3600.0)

    async def run(self, key: RunKey) -> RunRecord:
        found = await self.memory.ledger.get(NS, key)
        assert found is not None
        return found

    async def state(self, key: RunKey) -> RunState:
        return (await self.run(key)).state


async def until(look: Callable[[], bool | Awaitable[bool]]) -> None:
    """Return when the look says yes."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = look()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)
