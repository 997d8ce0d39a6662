"""Quotas: how much of a shared store one namespace may use."""

from __future__ import annotations

import math
import sys
from enum import StrEnum

from fencepost.model.dataclasses import dataclass


class Quota(StrEnum):
    """A bound. Its name is that of the field of `Quotas`, and of the setting without `quota_`."""

    SCHEDULES = "schedules"
    INTERVAL_S = "interval_s"
    PLANNED_PER_S = "planned_per_s"
    ENQUEUES_PER_S = "enqueues_per_s"


@dataclass(frozen=True)
class Quotas:
    """The bounds of one namespace: schedules that are not removed, the least seconds between two fire times
    of one, runs that a planner writes per second, and runs made by requests over HTTP per second."""

    schedules: int = 100_000
    interval_s: float = 0.1
    planned_per_s: float = 1_000.0
    enqueues_per_s: float = 10_000.0


UNLIMITED = Quotas(schedules=sys.maxsize, planned_per_s=math.inf, enqueues_per_s=math.inf)
"""For callers that only read, or that are bounded elsewhere."""
