"""Reconciling: the keys that another system has, held against the ledger.

The other system noted the key of each run for which it did something. Each key is judged by the run that the
ledger has under it, within bounds: a schedule, a job, and a range of fire times. A run under way is not
judged: its effect may be there before its success is. Nor is a tick that retention may have removed. An
unknown key of a run by hand names no time, so it is within every range.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, RunKey, ScheduleId, named_tick
from fencepost.model.run import RunRecord, RunState

UNKNOWN = "the ledger has no such run"


class KeyVerdict(StrEnum):
    """What a key that another system has turns out to be."""

    SUCCEEDED = "succeeded"
    RUNNING = "running"
    WITHOUT_RUN = "without_run"
    """The ledger has no run that did it."""
    OUTSIDE = "outside"
    """Of another schedule, job or time than is asked for."""
    FORGOTTEN = "forgotten"
    """Retention may have removed its run."""


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """Which runs are asked for: with a fire time from `since` to `until`, both included. `jobs` are the names
    of one job; without any, runs of every job."""

    since: datetime
    until: datetime
    schedule_id: ScheduleId | None = None
    jobs: Collection[JobName] = ()
    forgotten_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class JudgedKey:
    """A key and what it is; `words` say why where it should not be there."""

    run_key: RunKey
    verdict: KeyVerdict
    words: str | None = None


def judged_key(run_key: RunKey, run: RunRecord | None, bounds: KeyBounds) -> JudgedKey:
    """What to say of a key that another system has, by the run that the ledger has under it."""
    if run is None:
        return _unknown(run_key, bounds)
    of_schedule = bounds.schedule_id in (None, run.schedule_id)
    of_job = not bounds.jobs or run.job in bounds.jobs
    if not (of_schedule and of_job and bounds.since <= run.fire_time <= bounds.until):
        return JudgedKey(run_key, KeyVerdict.OUTSIDE)
    if run.state is RunState.SUCCEEDED:
        return JudgedKey(run_key, KeyVerdict.SUCCEEDED)
    if run.state is RunState.RUNNING:
        return JudgedKey(run_key, KeyVerdict.RUNNING)
    why = f": {run.reason}" if run.reason else ""
    return JudgedKey(run_key, KeyVerdict.WITHOUT_RUN, f"its run is {run.state}{why}")


def _unknown(run_key: RunKey, bounds: KeyBounds) -> JudgedKey:
    tick = named_tick(run_key)
    if tick is None:
        job = run_key.partition("#")[0]
        outside = bounds.schedule_id is not None or (bounds.jobs and job not in bounds.jobs)
        return JudgedKey(run_key, KeyVerdict.OUTSIDE) if outside else _without_run(run_key)
    schedule_id, fire_time = tick
    of_schedule = bounds.schedule_id in (None, schedule_id)
    if not (of_schedule and bounds.since <= fire_time <= bounds.until):
        return JudgedKey(run_key, KeyVerdict.OUTSIDE)
    if bounds.forgotten_before is not None and fire_time < bounds.forgotten_before:
        return JudgedKey(run_key, KeyVerdict.FORGOTTEN)
    return _without_run(run_key)


def _without_run(run_key: RunKey) -> JudgedKey:
    return JudgedKey(run_key, KeyVerdict.WITHOUT_RUN, UNKNOWN)
