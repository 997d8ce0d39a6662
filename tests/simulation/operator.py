"""Operators with dice: they edit, pause, trigger, freeze, hold, replay and fill in, at the worst of times.

The worst time is the tick itself, so most of what they do is done at a fire time of the schedule that they do
it to, a few milliseconds before or after. They sit at the end of a line like everybody else: what they ask
for may be carried out without their hearing of it, and then they ask again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from fencepost.errors import StoreUnavailable, UsageError
from fencepost.model.audit import Author
from fencepost.model.backfill import FillMode, NewBackfill
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import NodeId, RunKey, ScheduleId
from fencepost.model.run import RunState
from fencepost.model.schedule import ScheduleState
from fencepost.model.table import Row
from fencepost.model.tables import RUNS, RUNS_BY_SCHEDULE, SCHEDULES
from fencepost.operations import backfills as backfill_operations
from fencepost.operations import pausing
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.stores.memory import MemoryStore
from tests.rows import find
from tests.simulation.far import FarStore
from tests.simulation.hosts import Host
from tests.simulation.recording import Recorder
from tests.simulation.workload import TEAMS, Terms, Workload

OPERATOR = Author("operator", "the simulation", "as the dice fell")
AT_THE_TICK = 0.6
MISTIMED_S = 0.02
TRIES = 4
EDITS = ("pause", "resume", "remove", "add", "trigger", "cancel", "edit", "edit")
ACTS = ("freeze", "freeze_everything", "thaw", "thaw", "decide", "replay", "hold", "skip", "fill")
BEFORE = {"resume": ScheduleState.PAUSED, "add": ScheduleState.REMOVED}
"""What a schedule must be for a verb to make sense of it; active for all others."""
HALTS = ("pause", "remove")
ARRIVES_WITHIN_S = 40.0
"""A request that nobody waits for any more, or that is carried out a second time."""
WAITING = (RunState.PLANNED, RunState.READY)
REPLAYABLE = (RunState.DEAD, RunState.MISSED, RunState.SKIPPED)


class Operator:
    """Looks at the store itself to choose what to do, and does it over the line."""

    def __init__(
        self,
        store: MemoryStore,
        far: FarStore,
        terms: Terms,
        workload: Workload,
        dice: random.Random,
        recorder: Recorder,
    ) -> None:
        self._store = store
        self._far = far
        self._terms = terms
        self._workload = workload
        self._dice = dice
        self._recorder = recorder
        self._verbs = Control(far, NS, OPERATOR)

    async def edit(self) -> str:
        """Somebody changes a schedule, or a run of one."""
        verb = self._dice.choice(EDITS)
        schedule_id = await self._picked(BEFORE.get(verb, ScheduleState.ACTIVE))
        return await self._insist(verb, schedule_id)

    async def act(self) -> str:
        """What an operator does at three in the morning."""
        return await self._insist(self._dice.choice(ACTS), await self._picked())

    async def reshard(self, shards: int) -> None:
        await self._far.epochs.reshard(shards, NS, OPERATOR)

    async def drain(self, node: NodeId) -> None:
        await self._far.nodes.drain(node, True, NS, OPERATOR)

    async def let_go(self) -> None:
        """Nothing is frozen or held any more: by a hand that nothing stops."""
        for freeze in await self._store.freezes.all(NS):
            await self._store.freezes.thaw(NS, freeze.scope, OPERATOR)
        for run in self._store.memory.all(RUNS):
            if run["state"] in WAITING:
                await self._store.ledger.release(NS, run["run_key"], OPERATOR)

    async def make_room(self, waiting: Iterable[Row]) -> None:
        """Pause the schedules of these runs: they may wait behind live work that never ends."""
        for schedule_id in sorted({run["schedule_id"] for run in waiting} - {None}):
            await self._insist("pause", schedule_id)

    async def decide_on_gates(self) -> None:
        for gate in await self._store.gates.closed(NS):
            decision = self._dice.choice(list(GateDecision))
            await self._store.gates.decide(NS, gate.schedule_id, decision, OPERATOR)

    async def _insist(self, verb: str, schedule_id: ScheduleId) -> str:
        """Ask again where no answer came, a few times; what was done is told by its name."""
        since = self._store.memory.now()
        try:
            for _ in range(TRIES):
                with suppress(StoreUnavailable):
                    await getattr(self, f"_{verb}")(schedule_id)
                    return verb
            return f"{verb} given up"
        except UsageError:
            return f"{verb} refused"
        finally:
            if verb in HALTS:
                self._recorder.saw_halt(schedule_id, since, self._terms.s(ARRIVES_WITHIN_S))

    async def _picked(self, state: ScheduleState = ScheduleState.ACTIVE) -> ScheduleId:
        """A schedule in that state, if there is one, and most often the moment at which it fires."""
        rows = self._store.memory.all(SCHEDULES)
        fitting: list[ScheduleId] = [row["schedule_id"] for row in rows if row["state"] == state]
        schedule_id = self._dice.choice(fitting or self._workload.ids)
        if self._dice.random() < AT_THE_TICK:
            await self._next_tick(schedule_id)
        return schedule_id

    async def _next_tick(self, schedule_id: ScheduleId) -> None:
        now = self._store.memory.now()
        ahead = [run["fire_time"] for run in self._open_runs(schedule_id) if run["fire_time"] > now]
        if ahead:
            off_s = self._dice.uniform(-MISTIMED_S, MISTIMED_S)
            await asyncio.sleep(max(_seconds(now, min(ahead)) + off_s, 0.0))

    async def _pause(self, schedule_id: ScheduleId) -> None:
        await pausing.pause(self._verbs, schedule_id)

    async def _resume(self, schedule_id: ScheduleId) -> None:
        await pausing.resume(self._verbs, schedule_id, catch_up=self._dice.random() < 0.5)

    async def _remove(self, schedule_id: ScheduleId) -> None:
        await schedule_operations.remove(self._verbs, schedule_id)

    async def _add(self, schedule_id: ScheduleId) -> None:
        await schedule_operations.add(self._verbs, schedule_id, self._workload.spec())

    async def _trigger(self, schedule_id: ScheduleId) -> None:
        await schedule_operations.trigger(self._verbs, schedule_id)

    async def _edit(self, schedule_id: ScheduleId) -> None:
        current = await self._verbs.schedule(schedule_id)
        await schedule_operations.edit(self._verbs, schedule_id, self._workload.spec(), current.version)

    async def _cancel(self, schedule_id: ScheduleId) -> None:
        """Any run of the schedule that has not ended: planned, waiting or running."""
        key = self._open_run(schedule_id)
        if key is not None:
            await self._far.ledger.cancel(NS, key, "not this one")

    async def _freeze(self, schedule_id: ScheduleId) -> None:
        label = Scope(ScopeKind.LABEL, f"team={self._dice.choice(TEAMS)}")
        scope = self._dice.choice([label, Scope(ScopeKind.SCHEDULE, schedule_id)])
        await self._far.freezes.freeze(NS, scope, OPERATOR)

    async def _freeze_everything(self, schedule_id: ScheduleId) -> None:
        scope = Scope(ScopeKind.ALL)
        await self._far.freezes.freeze(NS, scope, OPERATOR)
        try:
            await asyncio.sleep(self._terms.s(self._dice.choice([5, 30, 120])))
        finally:
            await self._store.freezes.thaw(NS, scope, OPERATOR)

    async def _thaw(self, schedule_id: ScheduleId) -> None:
        for freeze in await self._far.freezes.all(NS):
            await self._far.freezes.thaw(NS, freeze.scope, OPERATOR)

    async def _decide(self, schedule_id: ScheduleId) -> None:
        await self.decide_on_gates()

    async def _replay(self, schedule_id: ScheduleId) -> None:
        runs = self._store.memory.all(RUNS)
        ended = [run["run_key"] for run in runs if run["state"] in REPLAYABLE]
        if ended:
            some = self._dice.sample(sorted(ended), min(3, len(ended)))
            await self._far.ledger.replay(NS, some, 1.0, OPERATOR)

    async def _hold(self, schedule_id: ScheduleId) -> None:
        key = self._open_run(schedule_id)
        if key is not None:
            await self._far.ledger.hold(NS, key, OPERATOR)

    async def _skip(self, schedule_id: ScheduleId) -> None:
        key = self._open_run(schedule_id)
        if key is not None:
            await self._far.ledger.skip(NS, key, OPERATOR)

    async def _fill(self, schedule_id: ScheduleId) -> None:
        """A backfill of the last while."""
        until = self._store.memory.now()
        since = until - timedelta(seconds=self._terms.s(600))
        mode = self._dice.choice([FillMode.MISSING, FillMode.MISSED])
        await backfill_operations.start(self._verbs, NewBackfill(schedule_id, since, until, mode))

    def _open_run(self, schedule_id: ScheduleId) -> RunKey | None:
        keys = [run["run_key"] for run in self._open_runs(schedule_id)]
        return self._dice.choice(sorted(keys)) if keys else None

    def _open_runs(self, schedule_id: ScheduleId) -> list[Row]:
        runs = find(self._store.memory, RUNS_BY_SCHEDULE(NS, schedule_id))
        return [run for run in runs if run["finished_at"] is None]


def _seconds(since: datetime, until: datetime) -> float:
    return (until - since).total_seconds()


async def lift_the_ledger(store: MemoryStore, hosts: Sequence[Host]) -> None:
    """What the guide tells an operator to do after a failover that lost writes: stop every process, lift the
    ledger, start them again."""
    stopped = [host for host in hosts if host.is_up]
    for host in stopped:
        host.kill()
    await store.epochs.restore(NS, OPERATOR)
    for host in stopped:
        host.start()
