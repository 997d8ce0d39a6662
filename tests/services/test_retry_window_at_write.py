"""A job that refuses schedules which its retries outgrow has them refused whoever writes them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.audit import PROGRAM
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry, RetryWindow
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.triggers import Every
from tests.services.house import NS, House

JOB = JobName("report")


@pytest.mark.parametrize(("policy", "is_written"), [(RetryWindow.REFUSE, False), (RetryWindow.WARN, True)])
async def test_a_schedule_that_retries_outgrow_is_refused_where_the_job_says_so(
    policy: RetryWindow, is_written: bool
) -> None:
    house = House()
    retry = Retry(5, "30m", "2h")
    job = JobSpec(JOB, retry=retry, timeout=timedelta(minutes=1), retry_window=policy)
    await house.memory.jobs.register(NS, [job])
    control = Control(house.memory, NS, PROGRAM)
    await schedule_operations.add(control, "daily", ScheduleSpec(JOB, trigger=Every("1d").to_json()))
    if is_written:
        await schedule_operations.add(control, "hourly", ScheduleSpec(JOB, trigger=Every("1h").to_json()))
        return
    with pytest.raises(InvalidSpec, match="retry_window refuse: job report: its retries may go on for"):
        await schedule_operations.add(control, "hourly", ScheduleSpec(JOB, trigger=Every("1h").to_json()))
