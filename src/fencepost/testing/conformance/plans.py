"""The behaviour of plans: nothing is planned under an old epoch, an old version, or twice."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.identifiers import DEFAULT_QUEUE, Epoch, Queue, ScheduleId, tick_key
from fencepost.model.job import PRIORITY_DEFAULT, PRIORITY_LAST, JobSpec
from fencepost.model.run import RunFilter, RunRecord, RunState
from fencepost.testing.conformance.builders import (
    EPOCH,
    FAR_S,
    JOB,
    MANY,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    due_ticks,
    ids_on_two_shards,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    read_cursors,
    register,
    shard_for,
    start_ticks,
    states,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness


class PlansContract:
    """Windows and plans."""

    async def test_a_plan_is_written_ahead_of_time(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        run = await read(harness, key)
        assert (run.state, run.schedule_id, run.job) == (RunState.PLANNED, SCHEDULE, JOB)
        assert run.fire_time == run.run_at == at(harness, 60)
        assert (run.version, run.epoch, run.attempt, run.fence) == (1, EPOCH, 0, 0)

    async def test_stale_epoch_writes_nothing_and_is_told(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await register(harness.store, cursor.shard, 2)
        receipt = await harness.store.plans.write([make_plan(cursor, at(harness, 60))])
        assert receipt.stale == (cursor.shard,)
        assert (receipt.runs_written, receipt.outdated) == (0, 0)
        assert await runs(harness) == []
        assert await read_cursor(harness) == cursor

    async def test_an_epoch_that_was_never_registered_writes_nothing(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        receipt = await harness.store.plans.write([make_plan(cursor, at(harness, 60))])
        assert receipt.stale == (cursor.shard,)
        await register(harness.store, cursor.shard, EPOCH)
        ahead = make_plan(cursor, at(harness, 60), epoch=Epoch(EPOCH + 1))
        assert (await harness.store.plans.write([ahead])).stale == (cursor.shard,)
        assert await runs(harness) == []

    async def test_a_stale_shard_does_not_hold_up_another(self, harness: StoreHarness) -> None:
        plans = []
        for schedule_id in ids_on_two_shards(harness):
            await put(harness, schedule_id=schedule_id)
            cursor = await read_cursor(harness, schedule_id)
            await register(harness.store, cursor.shard, EPOCH)
            plans.append(make_plan(cursor, at(harness, 60)))
        await register(harness.store, plans[0].cursor.shard, 2)
        receipt = await harness.store.plans.write(plans)
        assert (receipt.stale, receipt.runs_written) == ((plans[0].cursor.shard,), 1)
        assert [run.schedule_id for run in await runs(harness)] == [plans[1].cursor.schedule_id]

    async def test_a_plan_that_was_overtaken_changes_nothing(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await plan_ticks(harness, 60)
        receipt = await write(harness, make_plan(cursor, at(harness, 30)))
        assert (receipt.runs_written, receipt.outdated, receipt.stale) == (0, 1, ())
        assert [run.fire_time for run in await runs(harness)] == [at(harness, 60)]

    async def test_a_repeated_plan_writes_nothing_twice(self, harness: StoreHarness) -> None:
        await put(harness)
        plan = make_plan(await read_cursor(harness), at(harness, 60))
        assert (await write(harness, plan)).runs_written == 1
        assert (await write(harness, plan)).runs_written == 0
        assert len(await runs(harness)) == 1

    async def test_an_outdated_plan_does_not_hold_up_another(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        old = make_plan(await read_cursor(harness), at(harness, 30))
        good = make_plan(await read_cursor(harness, OTHER_SCHEDULE), at(harness, 30))
        await put(harness, make_spec(every_s=90))
        receipt = await write(harness, old, good)
        assert (receipt.runs_written, receipt.dropped) == (1, (old.cursor.place,))
        assert list(receipt.written([old, good])) == [good]

    async def test_a_plan_of_the_old_version_is_refused_after_an_edit(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await put(harness, make_spec(every_s=90))
        receipt = await write(harness, make_plan(cursor, at(harness, 60)))
        assert (receipt.runs_written, receipt.outdated) == (0, 1)

    async def test_a_plan_made_before_a_pause_is_refused_after_it(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        receipt = await write(harness, make_plan(cursor, at(harness, 60)))
        assert (receipt.runs_written, receipt.outdated) == (0, 1)

    async def test_a_plan_made_before_the_removal_is_refused_after_it(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await harness.store.schedules.remove(NS, SCHEDULE)
        receipt = await write(harness, make_plan(cursor, at(harness, 60)))
        assert (receipt.runs_written, receipt.outdated) == (0, 1)

    async def test_an_edit_does_not_forget_what_the_old_version_owed(self, harness: StoreHarness) -> None:
        """No planner was there: the ticks up to the edit are planned when one is back, and no later ones."""
        await put(harness)
        start = harness.now
        await harness.advance(90)
        await put(harness, make_spec(every_s=30))
        old, new = sorted(await read_cursors(harness), key=lambda one: one.version)
        assert (old.version, old.planned_through, old.until) == (1, start, harness.now)
        assert (new.version, new.planned_through, new.until) == (2, harness.now, None)
        assert (old.spec, new.spec) == (make_spec(), make_spec(every_s=30))
        ended = replace(make_plan(old, at(harness, -30)), planned_through=harness.now, next_fire_at=None)
        assert (await write(harness, ended)).runs_written == 1
        assert [one.version for one in await read_cursors(harness)] == [2]

    async def test_a_pause_does_not_forget_what_was_owed_before_it(self, harness: StoreHarness) -> None:
        await put(harness)
        await harness.advance(90)
        await harness.store.schedules.pause(NS, SCHEDULE, "maintenance")
        (owed,) = await read_cursors(harness)
        assert (owed.version, owed.until) == (1, harness.now)
        await harness.store.schedules.resume(NS, SCHEDULE)
        assert [one.version for one in await read_cursors(harness)] == [1, 2]

    async def test_a_plan_made_while_behind_is_refused_after_an_edit_a_pause_or_a_removal(
        self, harness: StoreHarness
    ) -> None:
        """The cursor of the old version is still owed a look, but no longer beyond the change."""
        names = [ScheduleId(name) for name in ("edited", "paused", "removed")]
        for name in names:
            await put(harness, schedule_id=name)
        await harness.advance(90)
        plans = [make_plan(await read_cursor(harness, name), at(harness, 60)) for name in names]
        await put(harness, make_spec(every_s=30), names[0])
        await harness.store.schedules.pause(NS, names[1], "maintenance")
        await harness.store.schedules.remove(NS, names[2])
        receipt = await write(harness, *plans)
        assert (receipt.runs_written, receipt.outdated) == (0, 3)
        assert await runs(harness) == []

    async def test_an_edit_does_not_ask_again_about_what_was_planned(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 60)
        await put(harness, make_spec(every_s=30))
        assert [one.version for one in await read_cursors(harness)] == [2]

    async def test_an_existing_run_is_not_overwritten(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await harness.advance(30)
        key = await harness.store.ledger.trigger(NS, SCHEDULE, harness.now)
        assert key is not None
        (claimed,) = await start_ticks(harness)
        receipt = await write(harness, make_plan(cursor, harness.now, at(harness, 30)))
        assert (receipt.runs_written, receipt.outdated) == (1, 0)
        run = await read(harness, key)
        assert (run.state, run.fence) == (RunState.RUNNING, claimed.fence)

    async def test_planned_through_never_falls(self, harness: StoreHarness) -> None:
        await put(harness)
        seen = [(await read_cursor(harness)).planned_through]
        for _ in range(3):
            await due_ticks(harness, 60)
            await start_ticks(harness)
            seen.append((await read_cursor(harness)).planned_through)
        assert seen == sorted(set(seen))

    async def test_a_plan_without_ticks_still_advances(self, harness: StoreHarness) -> None:
        await put(harness)
        plan = replace(
            make_plan(await read_cursor(harness)),
            planned_through=at(harness, 60),
            next_fire_at=at(harness, 90),
        )
        receipt = await write(harness, plan)
        assert (receipt.runs_written, receipt.outdated) == (0, 0)
        assert (await read_cursor(harness)).planned_through == at(harness, 60)

    async def test_an_empty_write_is_no_fault(self, harness: StoreHarness) -> None:
        receipt = await harness.store.plans.write([])
        assert (receipt.runs_written, receipt.stale, receipt.outdated) == (0, (), 0)

    async def test_a_postponed_cursor_leaves_the_window_until_then(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor, window = await read_cursor(harness), harness.store.plans.window
        await harness.store.plans.postpone([cursor], 60)
        assert (await window([cursor.shard], 59, MANY)).cursors == ()
        await harness.advance(60)
        assert (await window([cursor.shard], 0, MANY)).cursors == (cursor,)

    async def test_a_postponed_cursor_does_not_forget_where_it_was(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await harness.store.plans.postpone([cursor], 60)
        assert await read_cursor(harness) == cursor
        receipt = await write(harness, make_plan(cursor, at(harness, 30)))
        assert (receipt.runs_written, receipt.outdated) == (1, 0)

    async def test_postponing_does_not_touch_other_cursors(self, harness: StoreHarness) -> None:
        for schedule_id in (SCHEDULE, OTHER_SCHEDULE):
            await put(harness, schedule_id=schedule_id)
        await harness.store.plans.postpone([await read_cursor(harness)], 60)
        shards = list({shard_for(harness), shard_for(harness, OTHER_SCHEDULE)})
        window = await harness.store.plans.window(shards, 0, MANY)
        assert [one.schedule_id for one in window.cursors] == [OTHER_SCHEDULE]

    async def test_postponing_an_edited_cursor_changes_nothing(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await harness.advance(30)
        await put(harness, make_spec(every_s=90))
        await harness.store.plans.postpone([cursor], 60)
        window = await harness.store.plans.window([cursor.shard], 0, MANY)
        assert [one.version for one in window.cursors] == [1, 2]

    async def test_postponing_an_advanced_cursor_changes_nothing(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await plan_ticks(harness, 30)
        await harness.store.plans.postpone([cursor], 60)
        window = await harness.store.plans.window([cursor.shard], 30, MANY)
        assert [one.planned_through for one in window.cursors] == [at(harness, 30)]

    async def test_postponing_does_not_revive_what_has_no_more_fire_times(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await write(harness, replace(make_plan(cursor), next_fire_at=None))
        await harness.store.plans.postpone([cursor], 60)
        assert (await harness.store.plans.window([cursor.shard], FAR_S, MANY)).cursors == ()

    async def test_postponing_nothing_is_no_fault(self, harness: StoreHarness) -> None:
        await harness.store.plans.postpone([], 60)

    async def test_a_new_schedule_does_not_wait_to_be_looked_at(self, harness: StoreHarness) -> None:
        await put(harness)
        window = await harness.store.plans.window([shard_for(harness)], 0, MANY)
        assert [one.schedule_id for one in window.cursors] == [SCHEDULE]
        assert window.now == window.through == window.cursors[0].planned_through == harness.now

    async def test_the_window_does_not_reach_beyond_the_horizon(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 60)
        near = await harness.store.plans.window([shard_for(harness)], 30, MANY)
        assert (near.through, near.cursors) == (at(harness, 30), ())
        await harness.advance(31)
        assert len((await harness.store.plans.window([shard_for(harness)], 30, MANY)).cursors)

    async def test_the_window_does_not_show_other_shards(self, harness: StoreHarness) -> None:
        mine, other = ids_on_two_shards(harness)
        await put(harness, schedule_id=other)
        window = await harness.store.plans.window([shard_for(harness, mine)], FAR_S, MANY)
        assert window.cursors == ()

    async def test_the_window_does_not_show_what_has_no_more_fire_times(self, harness: StoreHarness) -> None:
        await put(harness)
        last = make_plan(await read_cursor(harness), at(harness, 60))
        await write(harness, replace(last, next_fire_at=None))
        window = await harness.store.plans.window([shard_for(harness)], FAR_S, MANY)
        assert window.cursors == ()

    async def test_the_window_does_not_show_paused_or_removed_schedules(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.schedules.remove(NS, OTHER_SCHEDULE)
        shards = [shard_for(harness), shard_for(harness, OTHER_SCHEDULE)]
        assert (await harness.store.plans.window(shards, FAR_S, MANY)).cursors == ()

    async def test_the_window_is_soonest_first_and_not_longer_than_its_limit(
        self, harness: StoreHarness
    ) -> None:
        for schedule_id, next_s in ((SCHEDULE, 60), (OTHER_SCHEDULE, 30)):
            await put(harness, schedule_id=schedule_id)
            await plan_ticks(harness, next_s, schedule_id=schedule_id)
        shards = list({shard_for(harness), shard_for(harness, OTHER_SCHEDULE)})
        everything = await harness.store.plans.window(shards, FAR_S, MANY)
        assert [one.schedule_id for one in everything.cursors] == [OTHER_SCHEDULE, SCHEDULE]
        first = await harness.store.plans.window(shards, FAR_S, 1)
        assert [one.schedule_id for one in first.cursors] == [OTHER_SCHEDULE]

    async def test_the_window_leaves_namespaces_out(self, harness: StoreHarness) -> None:
        for namespace in (NS, OTHER_NS):
            await put(harness, namespace=namespace)
        shards = list({shard_for(harness), shard_for(harness, namespace=OTHER_NS)})
        left = [
            [one.namespace for one in (await harness.store.plans.window(shards, 0, MANY, without)).cursors]
            for without in ((), {NS}, {OTHER_NS}, {NS, OTHER_NS})
        ]
        assert [sorted(one) for one in left] == [sorted([NS, OTHER_NS]), [OTHER_NS], [NS], []]

    async def test_a_cursor_does_not_ignore_the_jobs_queue_and_priority(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        assert (cursor.queue, cursor.priority) == (DEFAULT_QUEUE, PRIORITY_DEFAULT)
        job = JobSpec(JOB, queue=Queue("heavy"), priority=PRIORITY_LAST)
        await harness.store.jobs.register(NS, [job])
        cursor = await read_cursor(harness)
        assert (cursor.queue, cursor.priority) == ("heavy", PRIORITY_LAST)

    async def test_a_schedules_own_queue_and_priority_win_over_the_jobs(self, harness: StoreHarness) -> None:
        await harness.store.jobs.register(NS, [JobSpec(JOB, queue=Queue("heavy"), priority=4)])
        await put(harness, make_spec(queue=Queue("light"), priority=1))
        (key,) = await plan_ticks(harness, 60)
        run = await read(harness, key)
        assert (run.queue, run.priority) == ("light", 1)

    async def test_versions_do_not_share_keys(self, harness: StoreHarness) -> None:
        await put(harness)
        (old,) = await plan_ticks(harness, 60)
        await put(harness, make_spec(every_s=90))
        (new,) = await plan_ticks(harness, 60)
        assert new == tick_key(SCHEDULE, at(harness, 60), 2)
        assert await states(harness, old, new) == [RunState.WITHDRAWN, RunState.PLANNED]


async def runs(harness: StoreHarness) -> list[RunRecord]:
    """Everything in the ledger."""
    return list(await harness.store.ledger.list(NS, RunFilter()))
