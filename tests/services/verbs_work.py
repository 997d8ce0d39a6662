"""A schedule at a control, and somebody who acts there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from fencepost.model.audit import Action, Author, LogFilter
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.triggers import Every
from tests.services.house import NS, START, House, PlanningNode

ANNA = Author("anna", "cli on web-3", "the bank is closed")


def spec(every_s: float = 60, **rest: Any) -> ScheduleSpec:
    return ScheduleSpec(JobName("report"), Every(every_s).to_json(), **rest)


async def open_control(house: House, **rest: Any) -> Control:
    job = JobSpec(JobName("report"), retry=Retry(1))
    await house.memory.jobs.register(NS, [job])
    control = Control(house.store, NS, ANNA)
    await schedule_operations.add(control, "invoices", spec(**rest))
    return control


async def plan(house: House) -> None:
    node = PlanningNode(house, "planner")
    await node.elector.run_once()
    await node.planner.run_once()


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


async def logged(control: Control, **wanted: Any) -> list[tuple[Action, str]]:
    """What was done and to what, oldest first."""
    entries = await control.log(LogFilter(**wanted))
    assert all(one.author == ANNA for one in entries)
    return [(one.action, one.subject) for one in reversed(entries)]
