"""The operators' verbs: what they change, in whose name, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fencepost.errors import PermanentFailure, UnknownRun
from fencepost.model.audit import PROGRAM, Action, LogFilter
from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.run import Origin, RunFilter, RunState
from fencepost.operations import jobs as job_operations
from fencepost.operations import pausing, schedule_writing
from fencepost.operations import runs as run_operations
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.operations.responses.schedules import Resumed
from fencepost.operations.status import StatusRequest, show_status
from tests.services.house import NS, START, House, WorkingNode, make_job
from tests.services.verbs_work import at, logged, open_control, plan, spec


async def test_every_change_is_written_down_in_the_authors_name() -> None:
    house = House()
    control = await open_control(house)
    await schedule_operations.edit(control, "invoices", spec(30), expected_version=1)
    await schedule_operations.trigger(control, "invoices")
    await pausing.pause(control, "invoices")
    await pausing.resume(control, "invoices")
    await job_operations.enqueue_run(control, "report", {}, key="1")
    await run_operations.hold(control, "report#1")
    await run_operations.release(control, "report#1")
    await run_operations.cancel(control, "report#1")
    await run_operations.replay(control, ["report#1"])
    await schedule_operations.remove(control, "invoices")
    assert [action for action, _ in await logged(control)] == [
        Action.SCHEDULE_PUT,
        Action.SCHEDULE_PUT,
        Action.SCHEDULE_TRIGGER,
        Action.SCHEDULE_PAUSE,
        Action.SCHEDULE_RESUME,
        Action.RUN_ENQUEUE,
        Action.RUN_HOLD,
        Action.RUN_RELEASE,
        Action.RUN_CANCEL,
        Action.RUN_REPLAY,
        Action.SCHEDULE_REMOVE,
    ]


async def test_a_program_that_does_not_say_who_asked_is_the_author_itself() -> None:
    house = House()
    await house.put("invoices")
    await pausing.pause(Control(house.store, NS), "invoices")
    (entry,) = await house.memory.audit_log.list(NS, LogFilter())
    assert entry.author == PROGRAM


async def test_a_reason_is_told_to_the_runs_too() -> None:
    house = House()
    control = await open_control(house)
    await plan(house)
    await pausing.pause(control, "invoices")
    (run,) = await house.runs()
    assert run.reason == "the schedule was paused: the bank is closed"
    await job_operations.enqueue_run(control, "report", {}, key="1")
    assert (
        await run_operations.cancel(control, "report#1")
    ).reason == "cancelled by an operator: the bank is closed"


async def resumed_after(house: House, control: Control, pause_s: float, **how: Any) -> Resumed:
    await pausing.pause(control, "invoices")
    house.clock.advance(pause_s)
    resumed = await pausing.resume(control, "invoices", **how)
    await plan(house)
    return resumed


@pytest.mark.parametrize(
    ("catch_up", "how", "from_s", "fired"),
    [
        (CatchUp(), {}, None, 0),
        (CatchUp("sequential", "5m"), {}, 301, 5),
        (CatchUp("sequential", "1h"), {}, 1, 10),
        (CatchUp("sequential", "5m"), {"catch_up": False}, None, 0),
        (CatchUp("latest", "5m"), {}, 301, 5),
    ],
)
async def test_a_resume_catches_up_what_the_policy_asks_for_and_no_more(
    catch_up: CatchUp, how: dict[str, Any], from_s: float | None, fired: int
) -> None:
    house = House()
    control = await open_control(house, catch_up=catch_up)
    house.clock.advance(1)
    resumed = await resumed_after(house, control, 600, **how)
    assert resumed.caught_up_from == (None if from_s is None else at(from_s))
    past = [one for one in await house.runs("invoices") if one.fire_time <= house.clock.wall()]
    assert len(past) == fired
    assert all(one.fire_time > at(from_s or 0) for one in past)


async def test_after_an_edit_in_the_pause_only_what_follows_it_is_caught_up() -> None:
    house = House()
    control = await open_control(house, catch_up=CatchUp("sequential", "1h"))
    await pausing.pause(control, "invoices")
    house.clock.advance(400)
    again = spec(30, catch_up=CatchUp("sequential", "1h"))
    await schedule_operations.edit(control, "invoices", again, expected_version=1)
    house.clock.advance(200)
    resumed = await pausing.resume(control, "invoices")
    assert resumed.caught_up_from == at(400)


async def test_a_schedule_that_may_surprise_has_caveats() -> None:
    house = House()
    control = await open_control(house, catch_up=CatchUp("parallel(4)"))
    (line,) = await schedule_writing.caveats_of(control, await control.schedule("invoices"))
    assert "works like sequential" in line
    other = await schedule_operations.add(
        control, "fine", spec(overlap=parse_overlap("allow"), catch_up=CatchUp("parallel(4)"))
    )
    assert await schedule_writing.caveats_of(control, other) == []


@pytest.mark.parametrize("verb", ["skip", "hold", "release"])
async def test_a_run_that_is_not_there_is_refused(verb: str) -> None:
    control = await open_control(House())
    with pytest.raises(UnknownRun, match="run report#9: not found"):
        await getattr(run_operations, verb)(control, "report#9")


async def test_many_runs_are_replayed_at_the_pace_of_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_operations, "BATCH_MAX", 3)
    house = House()
    control = await open_control(house)
    keys = [await house.enqueue(f"{number}") for number in range(7)]
    for key in keys:
        await run_operations.cancel(control, key)
    assert sorted(
        await run_operations.replay(control, [*keys, keys[0], "report#none"], every_s=10)
    ) == sorted(keys)
    runs = await run_operations.find_runs(control, RunFilter(origin=Origin.REPLAY))
    waits_s = sorted((one.run_at - START).total_seconds() for one in runs)
    assert waits_s == [0, 10, 20, 30, 40, 50, 60]


async def test_a_replay_of_the_dead_leaves_those_that_are_not_dead_any_more() -> None:
    house = House()
    control = await open_control(house)
    worker = WorkingNode(house, make_job(fail, attempts=1))
    keys = [await house.enqueue(one) for one in ("dead", "cancelled")]
    await run_operations.cancel(control, keys[1])
    await worker.work()
    assert [(await house.run(one)).state for one in keys] == [RunState.DEAD, RunState.CANCELLED]
    only = frozenset({RunState.DEAD})
    replayed = [
        one async for batch in run_operations.replaying(control, keys, 0.0, only=only) for one in batch
    ]
    assert replayed == keys[:1]
    assert await run_operations.replay(control, keys) == keys[1:]


def fail() -> None:
    raise PermanentFailure("no fuel")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 20])
async def test_runs_are_read_to_the_last_one_also_where_a_page_ends_amid_a_fire_time(limit: int) -> None:
    house = House()
    control = await open_control(house)
    for seconds in range(3):
        for number in range(seconds * 2 + 1):
            await house.enqueue(f"{seconds}-{number}")
        house.clock.advance(1)
    found, wanted = list[str](), RunFilter(limit=limit)
    while True:
        page = await run_operations.find_runs(control, replace(wanted, limit=limit + 1))
        found += [one.run_key for one in page[:limit]]
        place = page.following(limit)
        if place is None:
            break
        wanted = replace(wanted, after=place)
    assert len(found) == len(set(found)) == 9
    assert found == [one.run_key for one in await run_operations.find_runs(control, RunFilter(limit=100))]


async def test_status_counts_what_needs_a_person_and_not_what_waits_for_its_turn() -> None:
    house = House()
    control = await open_control(house)
    for number in range(3):
        await house.enqueue(f"{number}")
    await run_operations.hold(control, "report#0")
    await run_operations.cancel(control, "report#1")
    status = await show_status.carry_out(control, StatusRequest())
    assert (status.attention.dead, status.attention.held, status.gates) == (0, 1, [])
