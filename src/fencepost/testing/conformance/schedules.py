"""The behaviour of the schedules' store: an edit is one instant, and no fire time is on both its sides."""

from __future__ import annotations

from datetime import timedelta

from fencepost.model.identifiers import ScheduleId, tick_key
from fencepost.model.run import RunState
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.model.stretch import Stretch
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    TZDATA,
    at,
    due_ticks,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    shard_for,
    start_ticks,
    states,
    success,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness

WITHDRAWN, PLANNED, READY = RunState.WITHDRAWN, RunState.PLANNED, RunState.READY


class ScheduleContract:
    """Create, edit, pause, resume, remove, and use again."""

    async def test_a_new_schedule_does_not_reach_into_the_past(self, harness: StoreHarness) -> None:
        schedule = await put(harness)
        assert (schedule.version, schedule.state) == (1, ScheduleState.ACTIVE)
        assert schedule.planned_through == schedule.updated_at == harness.now
        assert schedule.shard == shard_for(harness)
        assert await harness.store.schedules.get(NS, SCHEDULE) == schedule

    async def test_an_unknown_schedule_is_not_there(self, harness: StoreHarness) -> None:
        schedules = harness.store.schedules
        assert await schedules.get(NS, SCHEDULE) is None
        assert list(await schedules.history(NS, SCHEDULE)) == []
        assert not await schedules.pause(NS, SCHEDULE, "holidays")
        assert not await schedules.resume(NS, SCHEDULE)
        assert not await schedules.remove(NS, SCHEDULE)

    async def test_does_not_create_over_an_existing_one(self, harness: StoreHarness) -> None:
        await put(harness)
        assert await put_expecting(harness, 0, every_s=90) is None
        assert await current(harness) == (1, ScheduleState.ACTIVE)

    async def test_does_not_edit_another_version_than_the_expected(self, harness: StoreHarness) -> None:
        assert await put_expecting(harness, 3) is None
        assert await harness.store.schedules.get(NS, SCHEDULE) is None
        await put_expecting(harness, 0)
        assert await put_expecting(harness, 1, every_s=90) is not None
        assert await put_expecting(harness, 1, every_s=120) is None
        assert await current(harness) == (2, ScheduleState.ACTIVE)

    async def test_an_equal_spec_makes_no_version_and_withdraws_nothing(self, harness: StoreHarness) -> None:
        before = await put(harness)
        (key,) = await plan_ticks(harness, 60)
        after = await put(harness)
        assert after.version == before.version
        assert after.planned_through == at(harness, 60)
        assert await states(harness, key) == [PLANNED]
        assert len(await harness.store.schedules.history(NS, SCHEDULE)) == 1

    async def test_an_edit_withdraws_only_fire_times_after_the_boundary(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await plan_ticks(harness, 30, 60, 90)
        await harness.advance(60)
        await put(harness, make_spec(every_s=90))
        assert await states(harness, *keys) == [READY, READY, WITHDRAWN]
        run = await read(harness, keys[-1])
        assert run.reason
        assert run.finished_at == harness.now

    async def test_an_edit_does_not_touch_runs_that_have_begun_or_ended(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await due_ticks(harness, 30, 60)
        done, _ = await start_ticks(harness)
        await finish(harness, success(done.ticket))
        await put(harness, make_spec(every_s=90))
        assert await states(harness, *keys) == [RunState.SUCCEEDED, RunState.RUNNING]

    async def test_an_edit_does_not_touch_other_schedules(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        (key,) = await plan_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        await put(harness, make_spec(every_s=90))
        assert await states(harness, key) == [PLANNED]

    async def test_an_edit_puts_the_cursor_at_the_boundary_and_not_beyond(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await plan_ticks(harness, 30, 60)
        await harness.advance(40)
        schedule = await put(harness, make_spec(every_s=90))
        cursor = await read_cursor(harness)
        assert schedule.planned_through == cursor.planned_through == harness.now
        assert schedule.version == cursor.version == 2

    async def test_a_tick_cancelled_by_name_does_not_delay_an_edit_or_return_after_it(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        keys = await plan_ticks(harness, 30, 60, 90)
        await harness.store.ledger.cancel(NS, keys[1], "not that one")
        schedule = await put(harness, make_spec(every_s=90))
        assert schedule.planned_through == harness.now
        assert await states(harness, *keys) == [WITHDRAWN, RunState.CANCELLED, WITHDRAWN]
        fire_times = at(harness, 30), at(harness, 60), at(harness, 90)
        receipt = await write(harness, make_plan(await read_cursor(harness), *fire_times))
        assert receipt.runs_written == 2
        assert await states(harness, keys[1]) == [RunState.CANCELLED]

    async def test_history_keeps_every_version(self, harness: StoreHarness) -> None:
        specs = [make_spec(every_s=60), make_spec(every_s=90), make_spec(every_s=60)]
        times = []
        for spec in specs:
            times.append(harness.now)
            await put(harness, spec)
            await harness.advance(5)
        history = await harness.store.schedules.history(NS, SCHEDULE)
        assert [one.version for one in history] == [1, 2, 3]
        assert [one.spec for one in history] == specs
        assert [one.in_force_from for one in history] == times
        assert {one.tzdata for one in history} == {TZDATA}

    async def test_a_part_of_the_history_has_no_versions_beside_it(self, harness: StoreHarness) -> None:
        for every_s in (60, 90, 60, 90):
            await put(harness, make_spec(every_s=every_s))
            await harness.advance(5)
        schedules = harness.store.schedules
        every = await schedules.history(NS, SCHEDULE)
        assert list(await schedules.history(NS, SCHEDULE, after=1, limit=2)) == list(every[1:3])
        assert list(await schedules.history(NS, SCHEDULE, after=3)) == list(every[3:])
        assert list(await schedules.history(NS, SCHEDULE, after=4)) == []
        assert list(await schedules.history(NS, SCHEDULE, since=every[2].in_force_from)) == list(every[2:])
        assert list(await schedules.history(NS, SCHEDULE, since=harness.now)) == list(every[3:])

    async def test_a_spec_does_not_lose_anything_in_the_store(self, harness: StoreHarness) -> None:
        payload = {"region": "eu", "ids": [1, 2], "deep": {"ratio": 0.5, "none": None}}
        spec = make_spec(
            payload=payload,
            labels={"team": "née"},
            priority=4,
            spread=Stretch(percent=50),
            jitter=Stretch(length=timedelta(minutes=10)),
            calendars={"de": {"holidays": "2026-12-25", "revision": 7}},
        )
        await put(harness, spec)
        found = await harness.store.schedules.get(NS, SCHEDULE)
        assert found is not None
        assert found.spec == spec
        assert found.spec.payload == payload

    async def test_an_edit_without_a_code_digest_does_not_change_what_code_applied(
        self, harness: StoreHarness
    ) -> None:
        applied = await put_expecting(harness, None, code_digest="digest-1")
        assert applied is not None
        assert (applied.code_spec, applied.code_digest) == (make_spec(), "digest-1")
        edited = await put(harness, make_spec(every_s=90))
        assert (edited.code_spec, edited.code_digest) == (make_spec(), "digest-1")

    async def test_what_code_wrote_is_not_mistaken_for_what_is_in_force(self, harness: StoreHarness) -> None:
        bound = make_spec(every_s=90, calendars={"de": {"holidays": "2026-12-25", "revision": 1}})
        applied = await harness.store.schedules.put(
            NS,
            SCHEDULE,
            bound,
            tzdata=TZDATA,
            expected_version=0,
            code_digest="digest-1",
            code_spec=make_spec(),
        )
        assert applied is not None
        assert (applied.spec, applied.code_spec, applied.code_digest) == (bound, make_spec(), "digest-1")
        assert applied == await harness.store.schedules.get(NS, SCHEDULE)

    async def test_the_days_of_a_calendar_are_not_recorded_as_codes_own(self, harness: StoreHarness) -> None:
        calendars = {"de": {"holidays": "2026-12-25", "revision": 1}}
        bound = make_spec(calendars=calendars)
        for code_spec in (None, bound):
            applied = await harness.store.schedules.put(
                NS,
                SCHEDULE,
                bound,
                tzdata=TZDATA,
                expected_version=None,
                code_digest="digest-1",
                code_spec=code_spec,
            )
            assert applied is not None
            assert (applied.spec, applied.code_spec) == (bound, make_spec())

    async def test_an_equal_spec_still_records_the_code_digest(self, harness: StoreHarness) -> None:
        await put(harness)
        applied = await put_expecting(harness, None, code_digest="digest-2")
        assert applied is not None
        assert (applied.version, applied.code_digest) == (1, "digest-2")

    async def test_pause_withdraws_what_is_planned_and_not_what_is_due(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await plan_ticks(harness, 30, 60)
        await harness.advance(30)
        assert await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        assert await states(harness, *keys) == [READY, WITHDRAWN]
        assert "holidays" in ((await read(harness, keys[1])).reason or "")
        assert await current(harness) == (1, ScheduleState.PAUSED)

    async def test_does_not_pause_what_is_not_active(self, harness: StoreHarness) -> None:
        await put(harness)
        assert await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        assert not await harness.store.schedules.pause(NS, SCHEDULE, "again")
        await harness.store.schedules.remove(NS, SCHEDULE)
        assert not await harness.store.schedules.pause(NS, SCHEDULE, "gone")

    async def test_does_not_resume_what_is_not_paused(self, harness: StoreHarness) -> None:
        await put(harness)
        assert not await harness.store.schedules.resume(NS, SCHEDULE)
        await harness.store.schedules.remove(NS, SCHEDULE)
        assert not await harness.store.schedules.resume(NS, SCHEDULE)

    async def test_resume_does_not_plan_the_pause(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 30, 60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.advance(3600)
        assert await harness.store.schedules.resume(NS, SCHEDULE)
        assert (await read_cursor(harness)).planned_through == harness.now
        assert (await start_ticks(harness)) == []

    async def test_a_plan_made_before_the_pause_is_refused_after_the_resumption(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        plan = make_plan(await read_cursor(harness), at(harness, 30))
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.advance(3600)
        await harness.store.schedules.resume(NS, SCHEDULE)
        receipt = await write(harness, plan)
        assert (receipt.runs_written, receipt.outdated) == (0, 1)

    async def test_an_edit_does_not_wake_a_paused_schedule(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        edited = await put(harness, make_spec(every_s=90))
        assert (edited.version, edited.state) == (2, ScheduleState.PAUSED)
        window = await harness.store.plans.window([shard_for(harness)], 60, MANY)
        assert window.cursors == ()

    async def test_an_edit_leaves_no_gap_between_two_versions(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.advance(5)
        await put(harness, make_spec(every_s=90))
        old, new = await harness.store.schedules.history(NS, SCHEDULE)
        assert old.in_force_until == new.in_force_from == harness.now
        assert new.in_force_until is None

    async def test_a_paused_or_removed_version_is_not_in_force(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await harness.advance(5)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.schedules.remove(NS, OTHER_SCHEDULE)
        for schedule_id in (SCHEDULE, OTHER_SCHEDULE):
            (version,) = await harness.store.schedules.history(NS, schedule_id)
            assert version.in_force_until == harness.now

    async def test_an_edit_during_a_pause_is_never_in_force(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.advance(5)
        await put(harness, make_spec(every_s=90))
        _, edited = await harness.store.schedules.history(NS, SCHEDULE)
        assert edited.in_force_from == edited.in_force_until == harness.now

    async def test_a_tick_that_the_pause_withdrew_does_not_stand_in_the_way_of_the_resumption(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (withdrawn,) = await plan_ticks(harness, 60)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.advance(10)
        await harness.store.schedules.resume(NS, SCHEDULE)
        (planned,) = await plan_ticks(harness, 50)
        assert await states(harness, withdrawn, planned) == [WITHDRAWN, PLANNED]
        first, second = await harness.store.schedules.history(NS, SCHEDULE)
        assert (second.version, second.spec) == (2, first.spec)
        assert (second.in_force_from, second.in_force_until) == (harness.now, None)

    async def test_remove_withdraws_what_is_planned(self, harness: StoreHarness) -> None:
        await put(harness)
        keys = await plan_ticks(harness, 30, 60)
        await harness.advance(30)
        assert await harness.store.schedules.remove(NS, SCHEDULE)
        assert not await harness.store.schedules.remove(NS, SCHEDULE)
        assert await states(harness, *keys) == [READY, WITHDRAWN]

    async def test_remove_does_not_forget_the_schedule(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.schedules.remove(NS, SCHEDULE)
        assert await current(harness) == (1, ScheduleState.REMOVED)
        assert len(await harness.store.schedules.history(NS, SCHEDULE)) == 1

    async def test_reused_id_counts_versions_on(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.store.schedules.remove(NS, SCHEDULE)
        assert await put_expecting(harness, 1) is None
        reused = await put_expecting(harness, 0)
        assert reused is not None
        assert (reused.version, reused.state) == (2, ScheduleState.ACTIVE)

    async def test_a_reused_id_does_not_plan_a_fire_time_again(self, harness: StoreHarness) -> None:
        await put(harness)
        await due_ticks(harness, 60)
        (claimed,) = await start_ticks(harness)
        await finish(harness, success(claimed.ticket))
        await harness.store.schedules.remove(NS, SCHEDULE)
        reused = await put(harness)
        assert reused.planned_through >= claimed.fire_time
        assert tick_key(SCHEDULE, claimed.fire_time, reused.version) != claimed.run_key

    async def test_pages_do_not_show_removed_schedules(self, harness: StoreHarness) -> None:
        for name in ("b", "c", "a"):
            await put(harness, schedule_id=ScheduleId(name))
        await harness.store.schedules.remove(NS, ScheduleId("b"))
        assert await page(harness, None, MANY) == ["a", "c"]

    async def test_pages_do_not_repeat_or_miss_a_schedule(self, harness: StoreHarness) -> None:
        for name in ("b", "d", "a", "c"):
            await put(harness, schedule_id=ScheduleId(name))
        await harness.store.schedules.pause(NS, ScheduleId("c"), "holidays")
        first = await page(harness, None, 3)
        assert first == ["a", "b", "c"]
        assert await page(harness, first[-1], 3) == ["d"]
        assert await page(harness, ScheduleId("d"), 3) == []

    async def test_namespaces_do_not_share_schedules(self, harness: StoreHarness) -> None:
        await put(harness)
        other = await put(harness, make_spec(every_s=90), namespace=OTHER_NS)
        assert other.version == 1
        await harness.store.schedules.remove(OTHER_NS, SCHEDULE)
        assert await page(harness, None, MANY) == [SCHEDULE]
        assert await current(harness) == (1, ScheduleState.ACTIVE)


async def put_expecting(
    harness: StoreHarness, version: int | None, every_s: int = 60, code_digest: str | None = None
) -> Schedule | None:
    """Put the one schedule where its version is the expected one."""
    return await harness.store.schedules.put(
        NS,
        SCHEDULE,
        make_spec(every_s=every_s),
        tzdata=TZDATA,
        expected_version=version,
        code_digest=code_digest,
    )


async def current(harness: StoreHarness) -> tuple[int, ScheduleState]:
    """Version and state of the one schedule."""
    schedule = await harness.store.schedules.get(NS, SCHEDULE)
    assert schedule is not None
    return schedule.version, schedule.state


async def page(harness: StoreHarness, after: ScheduleId | None, limit: int) -> list[ScheduleId]:
    """The ids of one page."""
    return [one.schedule_id for one in await harness.store.schedules.page(NS, after, limit)]
