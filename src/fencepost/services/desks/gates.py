"""What can be done with closed catch-up gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.errors import UsageError
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import ScheduleId
from fencepost.services.desks.desk import Desk


@dataclass(frozen=True)
class GateView:
    """A closed gate, and how many of what it holds would run at a time once it is open."""

    gate: ClosedGate
    at_once: int

    @property
    def lasts_s(self) -> float | None:
        """How long what is held would take, as far as one can tell."""
        load_s = self.gate.load_s
        return None if load_s is None else load_s / self.at_once


class GateDesk(Desk):
    """The gates of one namespace."""

    async def closed(self) -> Sequence[GateView]:
        """All closed gates, by schedule."""
        gates = await self._store.gates.closed(self._namespace)
        return [GateView(one, await self._at_once(one.schedule_id)) for one in gates]

    async def decide(self, schedule_id: str, decision: GateDecision) -> int:
        """Open a closed gate; how many runs were released."""
        released = await self._store.gates.decide(
            self._namespace, ScheduleId(schedule_id), decision, self._author
        )
        if released is None:
            raise UsageError(f"gate {schedule_id}: is not closed; see: fencepost gate list")
        return released

    async def _at_once(self, schedule_id: ScheduleId) -> int:
        schedule = await self._store.schedules.get(self._namespace, schedule_id)
        if schedule is None:
            return 1
        most = schedule.spec.overlap.at_once_max
        at_once = schedule.spec.catch_up.at_once
        return at_once if most is None else min(at_once, most)
