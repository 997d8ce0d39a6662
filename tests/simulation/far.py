"""What a process sees of its stores: the same ports, each call a round trip over a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fencepost.model.plan import Plan
from fencepost.ports.signals import Topic
from fencepost.stores.memory import MemoryStore
from tests.simulation.loop import LIFE
from tests.simulation.network import Line, Network

HINT_LOST_SHARE = 0.1


class Far:
    """A part of a store at the end of a line: every async method is a round trip."""

    def __init__(self, part: Any, line: Line) -> None:
        self._part = part
        self._line = line

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._line.call(name, lambda: getattr(self._part, name)(*args, **kwargs))

        self.__dict__[name] = call
        return call


class FarPlanBook(Far):
    """The plan book, and somebody who looks on as plans are sent."""

    def __init__(self, part: Any, line: Line, on_send: Callable[[Sequence[Plan]], None]) -> None:
        super().__init__(part, line)
        self._on_send = on_send

    async def write(self, plans: Sequence[Plan]) -> Any:
        self._on_send(plans)
        return await self._line.call("write", lambda: self._part.write(plans))


class FarSignals:
    """Hints come late, and some not at all."""

    are_connected = False

    def __init__(self, store: MemoryStore, network: Network) -> None:
        self._store = store
        self._network = network

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        life = LIFE.get()
        assert life is not None

        def sometimes() -> None:
            if not life.dead and self._network.dice.random() >= HINT_LOST_SHARE:
                self._network.later(self._network.latency_s(), callback)

        return await self._store.signals.listen(topic, sometimes)


class FarLeases(Far):
    """The leases at the end of a line; their hints come with the store's."""

    caveats: Sequence[str] = ()

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


class FarStore:
    """The whole store as one process sees it."""

    def __init__(
        self, store: MemoryStore, line: Line, network: Network, on_plans: Callable[[Sequence[Plan]], None]
    ) -> None:
        self.jobs: Any = Far(store.jobs, line)
        self.calendars: Any = Far(store.calendars, line)
        self.schedules: Any = Far(store.schedules, line)
        self.epochs: Any = Far(store.epochs, line)
        self.ledger: Any = Far(store.ledger, line)
        self.nodes: Any = Far(store.nodes, line)
        self.gates: Any = Far(store.gates, line)
        self.freezes: Any = Far(store.freezes, line)
        self.backfills: Any = Far(store.backfills, line)
        self.audit_log: Any = Far(store.audit_log, line)
        self.access: Any = Far(store.access, line)
        self.answers: Any = Far(store.answers, line)
        self.notifications: Any = Far(store.notifications, line)
        self.steps: Any = Far(store.steps, line)
        self.run_logs: Any = Far(store.run_logs, line)
        self.transactions = store.transactions
        self.plans: Any = FarPlanBook(store.plans, line, on_plans)
        self.leases: Any = FarLeases(store.leases, line)
        self.signals = FarSignals(store, network)
        self.caveats = store.caveats
        self.rows: Any = Far(store.rows, line)
        self._store = store
        self._line = line

    async def examine(self) -> Any:
        return await self._line.call("examine", self._store.examine)

    async def now(self) -> Any:
        return await self._line.call("now", self._store.now)

    async def close(self) -> None:
        return None
