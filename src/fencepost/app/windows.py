"""Jobs beside the schedules that the code has of them, where their retries may outgrow the period."""

from __future__ import annotations

from fencepost.clock import SystemClock
from fencepost.core.caveats import LOOKED_AT
from fencepost.core.retry_window import fitted
from fencepost.errors import InvalidTrigger, SearchTooLong
from fencepost.model.job import JobSpec
from fencepost.model.schedule import ScheduleSpec
from fencepost.triggers import stored_trigger


def fitting_job(job: JobSpec, spec: ScheduleSpec, schedule_id: str) -> JobSpec:
    """The job as its `retry_window` has it. What needs the calendars of a store is looked at by the store's
    checks only."""
    try:
        upcoming = stored_trigger(spec, schedule_id).next(SystemClock().wall(), LOOKED_AT)
    except (InvalidTrigger, SearchTooLong):
        return job
    return fitted(upcoming, job, spec.overlap)
