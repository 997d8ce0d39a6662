"""The behaviour of ticks that are due later than they fire: none is early, late or lost."""

from __future__ import annotations

from fencepost.model.clocks import later
from fencepost.model.identifiers import ScheduleId, tick_key
from fencepost.model.run import RunFilter, RunState
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    Witness,
    at,
    claim,
    claim_request,
    close_to,
    end_all,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    retry,
    start_ticks,
    states,
    write,
)
from fencepost.testing.conformance.harness import StoreHarness

PLANNED, READY, WITHDRAWN = RunState.PLANNED, RunState.READY, RunState.WITHDRAWN


class DueTimeContract:
    """A tick fires at one time, which is its name, and is due at another."""

    async def test_a_tick_is_not_named_after_when_it_is_due(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60, delay_s=30)
        run = await read(harness, key)
        assert key == tick_key(SCHEDULE, at(harness, 60), 1)
        assert (run.fire_time, run.run_at) == (at(harness, 60), at(harness, 90))

    async def test_a_tick_does_not_start_before_it_is_due(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60, delay_s=30)
        await harness.advance(89)
        assert await start_ticks(harness) == []
        outlook = await harness.store.ledger.outlook(claim_request())
        assert (outlook.tick, outlook.next_due_at) == (None, at(harness, 1))
        await harness.advance(1)
        (claimed,) = await start_ticks(harness)
        assert (claimed.run_key, claimed.fire_time, claimed.run_at) == (key, at(harness, -30), harness.now)

    async def test_a_tick_that_has_fired_and_waits_is_not_shown_as_ready(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60, delay_s=30)
        await harness.advance(70)
        assert await shown(harness, key) == (PLANNED, {PLANNED}, {PLANNED: 1})
        await harness.advance(20)
        assert await shown(harness, key) == (READY, {READY}, {READY: 1})

    async def test_a_tick_that_has_fired_and_waits_is_not_in_the_queue(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 60, delay_s=30)
        await harness.advance(70)
        depth = await harness.store.ledger.depth(NS)
        assert (depth.ready, depth.oldest_ready_s) == (0, None)

    async def test_the_queue_does_not_count_a_ticks_age_from_its_fire_time(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await plan_ticks(harness, 60, delay_s=30)
        await harness.advance(100)
        depth = await harness.store.ledger.depth(NS)
        assert depth.ready == 1
        assert depth.oldest_ready_s is not None
        assert close_to(depth.oldest_ready_s, 10)

    async def test_the_judge_is_not_told_that_a_tick_was_due_when_it_fired(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await plan_ticks(harness, 60, 70, delay_s=30)
        start = harness.now
        await harness.advance(100)
        witness = Witness()
        await harness.store.ledger.claim_ticks(claim_request(), MANY, witness)
        (facts,) = witness.facts
        assert [tick.fire_time for tick in facts.due] == [later(start, 60), later(start, 70)]
        assert [tick.run_at for tick in facts.due] == [later(start, 90), later(start, 100)]
        assert facts.newest_due == later(start, 70)

    async def test_the_newest_due_tick_is_not_one_that_waits(self, harness: StoreHarness) -> None:
        await put(harness)
        await plan_ticks(harness, 30)
        await plan_ticks(harness, 60, delay_s=30)
        await harness.advance(70)
        witness = Witness()
        await harness.store.ledger.claim_ticks(claim_request(), MANY, witness)
        (facts,) = witness.facts
        assert [tick.fire_time for tick in facts.due] == [at(harness, -40)]
        assert facts.newest_due == at(harness, -40)

    async def test_the_first_to_fire_is_not_served_before_the_first_to_be_due(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        await put(harness, schedule_id=OTHER_SCHEDULE)
        await plan_ticks(harness, 30, delay_s=30)
        await plan_ticks(harness, 50, schedule_id=OTHER_SCHEDULE)
        await harness.advance(60)
        assert [one.schedule_id for one in await start_ticks(harness)] == [OTHER_SCHEDULE, SCHEDULE]

    async def test_a_sweep_does_not_count_lateness_from_the_fire_time(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60, delay_s=30)
        await harness.advance(149)
        assert await harness.store.ledger.sweep_late(60, MANY, end_all) == 0
        assert await states(harness, key) == [READY]
        await harness.advance(1)
        assert await harness.store.ledger.sweep_late(60, MANY, end_all) == 1

    async def test_a_retry_does_not_keep_the_old_due_time_or_lose_the_fire_time(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60, delay_s=30)
        await harness.advance(90)
        (claimed,) = await start_ticks(harness)
        await finish(harness, retry(claimed.ticket, in_s=20))
        run = await read(harness, key)
        assert (run.fire_time, run.run_at) == (at(harness, -30), at(harness, 20))
        await harness.advance(20)
        (again,) = await claim(harness)
        assert (again.fire_time, again.run_at) == (claimed.fire_time, harness.now)

    async def test_a_change_does_not_withdraw_a_tick_that_has_fired_and_waits(
        self, harness: StoreHarness
    ) -> None:
        keys = {}
        for schedule_id in CHANGED:
            await put(harness, schedule_id=schedule_id)
            keys[schedule_id] = await plan_ticks(harness, 30, 60, delay_s=50, schedule_id=schedule_id)
        await harness.advance(40)
        await change_all(harness)
        for fired, ahead in keys.values():
            assert await states(harness, fired, ahead) == [PLANNED, WITHDRAWN]
        await harness.advance(40)
        started = {one.run_key: one.version for one in await start_ticks(harness)}
        assert started == {fired: 1 for fired, _ in keys.values()}

    async def test_a_tick_that_waits_is_not_planned_again_by_the_next_version(
        self, harness: StoreHarness
    ) -> None:
        await put(harness)
        cursor = await read_cursor(harness)
        await harness.advance(40)
        behind = make_plan(cursor, at(harness, -10), delay_s=50)
        assert (await write(harness, behind)).runs_written == 1
        await put(harness, make_spec(every_s=90))
        again = make_plan(await read_cursor(harness), at(harness, -10), at(harness, 30))
        assert (await write(harness, again)).runs_written == 1


CHANGED = tuple(ScheduleId(name) for name in ("edited", "paused", "removed", "renewed"))


async def change_all(harness: StoreHarness) -> None:
    """Everything that ends a version's time in force, to one schedule each."""
    schedules = harness.store.schedules
    edited, paused, removed, renewed = CHANGED
    await put(harness, make_spec(every_s=90), edited)
    await schedules.pause(NS, paused, "holidays")
    await schedules.remove(NS, removed)
    await schedules.renew(NS, renewed, make_spec(), tzdata="2026b", expected_version=1, reason="newer rules")


async def shown(harness: StoreHarness, key: str) -> tuple[RunState, set[RunState], dict[RunState, int]]:
    """How the one run looks by itself, in the filtered lists, and in the tally."""
    ledger = harness.store.ledger
    (run,) = await ledger.list(NS, RunFilter())
    assert run.run_key == key
    lists = {state for state in (PLANNED, READY) if await ledger.list(NS, RunFilter(state=state))}
    tally = await ledger.tally(NS, 3600)
    assert run == await read(harness, run.run_key)
    return run.state, lists, {state: count for state, count in tally.items() if count}
