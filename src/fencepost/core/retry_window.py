"""Retry window: how long one run may keep its schedule busy with attempts.

It reaches from the start of the first attempt to the end of the last, when every delay is as long as its
bound and every attempt as its timeout. A `Retry-After`, and the pace of the cap once a budget is spent, can
stretch it further, up to the deadline if there is one. They are the exception, and no warning covers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from fencepost.core.retry import delay_max_s
from fencepost.errors import InvalidSpec
from fencepost.model.durations import format_duration
from fencepost.model.job import JobSpec, Retry, RetryWindow
from fencepost.model.policies import Overlap


def retry_window(retry: Retry, timeout: timedelta | None) -> timedelta | None:
    """From the first start to the last end, at worst; None where no timeout ends an attempt."""
    if timeout is None:
        return None
    delays_s = sum(delay_max_s(retry, attempt) for attempt in range(1, retry.max_attempts))
    last_start = timedelta(seconds=delays_s) + (retry.max_attempts - 1) * timeout
    if retry.deadline is not None:
        last_start = min(last_start, retry.deadline)
    return last_start + timeout


def outgrows(period_min: timedelta, job: JobSpec, overlap: Overlap) -> str | None:
    """One line of warning where retries of one tick can keep the next from starting; None where not.

    `period_min` is the shortest time between two ticks of the schedule."""
    retries = job.retry.max_attempts > 1 and not job.at_most_once
    if not retries or overlap.at_once_max != 1:
        return None
    window = retry_window(job.retry, job.timeout)
    if window is not None and window <= period_min:
        return None
    return (
        f"job {job.name}: {_length(window)} the period of {format_duration(period_min)}, "
        f"and overlap {overlap} lets no other tick start meanwhile; fix: {_remedy(period_min, job)}"
    )


def fitted(fire_times: Sequence[datetime], job: JobSpec, overlap: Overlap) -> JobSpec:
    """The job beside a schedule with these next fire times, as its `retry_window` asks: unchanged, with a
    retry deadline that leaves room for the last attempt, or refused.

    A job without a timeout may go on for ever with or without retries: for such a job only the delays
    count."""
    period = min((later - earlier for earlier, later in pairwise(fire_times)), default=None)
    if period is None or job.retry_window is RetryWindow.WARN:
        return job
    window = retry_window(job.retry, job.timeout or timedelta())
    warning = outgrows(period, job, overlap) if window is None or window > period else None
    if warning is None:
        return job
    room = period - (job.timeout or timedelta())
    if job.retry_window is RetryWindow.REFUSE or room <= timedelta():
        raise InvalidSpec(f"retry_window {job.retry_window}: {warning}")
    return replace(job, retry=replace(job.retry, deadline=min(job.retry.deadline or room, room)))


def _length(window: timedelta | None) -> str:
    if window is None:
        return "it has no timeout, so its retries may outlast"
    return f"its retries may go on for {format_duration(window)}, longer than"


def _remedy(period_min: timedelta, job: JobSpec) -> str:
    """What would help: a deadline only where it leaves room for the last attempt."""
    if job.timeout is None:
        return "a timeout, or overlap allow"
    if job.timeout >= period_min:
        return "a timeout shorter than the period, or overlap allow"
    deadline = format_duration(period_min - job.timeout)
    return (
        f"a retry deadline of {deadline}, a shorter cap, fewer attempts, a shorter timeout or overlap allow"
    )
