"""Caveats: what a schedule may say, but what may surprise its author."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from fencepost.core.retry_window import outgrows, retry_window
from fencepost.model.job import JobSpec
from fencepost.model.policies import CatchUpMode
from fencepost.model.schedule import ScheduleSpec

LOOKED_AT = 50
"""The number of fire times among which the shortest period is looked for."""


def caveats(job: JobSpec, spec: ScheduleSpec, fire_times: Sequence[datetime]) -> list[str]:
    """One line each; `fire_times` are the next ones of the schedule."""
    found = (_retries_outgrow(job, spec, fire_times), _parallel_is_one_by_one(spec))
    return [one for one in found if one is not None]


def _retries_outgrow(job: JobSpec, spec: ScheduleSpec, fire_times: Sequence[datetime]) -> str | None:
    """Warn of retries that outlast the period. A job without a timeout may go on for ever with or without
    retries, and most jobs do not: for such a job only the delays count."""
    period = min((later - earlier for earlier, later in pairwise(fire_times)), default=None)
    if period is None:
        return None
    window = retry_window(job.retry, job.timeout or timedelta())
    assert window is not None
    return outgrows(period, job, spec.overlap) if window > period else None


def _parallel_is_one_by_one(spec: ScheduleSpec) -> str | None:
    most, catch_up = spec.overlap.at_once_max, spec.catch_up
    if catch_up.mode is not CatchUpMode.PARALLEL or most is None or catch_up.at_once <= most:
        return None
    works_like = "sequential" if most == 1 else f"parallel({most})"
    return (
        f"catch_up {catch_up.words}: overlap {spec.overlap} lets {most} run at a time, so it works like "
        f"{works_like}; fix: overlap allow({catch_up.at_once})"
    )
