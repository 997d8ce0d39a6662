"""The behaviour of what the matrix reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fencepost.model.identifiers import ScheduleId
from fencepost.model.missed import MissedRange, MissedTicks
from fencepost.model.run import RunState
from fencepost.model.views import Outcomes, ScheduleOutcomes
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    death,
    due_ticks,
    finish,
    plan_ticks,
    put,
    start_ticks,
    success,
    write_missed,
)
from fencepost.testing.conformance.harness import StoreHarness

LONG_S = 1_000_000.0


class OutcomesContract:
    """What became of the ticks of many schedules, by stretches of time."""

    async def test_no_tick_is_counted_in_another_stretch(self, harness: StoreHarness) -> None:
        await put(harness)
        edges = [at(harness, seconds) for seconds in (60, 120, 180)]
        keys = await due_ticks(harness, 59, 60, 119, 120, 179, 180)
        (found,) = (await outcomes(harness, edges)).values()
        assert found == ScheduleOutcomes(
            {
                0: (Outcomes(RunState.READY, False, 2, keys[2]),),
                1: (Outcomes(RunState.READY, False, 2, keys[4]),),
            }
        )

    async def test_runs_that_ended_otherwise_are_not_counted_together(self, harness: StoreHarness) -> None:
        await put(harness)
        edges = [at(harness, 0), at(harness, 300)]
        keys = await due_ticks(harness, 10, 20, 30, 40)
        first, second, _, fourth = await start_ticks(harness)
        for outcome in (success(first.ticket), success(second.ticket), death(fourth.ticket)):
            await finish(harness, outcome)
        (found,) = (await outcomes(harness, edges, late_s=10)).values()
        assert found.stretches == {
            0: (
                Outcomes(RunState.DEAD, False, 1, keys[3]),
                Outcomes(RunState.RUNNING, False, 1, keys[2]),
                Outcomes(RunState.SUCCEEDED, True, 2, keys[1]),
            )
        }

    async def test_a_tick_that_is_due_is_not_said_to_be_planned(self, harness: StoreHarness) -> None:
        await put(harness)
        edges = [at(harness, 0), at(harness, 300)]
        planned, later_on = await plan_ticks(harness, 60, 120)
        await harness.advance(60)
        (found,) = (await outcomes(harness, edges)).values()
        assert found.stretches[0] == (
            Outcomes(RunState.PLANNED, False, 1, later_on),
            Outcomes(RunState.READY, False, 1, planned),
        )

    async def test_no_older_runs_are_looked_at_than_asked_for(self, harness: StoreHarness) -> None:
        await put(harness)
        edges = [at(harness, 0), at(harness, 300)]
        first = at(harness, 60)
        keys = await due_ticks(harness, 60, 120, 180)
        (found,) = (await outcomes(harness, edges, each=3)).values()
        assert found == ScheduleOutcomes({0: (Outcomes(RunState.READY, False, 2, keys[2]),)}, first)
        (found,) = (await outcomes(harness, edges, each=4)).values()
        assert found == ScheduleOutcomes({0: (Outcomes(RunState.READY, False, 3, keys[2]),)})

    async def test_a_schedule_is_not_given_the_outcomes_of_another(self, harness: StoreHarness) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await put(harness, namespace=OTHER_NS)
        edges = [at(harness, 0), at(harness, 300)]
        (mine,) = await plan_ticks(harness, 60)
        (other,) = await plan_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 50, namespace=OTHER_NS)
        wanted = [OTHER_SCHEDULE, SCHEDULE, SCHEDULE, ScheduleId("never")]
        found = await harness.store.ledger.outcomes(NS, wanted, edges, MANY, 10.0)
        assert found == {
            SCHEDULE: ScheduleOutcomes({0: (Outcomes(RunState.PLANNED, False, 1, mine),)}),
            OTHER_SCHEDULE: ScheduleOutcomes({0: (Outcomes(RunState.PLANNED, False, 1, other),)}),
        }

    async def test_ticks_that_were_missed_without_a_run_are_not_left_out(self, harness: StoreHarness) -> None:
        await put(harness)
        times = tuple(at(harness, -seconds) for seconds in (180, 120, 60))
        await write_missed(harness, MissedTicks(times, "too late"))
        (found,) = (await outcomes(harness, [at(harness, -60), at(harness, 0)])).values()
        missed = MissedRange(NS, SCHEDULE, 1, times[0], times[-1], 3, "too late")
        assert found == ScheduleOutcomes(missed=(missed,))
        assert await outcomes(harness, [at(harness, -59), at(harness, 0)]) == {}
        assert await outcomes(harness, [at(harness, -300), at(harness, -180)]) == {}


async def outcomes(
    harness: StoreHarness, edges: Sequence[datetime], each: int = MANY, late_s: float = LONG_S
) -> Mapping[ScheduleId, ScheduleOutcomes]:
    """What became of the ticks of the one schedule."""
    return await harness.store.ledger.outcomes(NS, [SCHEDULE], edges, each, late_s)
