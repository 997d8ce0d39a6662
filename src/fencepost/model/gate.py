"""The catch-up gate of a schedule, as operators see it."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from enum import StrEnum

from fencepost.errors import InvalidSpec
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_from_text
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import ScheduleSpec


class GateDecision(StrEnum):
    """What an operator does with a closed gate; each of them opens it."""

    OPEN = "open"
    """All that is held runs."""
    LATEST = "latest"
    """Only the newest of them runs; the others are missed."""
    DROP = "drop"
    """None of them runs: all are missed."""


@dataclass(frozen=True, slots=True)
class ClosedGate:
    """A gate that waits for a decision, and what it holds.

    `run_s` is how long the last successful runs of the schedule took on average, None where there are none.
    `spec_text` is the schedule's last spec as it is stored: gates are read often, and their specs rarely.
    """

    namespace: Namespace
    schedule_id: ScheduleId
    closed_at: StoreTime
    reason: str
    held: int
    oldest: datetime | None
    newest: datetime | None
    run_s: float | None
    spec_text: str | None = field(default=None, repr=False)

    @property
    def spec(self) -> ScheduleSpec | None:
        """The schedule's last spec; None where a newer release wrote it. The gate can be opened all the
        same."""
        try:
            return None if self.spec_text is None else schedule_from_text(self.spec_text)
        except InvalidSpec:
            return None

    @property
    def at_once(self) -> int:
        """How many of the runs that it holds would run at a time once it is open."""
        spec = self.spec
        if spec is None:
            return 1
        most, at_once = spec.overlap.at_once_max, spec.catch_up.at_once
        return at_once if most is None else min(at_once, most)

    @property
    def lasts_s(self) -> float | None:
        """How long the held runs would take, as an estimate."""
        return None if self.load_s is None else self.load_s / self.at_once

    @property
    def load_s(self) -> float | None:
        """How much work is held, as an estimate."""
        return None if self.run_s is None else self.held * self.run_s
