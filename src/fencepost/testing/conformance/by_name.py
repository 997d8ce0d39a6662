"""The behaviour of planning by name: ahead of the planner or in its place, nothing is written twice."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import later
from fencepost.model.identifiers import Epoch, Queue, RunKey, ScheduleId, tick_key
from fencepost.model.job import JobSpec
from fencepost.model.missed import MissedTicks
from fencepost.model.plan import Fate, Tick
from fencepost.model.run import Hold, Origin, RunState
from fencepost.ports.signals import Topic
from fencepost.testing.conformance.builders import (
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    SCHEDULE,
    at,
    due_ticks,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    start_ticks,
    states,
    success,
    write,
    write_missed,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, entries
from fencepost.testing.conformance.signals import hint

NOWHERE = ScheduleId("nowhere")


class ByNameContract:
    """One tick at a time, by its fire time."""

    async def test_a_tick_by_name_is_as_the_planner_would_have_written_it(
        self, harness: StoreHarness
    ) -> None:
        heavy = JobSpec(JOB, queue=Queue("heavy"), priority=1)
        await harness.store.jobs.register(NS, [heavy])
        await put(harness)
        (key,) = await by_name(harness, at(harness, 3600))
        assert key == tick_key(SCHEDULE, at(harness, 3600), 1)
        run = await read(harness, key)
        assert (run.state, run.origin, run.epoch) == (RunState.PLANNED, Origin.LIVE, Epoch(0))
        assert (run.version, run.job, run.queue, run.priority) == (1, JOB, "heavy", 1)
        assert run.fire_time == run.run_at == at(harness, 3600)

    async def test_a_tick_by_name_is_not_due_before_its_time(self, harness: StoreHarness) -> None:
        await put(harness)
        tick = Tick(at(harness, 60), at(harness, 90))
        (key,) = await harness.store.ledger.plan_by_name(NS, SCHEDULE, 1, [tick], ANNA)
        await harness.advance(89)
        assert await start_ticks(harness) == []
        await harness.advance(1)
        assert [one.run_key for one in await start_ticks(harness)] == [key]

    async def test_the_planner_does_not_write_it_again(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor, fire_time = await read_cursor(harness), at(harness, 60)
        (key,) = await by_name(harness, fire_time)
        outdated = await write(harness, make_plan(cursor, fire_time, at(harness, 120)))
        assert (outdated.runs_written, outdated.outdated) == (0, 1)
        cursor = await read_cursor(harness)
        receipt = await write(harness, make_plan(cursor, fire_time, at(harness, 120)))
        assert (receipt.runs_written, receipt.outdated) == (1, 0)
        assert (await read(harness, key)).epoch == 0

    async def test_the_planner_does_not_bring_back_what_was_called_off_ahead(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        cursor, fire_time = await read_cursor(harness), at(harness, 60)
        (key,) = await by_name(harness, fire_time)
        await harness.store.ledger.skip(NS, key, ANNA)
        await write(harness, make_plan(cursor, fire_time))
        assert await states(harness, key) == [RunState.SKIPPED]
        await harness.advance(60)
        assert await start_ticks(harness) == []

    async def test_a_fire_time_that_has_a_run_gets_no_other(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        (claimed,) = await start_ticks(harness)
        await finish(harness, success(claimed.ticket))
        await put(harness, make_spec(every_s=90))
        for version in (1, 2):
            assert await by_name(harness, claimed.fire_time, version=version) == []
        assert await entries(harness) == []

    async def test_a_withdrawn_run_does_not_stand_in_the_way_of_a_later_version(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (withdrawn,) = await plan_ticks(harness, 60)
        await put(harness, make_spec(every_s=90))
        (key,) = await by_name(harness, at(harness, 60), version=2)
        assert await states(harness, withdrawn, key) == [RunState.WITHDRAWN, RunState.PLANNED]

    async def test_what_is_counted_as_missed_is_not_written_beside_its_range(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        times = tuple(at(harness, seconds) for seconds in (60, 120, 180))
        await harness.advance(240)
        await write_missed(harness, MissedTicks(times, "too late"))
        assert await by_name(harness, times[1]) == []
        ranges = await harness.store.ledger.missed_ranges(NS, SCHEDULE, at(harness, -999), harness.now)
        assert [one.count for one in ranges] == [3]

    async def test_a_tick_that_is_gone_comes_back_once(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await due_ticks(harness, 60)
        fire_time = harness.now
        (claimed,) = await start_ticks(harness)
        await finish(harness, success(claimed.ticket))
        await harness.advance(1000)
        assert await harness.store.ledger.forget(10, MANY) == 1
        assert await by_name(harness, fire_time) == [key]
        assert await by_name(harness, fire_time) == []
        (again,) = await start_ticks(harness)
        assert again.fence > claimed.fence

    async def test_an_older_version_does_not_borrow_the_job_of_a_newer(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.advance(100)
        await put(harness, make_spec(job=OTHER_JOB))
        (key,) = await by_name(harness, at(harness, -50))
        run = await read(harness, key)
        assert (run.job, run.version, run.state) == (JOB, 1, RunState.READY)

    async def test_nothing_is_written_for_a_version_that_is_not_there(self, harness: StoreHarness) -> None:
        await put(harness)
        tick = Tick(at(harness, 60), at(harness, 60))
        ledger = harness.store.ledger
        assert list(await ledger.plan_by_name(NS, SCHEDULE, 2, [tick], ANNA)) == []
        assert list(await ledger.plan_by_name(NS, SCHEDULE, 0, [tick], ANNA)) == []
        assert list(await ledger.plan_by_name(NS, NOWHERE, 1, [tick], ANNA)) == []
        assert await entries(harness) == []

    async def test_an_author_leaves_an_entry_for_each_and_the_house_none(self, harness: StoreHarness) -> None:
        await put(harness)
        await by_name(harness, at(harness, 60), author=None)
        assert await entries(harness) == []
        keys = await by_name(harness, at(harness, 60), at(harness, 120), at(harness, 180))
        assert len(keys) == 2
        found = await entries(harness, action=Action.RUN_RESTORE)
        assert sorted(one.subject for one in found) == sorted(keys)

    async def test_a_tick_by_name_does_not_wait_for_the_poll(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.advance(60)
        async with hint(harness, Topic.RUNS):
            await by_name(harness, harness.now)

    async def test_no_tick_is_written_outside_of_its_versions_time(self, harness: StoreHarness) -> None:
        await put(harness)
        born = harness.now
        await harness.advance(60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        paused = harness.now
        await harness.advance(60)
        fire_times = born, later(born, 1), paused, later(paused, 1), at(harness, 60)
        written = await by_name(harness, *fire_times)
        assert written == [tick_key(SCHEDULE, one, 1) for one in fire_times[1:3]]

    async def test_a_tick_that_is_held_ahead_is_never_free(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await by_name(harness, at(harness, 60), fate=Fate.HELD)
        run = await read(harness, key)
        assert (run.state, run.held) == (RunState.PLANNED, Hold.OPERATOR)
        await harness.advance(60)
        assert await start_ticks(harness) == []
        assert [one.action for one in await entries(harness)] == [Action.RUN_HOLD]

    async def test_a_tick_that_is_called_off_ahead_never_runs(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor, fire_time = await read_cursor(harness), at(harness, 60)
        (key,) = await by_name(harness, fire_time, fate=Fate.SKIPPED)
        run = await read(harness, key)
        assert (run.state, run.reason, run.finished_at) == (RunState.SKIPPED, ANNA.reason, harness.now)
        assert (await write(harness, make_plan(cursor, fire_time))).runs_written == 0
        assert [one.action for one in await entries(harness)] == [Action.RUN_SKIP]


async def by_name(
    harness: StoreHarness,
    *fire_times: datetime,
    version: int = 1,
    author: Author | None = ANNA,
    fate: Fate = Fate.PLANNED,
) -> list[RunKey]:
    """Write ticks of the one schedule, due at their fire times."""
    ticks = [Tick(one, one) for one in fire_times]
    return list(await harness.store.ledger.plan_by_name(NS, SCHEDULE, version, ticks, author, fate=fate))
