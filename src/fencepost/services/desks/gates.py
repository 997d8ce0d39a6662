"""What can be done with closed catch-up gates."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.errors import UnknownGate
from fencepost.model.dataclasses import dataclass
from fencepost.model.gate import ClosedGate, GateDecision
from fencepost.model.identifiers import ScheduleId
from fencepost.model.schedule import ScheduleSpec
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
        return [GateView(one, _at_once(one.spec)) for one in gates]

    async def decide(self, schedule_id: str, decision: GateDecision) -> int:
        """Open a closed gate; how many runs were released."""
        released = await self._store.gates.decide(
            self._namespace, ScheduleId(schedule_id), decision, self._author
        )
        if released is None:
            raise UnknownGate(f"gate {schedule_id}: is not closed; see: fencepost gate list")
        return released


def _at_once(spec: ScheduleSpec | None) -> int:
    if spec is None:
        return 1
    most, at_once = spec.overlap.at_once_max, spec.catch_up.at_once
    return at_once if most is None else min(at_once, most)
