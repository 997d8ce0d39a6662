"""A store that misbehaves on request: it fails before or after the work, hangs, or is overtaken."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from fencepost.errors import StoreUnavailable
from fencepost.model.caveat import Caveat
from fencepost.model.clocks import StoreTime
from fencepost.ports.access import AccessRecords
from fencepost.ports.audit_log import AuditLog
from fencepost.ports.backfills import Backfills
from fencepost.ports.calendars import Calendars
from fencepost.ports.epochs import Epochs
from fencepost.ports.freezes import Freezes
from fencepost.ports.gates import Gates
from fencepost.ports.idempotency import IdempotencyKeys
from fencepost.ports.jobs import Jobs
from fencepost.ports.leases import LeaseStore
from fencepost.ports.ledger import Ledger
from fencepost.ports.nodes import Nodes
from fencepost.ports.notifications import Notifications
from fencepost.ports.plans import Plans
from fencepost.ports.run_logs import RunLogs
from fencepost.ports.schedules import Schedules
from fencepost.ports.steps import RecordedSteps
from fencepost.ports.store import Store

Hook = Callable[[], Awaitable[None]]


@dataclass
class Held:
    """A call that waits: `reached` when somebody made it, and it goes on at `go`."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        self.reached.set()
        await self.go.wait()


class FaultyStore:
    """Passes every call on to the real store; the next calls of a name go as they were told to."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.before: dict[str, list[Hook]] = defaultdict(list)
        self.after: dict[str, list[Hook]] = defaultdict(list)
        self.signals = inner.signals
        self.caveats = inner.caveats
        self.rows = inner.rows
        self.jobs = cast(Jobs, _Part("jobs", inner.jobs, self))
        self.calendars = cast(Calendars, _Part("calendars", inner.calendars, self))
        self.schedules = cast(Schedules, _Part("schedules", inner.schedules, self))
        self.epochs = cast(Epochs, _Part("epochs", inner.epochs, self))
        self.plans = cast(Plans, _Part("plans", inner.plans, self))
        self.ledger = cast(Ledger, _Part("ledger", inner.ledger, self))
        self.leases = cast(LeaseStore, _Part("leases", inner.leases, self))
        self.nodes = cast(Nodes, _Part("nodes", inner.nodes, self))
        self.gates = cast(Gates, _Part("gates", inner.gates, self))
        self.freezes = cast(Freezes, _Part("freezes", inner.freezes, self))
        self.backfills = cast(Backfills, _Part("backfills", inner.backfills, self))
        self.audit_log = cast(AuditLog, _Part("audit_log", inner.audit_log, self))
        self.access = cast(AccessRecords, _Part("access", inner.access, self))
        self.answers = cast(IdempotencyKeys, _Part("answers", inner.answers, self))
        self.notifications = cast(Notifications, _Part("notifications", inner.notifications, self))
        self.steps = cast(RecordedSteps, _Part("steps", inner.steps, self))
        self.run_logs = cast(RunLogs, _Part("run_logs", inner.run_logs, self))
        self.transactions = inner.transactions

    async def examine(self) -> Sequence[Caveat]:
        return await self.inner.examine()

    async def now(self) -> StoreTime:
        return await self.inner.now()

    async def close(self) -> None:
        await self.inner.close()

    def fail_before(self, name: str, times: int = 1) -> None:
        """The next calls do nothing and raise."""
        self.before[name] += [_raise] * times

    def fail_after(self, name: str, times: int = 1) -> None:
        """The next calls do their work, and their answers are lost."""
        self.after[name] += [_raise] * times

    def hold(self, name: str) -> Held:
        """The next call hangs before it does its work."""
        held = Held()
        self.before[name].append(held.wait)
        return held

    def hold_answer(self, name: str) -> Held:
        """The next call does its work and hangs before it answers."""
        held = Held()
        self.after[name].append(held.wait)
        return held

    def names(self) -> list[str]:
        """What was called, in order."""
        return [name for name, _ in self.calls]

    def arguments(self, name: str) -> list[tuple[Any, ...]]:
        """What each call of that name was given."""
        return [arguments for called, arguments in self.calls if called == name]


class _Part:
    def __init__(self, name: str, part: object, store: FaultyStore) -> None:
        self._name = name
        self._part = part
        self._store = store

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        name = f"{self._name}.{method}"

        async def call(*arguments: Any, **named: Any) -> Any:
            self._store.calls.append((name, arguments))
            await _next(self._store.before[name])
            answer = await getattr(self._part, method)(*arguments, **named)
            await _next(self._store.after[name])
            return answer

        return call


async def _next(hooks: list[Hook]) -> None:
    if hooks:
        await hooks.pop(0)()


async def _raise() -> None:
    raise StoreUnavailable("the line is dead")
