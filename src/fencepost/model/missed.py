"""Ranges of missed ticks: many ticks that cannot run any more, counted in one row instead of one each."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, ScheduleId


class MissedTicks(NamedTuple):
    """Fire times that are already missed when they are planned, ascending, and why."""

    fire_times: tuple[datetime, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class MissedRange:
    """`count` ticks of one version from the first to the last fire time have no row of their own.

    Ticks of the range that do have a run (such as one that was called off by name) are not counted here.
    """

    namespace: Namespace
    schedule_id: ScheduleId
    version: int
    first: datetime
    last: datetime
    count: int
    reason: str
