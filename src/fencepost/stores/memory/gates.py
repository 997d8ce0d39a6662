"""Catch-up gates in memory; what closes them is in `carrying`."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Action, Author
from fencepost.model.codec import schedule_to_text
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.run import Hold, RunState
from fencepost.ports.signals import Topic
from fencepost.stores.memory.lanes import RunRow, by_fire_time
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.reading import typical_run_s
from fencepost.stores.memory.tables import GateRow, Owner

_ACTIONS = {
    GateDecision.OPEN: Action.GATE_OPEN,
    GateDecision.LATEST: Action.GATE_LATEST,
    GateDecision.DROP: Action.GATE_DROP,
}


class MemoryGates(MemoryPart):
    """See `ports.gates`."""

    async def closed(self, namespace: Namespace) -> Sequence[ClosedGate]:
        return [
            self._shown_gate(owner, gate)
            for owner, gate in sorted(self._tables.gates.items(), key=lambda pair: pair[0])
            if owner[0] == namespace and gate.closed_at is not None
        ]

    async def decide(
        self, namespace: Namespace, schedule_id: ScheduleId, decision: GateDecision, author: Author
    ) -> int | None:
        owner = namespace, schedule_id
        gate = self._tables.gates.get(owner)
        if gate is None or gate.closed_at is None:
            return None
        held = self._held(owner)
        released, dropped = _split(held, decision)
        for row in released:
            self._tables.change(row, held=row.record.held & ~Hold.GATE)
            gate.let_through = max(gate.let_through, row.record.fire_time)
        for row in dropped:
            self._tables.end(row, RunState.MISSED, _why_dropped(decision, author))
        gate.closed_at, gate.opened_at = None, self._tables.now()
        before = {"closed": True, "held": len(held)}
        after = {"closed": False, "released": len(released), "missed": len(dropped)}
        self._tables.log(author, namespace, _ACTIONS[decision], schedule_id, before, after)
        self._ring(dropped)
        self._signals.hint(Topic.RUNS)
        return len(released)

    def _held(self, owner: Owner) -> list[RunRow]:
        return [row for row in by_fire_time(self._tables.lane(*owner).open) if row.record.held & Hold.GATE]

    def _shown_gate(self, owner: Owner, gate: GateRow) -> ClosedGate:
        assert gate.closed_at is not None
        fire_times = [row.record.fire_time for row in self._held(owner)]
        known = self._tables.schedules.get(owner)
        return ClosedGate(
            namespace=owner[0],
            schedule_id=owner[1],
            closed_at=gate.closed_at,
            reason=gate.reason,
            held=len(fire_times),
            oldest=min(fire_times, default=None),
            newest=max(fire_times, default=None),
            run_s=typical_run_s(self._tables.lane(*owner)),
            spec_text=None if known is None else schedule_to_text(known.schedule.spec),
        )


def _split(held: list[RunRow], decision: GateDecision) -> tuple[list[RunRow], list[RunRow]]:
    """What is let through and what is not, of runs by fire time."""
    match decision:
        case GateDecision.OPEN:
            return held, []
        case GateDecision.LATEST:
            return held[-1:], held[:-1]
        case GateDecision.DROP:
            return [], held


def _why_dropped(decision: GateDecision, author: Author) -> str:
    return f"gate: {decision}, by {author.name}" + ("" if author.reason is None else f": {author.reason}")
