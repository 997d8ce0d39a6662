"""Searches for fire times are made aside, never by the thread of the event loop, whoever asks for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import pytest

from fencepost.errors import UsageError
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec
from fencepost.operations.audit import AuditRequest, RepairRequest, audit, repair
from fencepost.operations.backfills import (
    ChangeBackfillRequest,
    EstimateBackfillRequest,
    StartBackfillRequest,
    estimate_backfill,
    fill_backfill,
    start_backfill,
)
from fencepost.operations.control import Control
from fencepost.operations.runs import RunRequest
from fencepost.operations.schedules import (
    AddScheduleRequest,
    EditScheduleRequest,
    ScheduleRequest,
    add_schedule,
    edit_schedule,
    show_schedule,
)
from fencepost.operations.ticks import ChangeTickRequest, skip_tick
from fencepost.operations.triggers import NextTimesRequest, TriggerRequest, explain, show_next
from fencepost.operations.why import TickRequest, why_run, why_tick
from fencepost.services.backfiller import Backfiller
from fencepost.services.offload import OffloadThreads
from fencepost.triggers import Every
from tests.operations.asking import asked
from tests.operations.test_audit import World
from tests.services.house import NS
from tests.services.verbs_work import ANNA

FIRES, NEVER = "2026-03-01T12:01:00Z", "2026-03-01T12:01:05Z"
SINCE, UNTIL = "2026-03-01T12:00:30Z", "2026-03-01T12:01:30Z"

QUESTIONS: dict[str, tuple[Any, Any]] = {
    "why a tick": (why_tick, TickRequest(schedule_id="beat", fire_time=FIRES)),
    "why no tick": (why_tick, TickRequest(schedule_id="beat", fire_time=NEVER)),
    "why a run": (why_run, RunRequest(run_key="beat#2026-03-01T12:01:00Z#1")),
    "audit": (audit, AuditRequest()),
    "repair": (repair, RepairRequest()),
    "estimate": (estimate_backfill, EstimateBackfillRequest(schedule_id="beat", since=SINCE, until=UNTIL)),
    "skip no tick": (skip_tick, ChangeTickRequest(schedule_id="beat", fire_time=NEVER)),
    "skip a tick": (skip_tick, ChangeTickRequest(schedule_id="beat", fire_time="2026-03-01T13:00:00Z")),
    "show": (show_schedule, ScheduleRequest(schedule_id="beat")),
    "add": (add_schedule, AddScheduleRequest(schedule_id="other", job="report", every="7s")),
    "edit": (edit_schedule, EditScheduleRequest(schedule_id="beat", every="7s")),
    "dry run": (edit_schedule, EditScheduleRequest(schedule_id="beat", every="7s", dry_run=True)),
    "next": (show_next, NextTimesRequest(expression="every 7s")),
    "previous": (show_next, NextTimesRequest(expression="every 7s", previous=True)),
    "explain": (explain, TriggerRequest(expression="every 7s")),
}
REFUSED = {"skip no tick"}


@pytest.fixture
async def world() -> World:
    """A ledger with one tick missing."""
    world = World()
    await world.begin()
    await world.memory.jobs.register(NS, [JobSpec(JobName("report"))])
    world.delete(world.key(50))
    return world


@pytest.fixture
def searched_by(world: World, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads that asked a trigger for fire times."""
    threads: set[str] = set()

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def note(*args: Any) -> Any:
            threads.add(threading.current_thread().name)
            return method(*args)

        return note

    def walked(trigger: Every, after: datetime, through: datetime) -> Iterator[datetime]:
        while (moment := trigger.next_after(after)) is not None and moment <= through:
            yield moment
            after = moment

    monkeypatch.setattr(Every, "next_after", noted(Every.next_after))
    monkeypatch.setattr(Every, "previous", noted(Every.previous))
    monkeypatch.setattr(Every, "fire_times", walked)
    return threads


@pytest.fixture
def thinkers() -> Iterator[OffloadThreads]:
    thinkers = OffloadThreads(1)
    yield thinkers
    thinkers.close()


@pytest.mark.parametrize("name", QUESTIONS)
async def test_no_search_is_made_by_the_thread_of_the_loop(
    name: str, world: World, searched_by: set[str], thinkers: OffloadThreads
) -> None:
    control = Control(world.store, NS, ANNA, offload=thinkers, offload_short=thinkers)
    operation, question = QUESTIONS[name]
    with pytest.raises(UsageError) if name in REFUSED else nullcontext():
        await asked(control, operation, question)
    assert searched_by
    assert threading.current_thread().name not in searched_by


async def test_nor_is_a_backfill_filled_by_it(
    world: World, searched_by: set[str], thinkers: OffloadThreads
) -> None:
    control = Control(world.store, NS, ANNA, offload=thinkers)
    wanted = StartBackfillRequest(schedule_id="beat", since=SINCE, until=UNTIL)
    started = await asked(control, start_backfill, wanted)
    await asked(control, fill_backfill, ChangeBackfillRequest(backfill_id=started.backfill_id))
    assert searched_by
    await asked(control, start_backfill, wanted)
    await Backfiller(world.store, world.settings, world.clock, thinkers).run_once()
    assert threading.current_thread().name not in searched_by
