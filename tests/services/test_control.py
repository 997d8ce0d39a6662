"""The people's verbs: what they refuse, they refuse in one line that helps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from fencepost.errors import (
    FencepostError,
    InvalidPayload,
    InvalidSpec,
    InvalidTrigger,
    ScheduleExists,
    UnknownJob,
    UnknownRun,
    UnknownSchedule,
    UsageError,
)
from fencepost.model.enqueue_options import EnqueueOptions
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.run import RunFilter, RunState
from fencepost.model.schedule import ScheduleSpec, ScheduleState
from fencepost.operations import jobs as job_operations
from fencepost.operations import pausing
from fencepost.operations import runs as run_operations
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.operations.status import StatusRequest, show_status
from fencepost.services.lookups import all_schedules
from fencepost.triggers import Every
from tests.services.house import NS, House, PlanningNode

Verb = Callable[[Control], Awaitable[Any]]

UNZONED = EnqueueOptions(at=datetime(2026, 3, 1))  # noqa: DTZ001


def spec(job: str = "report", seconds: int = 60, **payload: Any) -> ScheduleSpec:
    return ScheduleSpec(JobName(job), Every(seconds).to_json(), payload)


async def open_control(house: House) -> Control:
    jobs = [
        JobSpec(JobName("report"), parameters=(Parameter("month", required=False, kind="integer"),)),
        JobSpec(JobName("resize")),
    ]
    await house.memory.jobs.register(NS, jobs)
    control = Control(house.store, NS)
    await schedule_operations.add(control, "invoices", spec())
    return control


REFUSALS: dict[str, tuple[Verb, type[FencepostError], str]] = {
    "unknown schedule": (
        lambda c: c.schedule("zzz"),
        UnknownSchedule,
        "schedule zzz: not found; see: fencepost schedules list",
    ),
    "near schedule": (
        lambda c: pausing.pause(c, "invoces"),
        UnknownSchedule,
        "schedule invoces: not found; did you mean invoices?",
    ),
    "history of nothing": (
        lambda c: c.versions("invoice"),
        UnknownSchedule,
        "schedule invoice: not found; did you mean invoices?",
    ),
    "trigger of nothing": (
        lambda c: schedule_operations.trigger(c, "invoice"),
        UnknownSchedule,
        "schedule invoice: not found; did you mean invoices?",
    ),
    "exists": (
        lambda c: schedule_operations.add(c, "invoices", spec()),
        ScheduleExists,
        "schedule invoices: exists already; use: fencepost schedules edit",
    ),
    "changed meanwhile": (
        lambda c: schedule_operations.edit(c, "invoices", spec(seconds=30), expected_version=7),
        UsageError,
        "schedule invoices: was changed meanwhile; look at it and edit again",
    ),
    "not paused": (
        lambda c: pausing.resume(c, "invoices"),
        UsageError,
        "schedule invoices: is not paused",
    ),
    "bad name": (
        lambda c: schedule_operations.add(c, "a b", spec()),
        InvalidSpec,
        "schedule 'a b': expected 1 to 200 letters",
    ),
    "near job": (
        lambda c: schedule_operations.add(c, "x", spec("reprot")),
        UnknownJob,
        "job reprot: not registered in this store; did you mean report?",
    ),
    "unknown job": (
        lambda c: job_operations.enqueue_run(c, "zzz", {}),
        UnknownJob,
        "job zzz: not registered in this store; registered: report, resize",
    ),
    "bad trigger": (
        lambda c: schedule_operations.add(c, "x", ScheduleSpec(JobName("report"), {"v": 1, "kind": "moon"})),
        InvalidTrigger,
        'trigger kind "moon" is unknown',
    ),
    "bad payload of a schedule": (
        lambda c: schedule_operations.add(c, "x", spec(moth=3)),
        InvalidPayload,
        "payload of job report: unknown name 'moth'; it takes month",
    ),
    "bad payload of a run": (
        lambda c: job_operations.enqueue_run(c, "report", {"month": "3"}),
        InvalidPayload,
        "payload of job report: month = '3': expected integer",
    ),
    "a time without a zone": (
        lambda c: job_operations.enqueue_run(c, "report", {}, options=UNZONED),
        UsageError,
        "time 2026-03-01T00:00:00: expected one with a zone",
    ),
    "unknown run": (
        lambda c: run_operations.run_with_attempts(c, "report#9"),
        UnknownRun,
        "run report#9: not found; see: fencepost runs",
    ),
    "cancel of nothing": (
        lambda c: run_operations.cancel(c, "report#9"),
        UnknownRun,
        "run report#9: not found",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_refused_in_one_line_and_without_a_trace(name: str) -> None:
    house = House()
    control = await open_control(house)
    verb, kind, complaint = REFUSALS[name]
    with pytest.raises(kind) as caught:
        await verb(control)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)
    assert await house.runs() == []
    assert [one.schedule_id async for one in all_schedules(control.store, control.namespace)] == ["invoices"]
    assert (await control.schedule("invoices")).version == 1


async def test_a_pause_withdraws_and_a_resume_fires_nothing_of_the_pause() -> None:
    house = House()
    control = await open_control(house)
    await plan(house)
    await pausing.pause(control, "invoices")
    assert await house.states() == [RunState.WITHDRAWN]
    with pytest.raises(UsageError, match="is not active"):
        await pausing.pause(control, "invoices")
    house.clock.advance(600)
    await pausing.resume(control, "invoices")
    await plan(house)
    fire_times = [one.fire_time for one in await house.runs() if one.state is not RunState.WITHDRAWN]
    assert min(fire_times) > house.clock.wall()


async def test_a_removed_schedule_is_gone_but_its_history_is_not() -> None:
    house = House()
    control = await open_control(house)
    await schedule_operations.remove(control, "invoices")
    with pytest.raises(UnknownSchedule):
        await control.schedule("invoices")
    with pytest.raises(UnknownSchedule):
        await schedule_operations.trigger(control, "invoices")
    assert len(await control.versions("invoices")) == 1
    again = await schedule_operations.add(control, "invoices", spec())
    assert (again.version, again.state) == (2, ScheduleState.ACTIVE)


async def test_an_edit_against_the_version_that_was_seen_is_taken() -> None:
    control = await open_control(House())
    edited = await schedule_operations.edit(control, "invoices", spec(seconds=30), expected_version=1)
    assert (edited.version, edited.spec) == (2, spec(seconds=30))


async def test_the_same_key_enqueues_once() -> None:
    house = House()
    control = await open_control(house)
    first, second = [
        await job_operations.enqueue_run(control, "report", {"month": 3}, key="march") for _ in range(2)
    ]
    assert (first, second) == (("report#march", True), ("report#march", False))
    assert len(await house.runs()) == 1


async def test_runs_without_a_key_do_not_meet() -> None:
    house = House()
    control = await open_control(house)
    (one, fresh_one), (two, fresh_two) = [
        await job_operations.enqueue_run(control, "report", {}) for _ in range(2)
    ]
    assert one != two
    assert fresh_one is fresh_two is True


async def test_a_run_for_later_is_not_due_now() -> None:
    house = House()
    control = await open_control(house)
    later = house.clock.wall() + timedelta(hours=1)
    run_key, _ = await job_operations.enqueue_run(control, "report", {}, options=EnqueueOptions(at=later))
    run, attempts = await run_operations.run_with_attempts(control, run_key)
    assert (run.state, run.run_at, attempts) == (RunState.PLANNED, later, [])


async def test_a_waiting_run_is_cancelled_for_good() -> None:
    house = House()
    control = await open_control(house)
    run_key, _ = await job_operations.enqueue_run(control, "report", {})
    assert (await run_operations.cancel(control, run_key, "not today")).state is RunState.CANCELLED
    assert (await run_operations.cancel(control, run_key, "again")).reason == "not today"


async def test_an_extra_tick_is_due_now_and_listed_first() -> None:
    house = House()
    control = await open_control(house)
    house.clock.advance(7)
    run_key = await schedule_operations.trigger(control, "invoices")
    assert run_key == "invoices#2026-03-01T12:00:07Z#1"
    (run,) = await run_operations.find_runs(control, RunFilter(state=RunState.READY))
    assert run.run_key == run_key


async def test_status_shows_leases_nodes_queue_and_tally() -> None:
    house = House(shards=2)
    control = await open_control(house)
    await plan(house)
    await job_operations.enqueue_run(control, "report", {})
    status = await show_status.carry_out(control, StatusRequest())
    assert [one.shard for one in status.shards] == [0, 1]
    assert {one.holder for one in status.shards} == {"planner"}
    assert [one.node_id for one in status.nodes] == ["planner"]
    assert (status.queue.ready, status.queue.running) == (1, 0)
    assert status.completeness.states["ready"] == 1


async def test_all_schedules_are_walked_through_whatever_the_page() -> None:
    house = House()
    control = await open_control(house)
    for number in range(1_100):
        await house.put(f"beat-{number:04}")
    assert len([one async for one in all_schedules(control.store, control.namespace)]) == 1_101


async def plan(house: House) -> None:
    node = PlanningNode(house, "planner")
    await node.elector.run_once()
    await node.planner.run_once()
