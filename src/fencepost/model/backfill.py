"""A backfill: a range of fire times that an operator asked to run after the fact."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, assert_never

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.run import RunState


class FillMode(StrEnum):
    """Which fire times of the range run."""

    MISSING = "missing"
    """Those that nothing accounts for: no run that was not withdrawn, and no missed range."""
    MISSED = "missed"
    """Also those that were missed or skipped; their own runs are replayed."""
    ALL = "all"
    """Also those that ended in any other way. What waits or runs is left alone."""


def runs_again(mode: FillMode, state: RunState) -> bool:
    """Whether a run in that state is replayed."""
    match mode:
        case FillMode.MISSING:
            return False
        case FillMode.MISSED:
            return state in (RunState.MISSED, RunState.SKIPPED)
        case FillMode.ALL:
            return state not in (RunState.PLANNED, RunState.READY, RunState.RUNNING)
        case _ as never:
            assert_never(never)


class BackfillState(StrEnum):
    """`active` while fire times are still to be written; `filled` when all are; `cancelled` by an
    operator."""

    ACTIVE = "active"
    FILLED = "filled"
    CANCELLED = "cancelled"


class FillTick(NamedTuple):
    """A fire time of the range, and the version under whose key it runs."""

    fire_time: datetime
    version: int


@dataclass(frozen=True, slots=True)
class NewBackfill:
    """The request: the fire times in (since, until], `at_once_max` of them at a time, one every `every_s`."""

    schedule_id: ScheduleId
    since: datetime
    until: datetime
    mode: FillMode = FillMode.MISSING
    at_once_max: int = 1
    every_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Backfill:
    """A backfill as the store holds it; `filled_through` is how far its fire times have been written."""

    backfill_id: int
    namespace: Namespace
    request: NewBackfill
    state: BackfillState
    filled_through: datetime
    created_at: StoreTime
    runs: Mapping[RunState, int]
    """Its runs by state, as shown."""

    @property
    def waiting(self) -> int:
        """How many of its runs no worker has begun."""
        return self.runs.get(RunState.PLANNED, 0) + self.runs.get(RunState.READY, 0)

    @property
    def over(self) -> bool:
        """Whether it has no run still to come."""
        running = self.runs.get(RunState.RUNNING, 0)
        return self.state is not BackfillState.ACTIVE and not self.waiting and not running
