"""A world with a message broker: jobs that are sent, processors, an intake, and a broker that misbehaves.

It is a world like the others, with the same machines, faults and operators. The machines that work also
deliver, take replies and take messages in, with the real services. Deliverers are killed, too, between a
publication and its confirm, and between the confirm and the ledger.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from fencepost.core.messages import reply_destination
from fencepost.errors import BrokerUnavailable
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import JobName, NodeId, ScheduleId, job_key
from fencepost.model.intake import Intake
from fencepost.model.job import JobSpec, Retry
from fencepost.model.message import Confirmed, Message, Reply, Route
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.services.broker_link import BrokerLink, BrokerServices
from fencepost.services.deliverer import Deliverer
from fencepost.services.intake import IntakeService
from fencepost.services.replies import Replies
from fencepost.services.trail import Trail
from fencepost.triggers import Every
from tests.simulation.broker import FarBroker, SimulatedBroker
from tests.simulation.clocks import HostClock
from tests.simulation.far import FarStore
from tests.simulation.hosts import Ground, Host
from tests.simulation.jobs import Kind, kinds_of
from tests.simulation.network import Line, Server
from tests.simulation.processors import Handling, ProcessorHost
from tests.simulation.workload import OVERLAPS
from tests.simulation.world import PACES, World

TOLD, DONE, ORDER = JobName("told"), JobName("done"), JobName("order")
ORDERS = "orders"
INTAKE = Intake(ORDERS, ORDER)
SENT_SCHEDULES = 4
PROCESSORS = 3
START_WITHIN_S = 60.0
GIVEN_AGAIN_AFTER_S = 20.0
LATE_S = 60.0
HANDLED_MAX_S = 15.0
ARRIVES_EVERY_S = 20.0
ARRIVES_AGAIN_SHARE = 0.2
STORM = 10.0
TRAPPED_MAX_S = 60.0
SETTLES_MAX = 3

BROKER_KINDS = (
    "broker restart",
    "broker outage",
    "broker storm",
    "processor killed",
    "processor stalled",
    "deliverer killed before the confirm",
    "deliverer killed before the ledger",
    "cut from the broker",
)


class MessageHost(Host):
    """A machine with a line to the broker as well."""

    def __init__(self, ground: Ground, number: int, clock: HostClock, lines: tuple[Line, Line], **role: bool):
        super().__init__(ground, number, clock, lines, **role)
        self.broker: SimulatedBroker | None = None
        self.to_broker = lines[0]
        self.specs: Mapping[JobName, JobSpec] = {}

    @property
    def lines(self) -> tuple[Line, ...]:
        return (*super().lines, self.to_broker)

    def _over_broker(self, store: FarStore) -> BrokerServices | None:
        if not self.works:
            return None
        assert self.broker is not None
        far, ground = FarBroker(self.broker, self.to_broker), self._ground
        settings, dice = ground.terms.settings, ground.dice

        async def opened() -> FarBroker:
            return far

        trail = Trail(store)
        link = BrokerLink(opened, [TOLD, DONE, ORDERS, reply_destination(NS)])
        sent = {name: spec for name, spec in self.specs.items() if spec.message is not None}
        return BrokerServices(
            link,
            [
                IntakeService(store, INTAKE, self.specs[ORDER], link, settings),
                Deliverer(store, sent, link, settings, NodeId(self.name), dice, trail),
                Replies(store, link, settings, dice, trail),
            ],
            trail,
        )


class MessageWorld(World):
    """See the module."""

    def __init__(self, seed: int, paces: Sequence[int] = PACES) -> None:
        super().__init__(seed, paces)
        terms, server = self.terms, Server("broker")
        self.broker = SimulatedBroker(
            self.network,
            server,
            self.recorder,
            self.dice,
            terms.s(GIVEN_AGAIN_AFTER_S),
            terms.s(LATE_S),
            lambda message: job_key(ORDER, f"{ORDERS}/{message.id}"),
        )
        self._sent = {
            TOLD: self._spec(TOLD, Reply.NONE),
            DONE: self._spec(DONE, Reply.RESULT),
        }
        for host in self.hosts:
            assert isinstance(host, MessageHost)
            host.broker, host.to_broker = self.broker, Line(self.network, server)
            host.specs = {**self._sent, ORDER: self.kinds[ORDER].spec}
        handling = Handling(self.dice, self.recorder, terms.s(HANDLED_MAX_S))
        self._processors = [
            ProcessorHost(
                number,
                DONE,
                self.broker,
                Line(self.network, server),
                terms.settings,
                handling,
                self.failures,
                is_foreign=number == 0,
            )
            for number in range(PROCESSORS)
        ]
        self._to_broker = FarBroker(self.broker, Line(self.network, server))

    def _kinds(self) -> Mapping[JobName, Kind]:
        kinds = kinds_of(self.terms.pace)
        like = next(iter(kinds.values()))
        retry = like.spec.retry
        return {**kinds, ORDER: Kind(JobSpec(ORDER, retry=retry, open_payload=True), 2.0, 0.02)}

    def _spec(self, name: JobName, reply: Reply) -> JobSpec:
        pace = self.terms.pace
        route = Route(name, reply, start_within_s=self.terms.s(START_WITHIN_S))
        return JobSpec(name, retry=Retry(6, f"{pace}s", f"{10 * pace}s"), open_payload=True, message=route)

    def _host(self, ground: Ground, number: int, plans: bool, works: bool) -> Host:
        to_ledger = Line(self.network, self._ledger)
        to_leases = Line(self.network, self._lease_server) if self.leases else to_ledger
        clock = HostClock(self.terms.start, self.dice)
        return MessageHost(ground, number, clock, (to_ledger, to_leases), plans=plans, works=works)

    async def _found(self) -> None:
        await super()._found()
        await self.store.jobs.register(NS, list(self._sent.values()))
        verbs = Control(self.store, NS)
        for number in range(SENT_SCHEDULES):
            every = Every(self.terms.s(self.dice.randint(8, 40)))
            overlap = self.dice.choice(OVERLAPS)
            spec = ScheduleSpec((TOLD, DONE)[number % 2], every.to_json(), overlap=overlap)
            await schedule_operations.add(verbs, ScheduleId(f"sent-{number}"), spec)
        for one in self._processors:
            one.start()

    def _troubles(self) -> list[Coroutine[Any, Any, None]]:
        often = [
            (400, self._restart_the_broker),
            (1200, self._broker_outage),
            (600, self._broker_storm),
            (150, self._kill_a_processor),
            (200, self._stall_a_processor),
            (100, self._kill_before_the_confirm),
            (100, self._kill_before_the_ledger),
            (500, self._cut_from_the_broker),
        ]
        mishaps = [self._often(every_s, trouble) for every_s, trouble in often]
        return [*super()._troubles(), *mishaps, self._arrive_now_and_then()]

    async def _arrive_now_and_then(self) -> None:
        """A program elsewhere that publishes until it is confirmed, and sometimes once more."""
        number = 0
        while True:
            await asyncio.sleep(self.terms.s(self.dice.expovariate(1 / ARRIVES_EVERY_S)))
            number += 1
            identity = f"m-{number}"
            await self._publish(Message(ORDERS, identity, json.dumps({"order": number}).encode()))

    async def _publish(self, message: Message) -> None:
        while True:
            try:
                (answer,) = await self._to_broker.publish([message])
            except BrokerUnavailable:
                answer = None
            if isinstance(answer, Confirmed) and self.dice.random() >= ARRIVES_AGAIN_SHARE:
                return
            await asyncio.sleep(self.terms.s(1))

    async def _restart_the_broker(self) -> None:
        async with self.faults.fault("broker restart"):
            await self._away(self.dice.uniform(0.1, 3))

    async def _broker_outage(self) -> None:
        async with self.faults.fault("broker outage"):
            await self._away(self.dice.choice([10, 30, 90]))

    async def _away(self, seconds: float) -> None:
        self.broker.server.up = False
        self.broker.restart()
        try:
            await asyncio.sleep(self.terms.s(seconds))
        finally:
            self.broker.server.up = True

    async def _broker_storm(self) -> None:
        async with self.faults.fault("broker storm"):
            self.broker.storm = STORM
            try:
                await asyncio.sleep(self.terms.s(self.dice.uniform(10, 60)))
            finally:
                self.broker.storm = 1.0

    async def _kill_a_processor(self) -> None:
        one = self.dice.choice(self._processors)
        async with self.faults.fault("processor killed", one.name):
            one.kill()
            try:
                await asyncio.sleep(self.terms.s(self.dice.choice([0.5, 5, 40])))
            finally:
                one.start()

    async def _stall_a_processor(self) -> None:
        one = self.dice.choice(self._processors)
        async with self.faults.fault("processor stalled", one.name):
            one.freeze()
            try:
                await asyncio.sleep(self.terms.s(self.dice.uniform(5, 60)))
            finally:
                one.thaw()

    async def _kill_before_the_confirm(self) -> None:
        await self._kill_at("publish", "deliverer killed before the confirm")

    async def _kill_before_the_ledger(self) -> None:
        await self._kill_at("finish", "deliverer killed before the ledger")

    async def _kill_at(self, call: str, kind: str) -> None:
        """Kill a machine in the moment that it sends a request, which is on its way or comes late."""
        host = self.dice.choice([one for one in self.hosts if one.works])
        assert isinstance(host, MessageHost)
        line = host.to_broker if call == "publish" else host.to_ledger
        sprung = asyncio.Event()

        def spring() -> None:
            sprung.set()
            host.kill()

        line.trap(call, spring)
        try:
            async with asyncio.timeout(self.terms.s(TRAPPED_MAX_S)):
                await sprung.wait()
        except TimeoutError:
            line.release()
            return
        async with self.faults.fault(kind, host.name):
            try:
                await asyncio.sleep(self.terms.s(self.dice.choice([0.1, 5, 30])))
            finally:
                line.release()
                host.start()

    async def _cut_from_the_broker(self) -> None:
        host = self.dice.choice([one for one in self.hosts if one.works])
        assert isinstance(host, MessageHost)
        line = host.to_broker
        async with self.faults.fault("cut from the broker", host.name):
            line.requests_cut = self.dice.random() < 0.7
            line.answers_cut = not line.requests_cut or self.dice.random() < 0.5
            try:
                await asyncio.sleep(self.terms.s(self.dice.uniform(5, 60)))
            finally:
                line.requests_cut = line.answers_cut = False
                line.release()

    async def _calm_down(self) -> None:
        self.broker.server.up, self.broker.storm = True, 0.0
        for one in self._processors:
            one.thaw()
            one.start()
        await super()._calm_down()
        for _ in range(SETTLES_MAX):
            if not self.broker.waits(ORDERS):
                break
            await asyncio.sleep(self.terms.s(START_WITHIN_S))

    async def _bury(self) -> None:
        for one in self._processors:
            one.unfreeze_the_dead()
        await super()._bury()
