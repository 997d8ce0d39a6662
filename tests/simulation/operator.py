"""An operator with dice: freezes, thaws, holds, skips, replays and decides, at the worst of times."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from fencepost.model.audit import Author
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import DEFAULT_NAMESPACE as NS
from fencepost.model.identifiers import ScheduleId
from fencepost.model.run import RunState
from fencepost.stores.memory import MemoryStore

TEAMS = ("red", "blue")
OPERATOR = Author("operator", "the simulation", "as the dice fell")


class Operator:
    """Acts on the store itself, as a person at a desk does."""

    def __init__(self, store: MemoryStore, dice: random.Random, schedules: Sequence[str]) -> None:
        self._store = store
        self._dice = dice
        self._schedules = schedules
        self.gates_seen = 0

    async def act(self) -> None:
        """What an operator does at three in the morning."""
        store = self._store
        schedule_id = ScheduleId(self._dice.choice(self._schedules))
        scopes = [
            Scope(ScopeKind.ALL),
            Scope(ScopeKind.LABEL, f"team={self._dice.choice(TEAMS)}"),
            Scope(ScopeKind.SCHEDULE, schedule_id),
        ]
        match self._dice.randrange(8):
            case 0:
                await store.freezes.freeze(NS, self._dice.choice(scopes[1:]), OPERATOR)
            case 1:
                await self._freeze_everything(scopes[0])
            case 2 | 3:
                for freeze in await store.freezes.all(NS):
                    await store.freezes.thaw(NS, freeze.scope, OPERATOR)
            case 4:
                await self.decide_on_gates()
            case 5:
                await self._replay_some()
            case verb:
                await self._call_off(schedule_id, "hold" if verb == 6 else "skip")

    async def _freeze_everything(self, scope: Scope) -> None:
        await self._store.freezes.freeze(NS, scope, OPERATOR)
        try:
            await asyncio.sleep(self._dice.choice([5, 30, 120]))
        finally:
            await self._store.freezes.thaw(NS, scope, OPERATOR)

    async def decide_on_gates(self) -> None:
        for gate in await self._store.gates.closed(NS):
            self.gates_seen += 1
            decision = self._dice.choice(list(GateDecision))
            await self._store.gates.decide(NS, gate.schedule_id, decision, OPERATOR)

    async def _replay_some(self) -> None:
        ended = [
            row.record.run_key
            for row in self._store.tables.runs.values()
            if row.record.state in (RunState.DEAD, RunState.MISSED, RunState.SKIPPED)
        ]
        if ended:
            some = self._dice.sample(sorted(ended), min(3, len(ended)))
            await self._store.ledger.replay(NS, some, 1.0, OPERATOR)

    async def _call_off(self, schedule_id: ScheduleId, verb: str) -> None:
        lane = self._store.tables.lane(NS, schedule_id)
        if lane.open:
            key = self._dice.choice(sorted(lane.open))
            await getattr(self._store.ledger, verb)(NS, key, OPERATOR)

    async def let_go(self) -> None:
        """Nothing is frozen or held any more."""
        for freeze in await self._store.freezes.all(NS):
            await self._store.freezes.thaw(NS, freeze.scope, OPERATOR)
        for row in list(self._store.tables.waiting.values()):
            await self._store.ledger.release(NS, row.record.run_key, OPERATOR)
