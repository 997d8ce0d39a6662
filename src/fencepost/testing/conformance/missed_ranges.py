"""The behaviour of missed ranges: many ticks in one row, each counted once."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.clocks import later
from fencepost.model.identifiers import tick_key
from fencepost.model.missed import MissedRange, MissedTicks
from fencepost.model.plan import Tick
from fencepost.model.run import RunFilter, RunState
from fencepost.testing.conformance.builders import (
    FAR_S,
    JOB,
    MANY,
    NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read_cursor,
    register,
    write,
    write_missed,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA

TOO_LATE, COALESCED = "too late: max_lateness is 60s", "coalesced into another"


class MissedRangeContract:
    """Written by planners that were away."""

    async def test_missed_ticks_do_not_become_rows(self, harness: StoreHarness) -> None:
        await put(harness)
        times = beats(harness, 60, 120, 180)
        receipt = await write_missed(harness, MissedTicks(times, TOO_LATE))
        assert receipt.runs_written == 0
        assert list(await harness.store.ledger.list(NS, RunFilter(schedule_id=SCHEDULE))) == []
        assert await ranges(harness) == [MissedRange(NS, SCHEDULE, 1, times[0], times[2], 3, TOO_LATE)]
        assert (await read_cursor(harness)).planned_through == times[2]

    async def test_ticks_of_a_range_are_tallied_as_missed(self, harness: StoreHarness) -> None:
        await put(harness)
        times = beats(harness, *(60 * number for number in range(1, 48)))
        await write_missed(harness, MissedTicks(times, TOO_LATE))
        await harness.advance(60 * 48)
        ledger = harness.store.ledger
        assert await ledger.tally(NS, 3_600) == {RunState.MISSED: 47}
        assert {job: dict(one) for job, one in (await ledger.tally_by_job(NS, 3_600)).items()} == {
            JOB: {RunState.MISSED: 47}
        }
        assert await ledger.tally(NS, 60 * 10 + 1) == {RunState.MISSED: 10}
        assert await ledger.tally(NS, 1) == {}

    async def test_the_next_of_the_same_kind_does_not_open_another_range(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = beats(harness, 60, 120), beats(harness, 180, 240, 300)
        await write_missed(harness, MissedTicks(first, TOO_LATE))
        await write_missed(harness, MissedTicks(second, TOO_LATE))
        assert await ranges(harness) == [MissedRange(NS, SCHEDULE, 1, first[0], second[2], 5, TOO_LATE)]

    async def test_a_range_does_not_take_in_another_reason(self, harness: StoreHarness) -> None:
        await put(harness)
        first, second = beats(harness, 60, 120), beats(harness, 180, 240)
        await write_missed(harness, MissedTicks(first, TOO_LATE), MissedTicks(second, COALESCED))
        assert await ranges(harness) == [
            MissedRange(NS, SCHEDULE, 1, first[0], first[1], 2, TOO_LATE),
            MissedRange(NS, SCHEDULE, 1, second[0], second[1], 2, COALESCED),
        ]

    async def test_a_range_does_not_take_in_another_version(self, harness: StoreHarness) -> None:
        await put(harness)
        await write_missed(harness, MissedTicks(beats(harness, 60, 120), TOO_LATE))
        await harness.advance(120)
        await put(harness, make_spec(every_s=90))
        await write_missed(harness, MissedTicks(beats(harness, 60, 120), TOO_LATE))
        assert [(one.version, one.count) for one in await ranges(harness)] == [(1, 2), (2, 2)]

    async def test_a_range_does_not_grow_over_what_was_planned_since(self, harness: StoreHarness) -> None:
        await put(harness)
        await write_missed(harness, MissedTicks(beats(harness, 60, 120), TOO_LATE))
        await plan_ticks(harness, 180)
        await write_missed(harness, MissedTicks(beats(harness, 240, 300), TOO_LATE))
        assert [one.count for one in await ranges(harness)] == [2, 2]

    async def test_a_tick_that_was_called_off_is_not_counted_too(self, harness: StoreHarness) -> None:
        await put(harness)
        times = beats(harness, 60, 120, 180)
        (key,) = await harness.store.ledger.plan_by_name(NS, SCHEDULE, 1, [tick(times[1])], ANNA)
        await harness.store.ledger.skip(NS, key, ANNA)
        await write_missed(harness, MissedTicks(times, TOO_LATE))
        assert await ranges(harness) == [MissedRange(NS, SCHEDULE, 1, times[0], times[2], 2, TOO_LATE)]

    async def test_a_withdrawn_run_does_not_count_as_one(self, harness: StoreHarness) -> None:
        await put(harness)
        times = beats(harness, 60, 120)
        await plan_ticks(harness, 60)
        await put(harness, make_spec(every_s=90))
        await write_missed(harness, MissedTicks(times, TOO_LATE))
        assert [one.count for one in await ranges(harness)] == [2]

    async def test_a_range_of_nothing_is_not_written(self, harness: StoreHarness) -> None:
        await put(harness)
        times = beats(harness, 60, 120)
        ticks = [tick(one) for one in times]
        await harness.store.ledger.plan_by_name(NS, SCHEDULE, 1, ticks, None)
        await write_missed(harness, MissedTicks(times, TOO_LATE))
        assert await ranges(harness) == []
        assert (await read_cursor(harness)).planned_through == times[-1]

    async def test_a_repeated_write_does_not_count_twice(self, harness: StoreHarness) -> None:
        await put(harness)
        missed = MissedTicks(beats(harness, 60, 120), TOO_LATE)
        plan = make_plan(await read_cursor(harness), missed=(missed,))
        receipts = [await write(harness, plan) for _ in range(2)]
        assert [one.outdated for one in receipts] == [0, 1]
        assert [one.count for one in await ranges(harness)] == [2]

    async def test_a_stale_leader_does_not_count(self, harness: StoreHarness) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await register(harness.store, cursor.shard, 7)
        plan = make_plan(cursor, missed=(MissedTicks(beats(harness, 60), TOO_LATE),))
        receipt = await harness.store.plans.write([plan])
        assert receipt.stale == (cursor.shard,)
        assert await ranges(harness) == []

    async def test_what_comes_after_a_range_is_written_with_it(self, harness: StoreHarness) -> None:
        await put(harness)
        missed, young = beats(harness, 60, 120), at(harness, 180)
        plan = make_plan(await read_cursor(harness), young, missed=(MissedTicks(missed, TOO_LATE),))
        assert (await write(harness, plan)).runs_written == 1
        key = tick_key(SCHEDULE, young, 1)
        assert await harness.store.ledger.get(NS, key) is not None
        assert [one.count for one in await ranges(harness)] == [2]

    async def test_only_ranges_that_reach_into_the_time_are_listed(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        start = harness.now
        await write_missed(harness, MissedTicks(beats(harness, 60, 120), TOO_LATE))
        await write_missed(harness, MissedTicks(beats(harness, 180, 240), COALESCED))

        async def counted(since_s: float, until_s: float) -> list[str]:
            found = await harness.store.ledger.missed_ranges(
                NS, SCHEDULE, later(start, since_s), later(start, until_s)
            )
            return [one.reason for one in found]

        assert await counted(0, MANY * 60) == [TOO_LATE, COALESCED]
        assert await counted(119, 180) == [TOO_LATE, COALESCED]
        assert await counted(120, 179) == []
        assert await counted(0, 60) == [TOO_LATE]
        assert await counted(240, 1000) == []


def beats(harness: StoreHarness, *after_s: float) -> tuple[datetime, ...]:
    """Fire times at these seconds from now."""
    return tuple(at(harness, seconds) for seconds in after_s)


def tick(fire_time: datetime) -> Tick:
    """A tick that is due at its fire time."""
    return Tick(fire_time, fire_time)


async def ranges(harness: StoreHarness) -> list[MissedRange]:
    """Every missed range of the one schedule."""
    ledger = harness.store.ledger
    return list(await ledger.missed_ranges(NS, SCHEDULE, at(harness, -FAR_S), at(harness, FAR_S)))
