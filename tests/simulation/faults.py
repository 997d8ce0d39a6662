"""Everything that goes wrong in a world, each fault by its name.

A fault has a beginning and an end, which the dice choose in terms of what it is to disturb: a stall is longer
than a lease, a blackout longer than the horizon. Whatever is still going on when the trouble ends is mended
then, as somebody would.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import Any

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.stores.memory import MemoryStore
from tests.rows import copy_of, restore
from tests.simulation.hosts import Host
from tests.simulation.lease_server import ForgetfulLeases
from tests.simulation.network import Network, Server
from tests.simulation.operator import ACTS, EDITS, OPERATOR, Operator, lift_the_ledger
from tests.simulation.recording import Recorder
from tests.simulation.workload import Terms

SHARDS_MAX = 12
LOST_SHARE = 0.01
REPEATED_SHARE = 0.005
STORM_SHARE = 0.3

KINDS = (
    "crash",
    "clean stop",
    "stall",
    "stall in mid-write",
    "blocked loop",
    "deep sleep",
    "clock step",
    "cut",
    "one-way cut: requests",
    "one-way cut: answers",
    "slow line",
    "storm of losses",
    "storm of repetitions",
    "ledger restart",
    "ledger outage",
    "ledger failover",
    "slow ledger",
    "lease store outage",
    "lease store failover",
    "lease store restored",
    "blackout of planners",
    "blackout of workers",
    "rolling deploy",
    "drain",
    "reshard",
    *(f"operator: {verb}" for verb in (*EDITS, *ACTS)),
)

Trouble = Callable[[], Coroutine[Any, Any, None]]


class Faults:
    """The nemesis of a fleet."""

    def __init__(
        self,
        terms: Terms,
        hosts: Sequence[Host],
        store: MemoryStore,
        servers: tuple[Server, Server],
        leases: ForgetfulLeases | None,
        network: Network,
        operator: Operator,
        recorder: Recorder,
        dice: random.Random,
    ) -> None:
        self._terms = terms
        self._hosts = hosts
        self._store = store
        self._ledger, self._lease_server = servers
        self._leases = leases
        self._network = network
        self._operator = operator
        self._recorder = recorder
        self._dice = dice
        self.last_fall = float("-inf")

    def troubles(self) -> list[tuple[float, Trouble]]:
        """Each with how many seconds pass between two of them, on average."""
        return [
            (300, self.crash),
            (500, self.stop_cleanly),
            (400, self.stall),
            (300, self.stall_in_mid_write),
            (700, self.block_the_loop),
            (900, self.sleep_deeply),
            (300, self.step_a_clock),
            (600, self.cut),
            (600, self.cut_requests),
            (600, self.cut_answers),
            (500, self.slow_line),
            (900, self.storm_of_losses),
            (900, self.storm_of_repetitions),
            (900, self.restart_the_ledger),
            (1800, self.ledger_outage),
            (900, self.ledger_memory_loss),
            (1200, self.slow_ledger),
            (1200, self.lease_outage),
            (900, self.lease_memory_loss),
            (1500, self.black_out),
            (1500, self.roll_out),
            (900, self.drain),
            (900, self.reshard),
            (90, self.edit),
            (90, self.operate),
        ]

    def begin(self) -> None:
        """The weather of an ordinary day."""
        self._network.lost_share = LOST_SHARE
        self._network.repeated_share = REPEATED_SHARE

    def remedy(self) -> None:
        """Everything that can be mended from outside."""
        self._network.lost_share = self._network.repeated_share = 0.0
        for server in (self._ledger, self._lease_server):
            server.up, server.slow_s = True, 0.0
        for host in self._hosts:
            for line in host.lines:
                line.requests_cut = line.answers_cut = False
                line.slow_s = 0.0
                line.release()
            host.thaw()

    async def let_go(self) -> None:
        """Nobody is under maintenance any more."""
        for one in await self._store.nodes.live():
            await self._store.nodes.drain(one.node.node_id, False, NS, OPERATOR)

    async def crash(self) -> None:
        host = self._any(lambda one: one.is_up)
        async with self.fault("crash", host.name):
            host.kill()
            try:
                await self._pass(self._dice.choice([0.5, 5, 30, 90]))
            finally:
                host.start()

    async def stop_cleanly(self) -> None:
        host = self._any(lambda one: one.is_up)
        async with self.fault("clean stop", host.name):
            try:
                await host.stop()
                await self._pass(self._dice.choice([0.5, 10]))
            finally:
                host.start()

    async def stall(self) -> None:
        """Past the lease's end and past the heartbeat's timeout, then on as if nothing had been."""
        host = self._any()
        async with self.fault("stall", host.name):
            host.freeze()
            try:
                await self._pass(self._dice.uniform(8, 60))
            finally:
                host.thaw()

    async def stall_in_mid_write(self) -> None:
        """The hard case: the planner believed in its lease when it sent the write, which comes late."""
        host = self._any(lambda one: one.plans)
        trapped = asyncio.Event()

        def spring() -> None:
            trapped.set()
            host.freeze()

        host.to_ledger.trap("write", spring)
        try:
            async with asyncio.timeout(self._terms.s(60)):
                await trapped.wait()
        except TimeoutError:
            host.to_ledger.release()
            return
        async with self.fault("stall in mid-write", host.name):
            try:
                await self._pass(self._dice.uniform(12, 40))
            finally:
                host.thaw()
                host.to_ledger.release()

    async def block_the_loop(self) -> None:
        """A job that blocks the event loop of its worker, but not the heart."""
        host = self._any(lambda one: one.works)
        async with self.fault("blocked loop", host.name):
            host.block()
            try:
                await self._pass(self._dice.uniform(5, 60))
            finally:
                host.thaw()

    async def sleep_deeply(self) -> None:
        """A suspended machine whose monotonic clock knows nothing of it: only the fence is safe."""
        host = self._any(lambda one: one.is_up and not one.asleep)
        async with self.fault("deep sleep", host.name):
            host.fall_asleep()
            try:
                await self._pass(self._dice.uniform(8, 60))
            finally:
                host.wake_up()

    async def step_a_clock(self) -> None:
        host = self._any()
        async with self.fault("clock step", host.name):
            host.clock.step(self._dice.choice([-3600, -45, -5, 5, 45, 3600, 86_400]))

    async def cut(self) -> None:
        host = self._any()
        async with self.fault("cut", host.name):
            await self._with_line(host, requests=True, answers=True)

    async def cut_requests(self) -> None:
        host = self._any()
        async with self.fault("one-way cut: requests", host.name):
            await self._with_line(host, requests=True, answers=False)

    async def cut_answers(self) -> None:
        host = self._any()
        async with self.fault("one-way cut: answers", host.name):
            await self._with_line(host, requests=False, answers=True)

    async def slow_line(self) -> None:
        host = self._any()
        line = self._dice.choice([host.to_ledger, host.to_leases])
        async with self.fault("slow line", host.name):
            line.slow_s = self._terms.s(self._dice.choice([0.5, 3, 12]))
            try:
                await self._pass(self._dice.uniform(10, 90))
            finally:
                line.slow_s = 0.0

    async def storm_of_losses(self) -> None:
        """Many answers of what was carried out never come."""
        async with self.fault("storm of losses"):
            self._network.lost_share = STORM_SHARE
            try:
                await self._pass(self._dice.uniform(5, 30))
            finally:
                self._network.lost_share = LOST_SHARE

    async def storm_of_repetitions(self) -> None:
        async with self.fault("storm of repetitions"):
            self._network.repeated_share = STORM_SHARE
            try:
                await self._pass(self._dice.uniform(5, 30))
            finally:
                self._network.repeated_share = REPEATED_SHARE

    async def restart_the_ledger(self) -> None:
        async with self.fault("ledger restart"):
            await self._down(self._ledger, self._dice.uniform(0.1, 3))

    async def ledger_outage(self) -> None:
        """Often longer than the horizon."""
        async with self.fault("ledger outage"):
            await self._down(self._ledger, self._dice.choice([20, 45, 120]))

    async def ledger_memory_loss(self) -> None:
        """In few worlds: failover to a standby that lacks the last writes, which were acknowledged."""
        if not self._terms.loses_writes:
            return
        copy, mark = copy_of(self._store.memory), self._recorder.mark()
        await self._pass(self._dice.uniform(0.05, 3))
        async with self.fault("ledger failover"):
            self._ledger.restart()
            self.last_fall = asyncio.get_running_loop().time()
            restore(self._store.memory, copy)
            self._recorder.rewound(mark)
            await lift_the_ledger(self._store, self._hosts)

    async def slow_ledger(self) -> None:
        async with self.fault("slow ledger"):
            self._ledger.slow_s = self._terms.s(self._dice.choice([0.5, 2, 8]))
            try:
                await self._pass(self._dice.uniform(5, 45))
            finally:
                self._ledger.slow_s = 0.0

    async def lease_outage(self) -> None:
        """Of a lease store of its own; otherwise it is the ledger's outage."""
        if self._leases is not None:
            async with self.fault("lease store outage"):
                await self._down(self._lease_server, self._dice.choice([2, 8, 30, 90]))

    async def lease_memory_loss(self) -> None:
        """It is restored from a copy that is older than the last grants."""
        if self._leases is None:
            return
        self._leases.back_up()
        await self._pass(self._dice.uniform(0.5, 90))
        kind = self._dice.choice(["lease store failover", "lease store restored"])
        async with self.fault(kind):
            self._lease_server.restart()
            self.last_fall = asyncio.get_running_loop().time()
            if kind == "lease store failover":
                self._leases.fail_over()
            else:
                self._leases.restore()

    async def black_out(self) -> None:
        """All that plans, or all that works, for longer than the horizon: what was due is late."""
        plans = self._dice.random() < 0.5
        gone = [one for one in self._hosts if (one.plans if plans else one.works)]
        async with self.fault("blackout of planners" if plans else "blackout of workers"):
            for one in gone:
                one.freeze()
            try:
                await self._pass(self._dice.uniform(72, 480))
            finally:
                for one in gone:
                    one.thaw()

    async def roll_out(self) -> None:
        """One host after the other is restarted with the other release of the code."""
        release = self._dice.randrange(2)
        async with self.fault("rolling deploy", f"release {release}"):
            for host in self._hosts:
                host.release = release
                try:
                    await host.stop()
                finally:
                    host.start()
                await self._pass(self._dice.uniform(1, 20))

    async def drain(self) -> None:
        live = [one for one in await self._store.nodes.live() if not one.draining]
        if len(live) > 2:
            node = self._dice.choice(live).node.node_id
            async with self.fault("drain", node):
                with suppress(StoreUnavailable):
                    await self._operator.drain(node)
                try:
                    await self._pass(self._dice.uniform(10, 120))
                finally:
                    await self._store.nodes.drain(node, False, NS, OPERATOR)

    async def reshard(self) -> None:
        async with self.fault("reshard"):
            with suppress(StoreUnavailable):
                await self._operator.reshard(self._dice.randint(1, SHARDS_MAX))

    async def edit(self) -> None:
        since = self._now()
        self._recorder.saw_fault(f"operator: {await self._operator.edit()}", since)

    async def operate(self) -> None:
        since = self._now()
        self._recorder.saw_fault(f"operator: {await self._operator.act()}", since)

    def _any(self, fits: Callable[[Host], bool] = lambda _: True) -> Host:
        """One that fits, if there is one."""
        return self._dice.choice([host for host in self._hosts if fits(host)] or list(self._hosts))

    async def _pass(self, seconds: float) -> None:
        await asyncio.sleep(self._terms.s(seconds))

    async def _down(self, server: Server, seconds: float) -> None:
        server.up = False
        server.restart()
        try:
            await self._pass(seconds)
        finally:
            server.up = True

    async def _with_line(self, host: Host, *, requests: bool, answers: bool) -> None:
        """One of its lines, or both."""
        lines = self._dice.choice([[host.to_ledger], [host.to_leases], [host.to_ledger, host.to_leases]])
        for line in lines:
            line.requests_cut, line.answers_cut = requests, answers
        try:
            await self._pass(self._dice.uniform(5, 60))
        finally:
            for line in lines:
                line.requests_cut = line.answers_cut = False
                line.release()

    @asynccontextmanager
    async def fault(self, kind: str, whom: str = "") -> AsyncIterator[None]:
        since = self._now()
        try:
            yield
        finally:
            self._recorder.saw_fault(kind, since, whom)

    def _now(self) -> datetime:
        return self._store.memory.now()
