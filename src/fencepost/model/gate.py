"""The catch-up gate of a schedule, as operators see it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Namespace, ScheduleId


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
    """

    namespace: Namespace
    schedule_id: ScheduleId
    closed_at: StoreTime
    reason: str
    held: int
    oldest: datetime | None
    newest: datetime | None
    run_s: float | None

    @property
    def load_s(self) -> float | None:
        """How much work is held, as far as one can tell."""
        return None if self.run_s is None else self.held * self.run_s
