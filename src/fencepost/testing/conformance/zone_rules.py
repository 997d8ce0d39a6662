"""The behaviour of plans when zone rules change: nothing planned by older rules goes unnoticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from fencepost.model.identifiers import ScheduleId
from fencepost.model.plan import Cursor, Outlived
from fencepost.model.run import RunFilter
from fencepost.testing.conformance.builders import (
    MANY,
    NEWER_TZDATA,
    NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    TZDATA,
    at,
    due_ticks,
    ids_on_two_shards,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read_cursor,
    read_cursors,
    register,
    shard_for,
    start_ticks,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness

NEWEST_TZDATA = "2026c"


class OutlivedContract:
    """What was last planned by older rules."""

    async def test_a_version_is_not_outlived_by_its_own_rules_or_older_ones(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        assert await outlived(harness, TZDATA) == []
        assert await outlived(harness, "2025z") == []
        assert [one.cursor for one in await outlived(harness)] == [await read_cursor(harness)]

    async def test_rules_are_not_compared_as_people_sort_words(self, harness: StoreHarness) -> None:
        await put(harness, tzdata="2026Z")
        assert len(await outlived(harness, "2026a")) == 1
        await put(harness, make_spec(every_s=90), tzdata="2026é")
        assert await outlived(harness, "2026f") == []

    async def test_a_plan_by_newer_rules_is_not_outlived(self, harness: StoreHarness) -> None:
        await put(harness)
        plan = make_plan(await read_cursor(harness), at(harness, 60), tzdata=NEWER_TZDATA)
        await write(harness, plan)
        assert await outlived(harness) == []

    async def test_a_plan_by_older_rules_does_not_pass_for_one_by_newer(self, harness: StoreHarness) -> None:
        """An old node leads again, in the middle of a rolling deploy."""
        await put(harness, tzdata=NEWER_TZDATA)
        await write(harness, make_plan(await read_cursor(harness), at(harness, 60), tzdata=TZDATA))
        assert [one.planned for one in await outlived(harness)] == [(at(harness, 60),)]

    async def test_a_plan_that_was_refused_does_not_change_the_rules(self, harness: StoreHarness) -> None:
        await put(harness)
        plan = make_plan(await read_cursor(harness), at(harness, 60), tzdata=NEWER_TZDATA)
        await register(harness.store, plan.cursor.shard, 9)
        await harness.store.plans.write([plan])
        assert len(await outlived(harness)) == 1

    async def test_an_edit_and_a_resumption_do_not_keep_the_rules_of_the_version_before(
        self, harness: StoreHarness
    ) -> None:
        schedules = harness.store.schedules
        await put(harness)
        await put(harness, make_spec(every_s=90), tzdata=NEWER_TZDATA)
        assert await outlived(harness) == []
        await schedules.pause(NS, SCHEDULE, "holidays")
        await schedules.resume(NS, SCHEDULE, tzdata=NEWEST_TZDATA)
        assert await outlived(harness, NEWEST_TZDATA) == []
        assert [one.tzdata for one in await schedules.history(NS, SCHEDULE)] == [
            TZDATA,
            NEWER_TZDATA,
            NEWEST_TZDATA,
        ]

    async def test_a_resumption_that_does_not_know_the_rules_keeps_the_last(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        await harness.store.schedules.resume(NS, SCHEDULE)
        assert await outlived(harness, TZDATA) == []
        assert [one.cursor.version for one in await outlived(harness)] == [2]

    async def test_outlived_ticks_are_not_those_that_fired_or_wait_for_nothing(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await due_ticks(harness, 10)
        await start_ticks(harness)
        await plan_ticks(harness, 5, 20, delay_s=30)
        keys = await plan_ticks(harness, 40, 30, 50)
        await harness.store.ledger.cancel(NS, keys[2], "not that one")
        await harness.advance(5)
        (found,) = await outlived(harness)
        assert found.planned == (at(harness, 15), at(harness, 25), at(harness, 35))
        assert found.next_fire_at == at(harness, 45)

    async def test_outlived_ticks_are_not_those_of_others(self, harness: StoreHarness) -> None:
        """Versions that were edited away have ticks of the same schedule, which are not planned any more."""
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 30)
        await plan_ticks(harness, 40, schedule_id=OTHER_SCHEDULE)
        await put(harness, make_spec(every_s=90))
        await plan_ticks(harness, 50)
        found = await outlived(harness, schedules=[SCHEDULE, OTHER_SCHEDULE])
        assert {(one.cursor.schedule_id, one.cursor.version): one.planned for one in found} == {
            (SCHEDULE, 2): (at(harness, 50),),
            (OTHER_SCHEDULE, 1): (at(harness, 40),),
        }

    async def test_a_version_that_has_an_end_is_not_outlived(self, harness: StoreHarness) -> None:
        """Their cursors are owed a look still, but what they may plan has passed already."""
        names = [ScheduleId(name) for name in ("edited", "paused", "removed")]
        for name in names:
            await put(harness, schedule_id=name)
        await harness.advance(90)
        await put(harness, make_spec(every_s=90), names[0], tzdata=NEWER_TZDATA)
        await harness.store.schedules.pause(NS, names[1], "holidays")
        await harness.store.schedules.remove(NS, names[2])
        assert [len(await read_cursors(harness, name)) for name in names] == [2, 1, 1]
        assert await outlived(harness, schedules=names) == []

    async def test_what_has_no_more_fire_times_is_not_outlived(self, harness: StoreHarness) -> None:
        await put(harness)
        last = make_plan(await read_cursor(harness), at(harness, 60))
        await write(harness, replace(last, next_fire_at=None))
        assert await outlived(harness) == []

    async def test_other_shards_are_not_asked_about(self, harness: StoreHarness) -> None:
        mine, other = ids_on_two_shards(harness)
        await put(harness, schedule_id=other)
        assert await outlived(harness, schedules=[mine]) == []
        assert len(await outlived(harness, schedules=[mine, other])) == 1
        assert list(await harness.store.plans.outlived([], NEWER_TZDATA, MANY)) == []

    async def test_outlived_versions_are_not_more_than_asked_for_and_none_is_left_out(
        self, harness: StoreHarness
    ) -> None:
        names = [ScheduleId(f"schedule-{number}") for number in range(5)]
        for name in names:
            await put(harness, schedule_id=name)
        seen = []
        for expected in (2, 2, 1, 0):
            found = await outlived(harness, schedules=names, limit=2)
            assert len(found) == expected
            seen += [one.cursor.schedule_id for one in found]
            await confirm(harness, *((one.cursor, one.next_fire_at) for one in found))
        assert sorted(seen) == names


class ConfirmationContract:
    """What newer rules leave as it is."""

    async def test_a_confirmed_version_is_not_outlived(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 60)
        before, cursor = await runs(harness), await read_cursor(harness)
        await confirm(harness, (cursor, at(harness, 60)))
        assert await outlived(harness) == []
        assert len(await outlived(harness, NEWEST_TZDATA)) == 1
        assert (await runs(harness), await read_cursor(harness)) == (before, cursor)

    async def test_a_confirmation_does_not_keep_the_old_time_to_look_again(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await plan_ticks(harness, 60)
        cursor, window = await read_cursor(harness), harness.store.plans.window
        await confirm(harness, (cursor, at(harness, 3600)))
        assert (await window([cursor.shard], 3599, MANY)).cursors == ()
        assert (await window([cursor.shard], 3600, MANY)).cursors == (cursor,)

    async def test_a_version_that_newer_rules_end_is_not_looked_at_again(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await confirm(harness, (cursor, None))
        assert await read_cursors(harness) == []
        await confirm(harness, (cursor, at(harness, 60)), tzdata=NEWEST_TZDATA)
        assert await read_cursors(harness) == []

    async def test_a_cursor_that_moved_is_not_confirmed(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await plan_ticks(harness, 60)
        await confirm(harness, (cursor, at(harness, 30)))
        (found,) = await outlived(harness)
        assert found.next_fire_at == at(harness, 60)

    async def test_a_version_that_was_edited_away_is_not_confirmed(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await harness.advance(30)
        await put(harness, make_spec(every_s=90))
        await confirm(harness, (cursor, None))
        assert [one.version for one in await read_cursors(harness)] == [1, 2]
        assert [one.cursor.version for one in await outlived(harness)] == [2]

    async def test_older_rules_do_not_confirm_what_newer_planned(self, harness: StoreHarness) -> None:
        """A leader that was superseded by a newer release, and does not know it yet."""
        await put(harness)
        cursor = await read_cursor(harness)
        await confirm(harness, (cursor, at(harness, 60)), tzdata=NEWEST_TZDATA)
        await confirm(harness, (cursor, at(harness, 30)), tzdata=NEWER_TZDATA)
        assert await outlived(harness, NEWEST_TZDATA) == []
        (found,) = await outlived(harness, "2026d")
        assert found.next_fire_at == at(harness, 60)

    async def test_a_repeated_confirmation_changes_nothing(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        for _ in range(2):
            await confirm(harness, (cursor, at(harness, 60)))
            (found,) = await outlived(harness, NEWEST_TZDATA)
            assert (found.cursor, found.next_fire_at) == (cursor, at(harness, 60))

    async def test_a_confirmation_does_not_touch_other_versions(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await confirm(harness, (await read_cursor(harness), None))
        found = await outlived(harness, schedules=[SCHEDULE, OTHER_SCHEDULE])
        assert [one.cursor.schedule_id for one in found] == [OTHER_SCHEDULE]
        assert len(await read_cursors(harness, OTHER_SCHEDULE)) == 1

    async def test_a_confirmed_version_does_not_refuse_the_next_plan(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await confirm(harness, (cursor, at(harness, 60)))
        receipt = await write(harness, make_plan(cursor, at(harness, 60)))
        assert (receipt.runs_written, receipt.outdated) == (1, 0)

    async def test_confirming_nothing_is_no_fault(self, harness: StoreHarness) -> None:
        await confirm(harness)
        assert list(await harness.store.plans.outlived([shard_for(harness)], NEWER_TZDATA, MANY)) == []


async def outlived(
    harness: StoreHarness,
    tzdata: str = NEWER_TZDATA,
    *,
    schedules: Sequence[ScheduleId] = (SCHEDULE,),
    limit: int = MANY,
) -> list[Outlived]:
    """What these rules outlived on the shards of these schedules."""
    shards = sorted({shard_for(harness, one) for one in schedules})
    return list(await harness.store.plans.outlived(shards, tzdata, limit))


async def confirm(
    harness: StoreHarness, *confirmed: tuple[Cursor, datetime | None], tzdata: str = NEWER_TZDATA
) -> None:
    """Confirm cursors, each with the time to look again."""
    await harness.store.plans.confirm(confirmed, tzdata)


async def runs(harness: StoreHarness) -> list[object]:
    """Everything in the ledger."""
    return list(await harness.store.ledger.list(NS, RunFilter()))
