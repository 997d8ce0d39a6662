"""What operators do while planners, workers and other operators are at it: entirely before or entirely after.

Whoever is to be stopped halfway meets a row that a rival holds; what it has locked by then, it keeps.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import pytest

from fencepost.core.verdict import judge
from fencepost.model.audit import Author
from fencepost.model.backfill import FillTick, NewBackfill
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import RunKey, tick_key
from fencepost.model.missed import MissedTicks
from fencepost.model.plan import PlanReceipt, Tick
from fencepost.model.policies import Overlap
from fencepost.model.run import Claim, Hold, Origin, Receipt, RunState, Ticket
from fencepost.stores.postgres.claims import QUERIES as CLAIMS
from fencepost.testing.conformance.builders import (
    BOB,
    JOB,
    MANY,
    NS,
    SCHEDULE,
    at,
    claim_request,
    claim_with,
    death,
    due_ticks,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    register,
    retry,
    start_ticks,
    states,
    success,
    write,
)
from tests.conformance.on_postgres import PostgresHarness
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

ANNA = Author("anna", "a test", "because")
THIS = Scope(ScopeKind.SCHEDULE, SCHEDULE)
LABEL = Scope(ScopeKind.LABEL, "team=billing")
LOCK_RUN = "SELECT 1 FROM fencepost.runs WHERE run_key = $1 FOR UPDATE"
LOCK_SCHEDULE = "SELECT 1 FROM fencepost.schedules FOR UPDATE"
INSERT = (
    "INSERT INTO fencepost.runs (namespace, run_key, schedule_id, job, fire_time, version, state, queue,"
    " priority, run_at) VALUES ($1, $2, $3, $4, $5, 1, 'planned', 'default', 2, $5)"
)
HOLD = "UPDATE fencepost.runs SET held = held | 1 WHERE run_key = $1"


@asynccontextmanager
async def holding(rival: Any, run_key: RunKey) -> AsyncIterator[None]:
    """Somebody else has that run until the end of the block."""
    async with rival.transaction():
        await rival.execute(LOCK_RUN, run_key)
        yield


async def test_a_plan_that_was_made_before_a_freeze_does_not_escape_it(
    harness: PostgresHarness, rival: Any
) -> None:
    """While the freeze has the cursor it is passed over; afterwards its write finds the mark."""
    await put(harness)
    (key,) = await plan_ticks(harness, 60)
    plan = make_plan(await read_cursor(harness), at(harness, 120))
    async with holding(rival, key):
        freezing = asyncio.create_task(harness.store.freezes.freeze(NS, THIS, ANNA))
        await until_blocked(rival)
        assert await harness.store.plans.write([plan]) == PlanReceipt(0, dropped=(plan.cursor.place,))
    assert await freezing
    assert (await harness.store.plans.write([plan])).runs_written == 1
    assert await holds(harness) == [Hold.FROZEN, Hold.FROZEN]


async def test_a_plan_that_waits_for_its_fence_during_a_freeze_does_not_escape_it(
    harness: PostgresHarness, rival: Any
) -> None:
    """Its statement began before the freeze, and goes on with what it saw then of all but its cursor."""
    await put(harness)
    plan = make_plan(await read_cursor(harness), at(harness, 60))
    assert await register(harness.store, plan.cursor.shard, plan.epoch)
    async with rival.transaction():
        await rival.execute("SELECT 1 FROM fencepost.epochs FOR UPDATE")
        writing = asyncio.create_task(harness.store.plans.write([plan]))
        await until_blocked(rival)
        assert await harness.store.freezes.freeze(NS, THIS, ANNA)
    assert (await writing).runs_written == 1
    assert await holds(harness) == [Hold.FROZEN]


async def test_a_freeze_does_not_miss_the_ticks_of_a_plan_in_flight(
    harness: PostgresHarness, rival: Any
) -> None:
    """The plan has its cursor and has written a tick; the freeze waits for it, and must then see the tick."""
    await put(harness)
    async with planning(rival, at(harness, 60)):
        freezing = asyncio.create_task(harness.store.freezes.freeze(NS, THIS, ANNA))
        await until_blocked(rival)
    assert await freezing
    assert await holds(harness) == [Hold.FROZEN]


async def test_a_retry_that_is_being_claimed_does_not_escape_its_next_hold(
    harness: PostgresHarness, rival: Any
) -> None:
    """The attempt that was claimed before the freeze goes on; the one after it waits."""
    first = await started(harness)
    await finish(harness, retry(first.ticket))
    async with rival.transaction():
        claimed = await rival.fetchrow(CLAIMS["claim_direct"], ["default"], [JOB], 1, BOB, 30.0, NS, [2], [1])
        freezing = asyncio.create_task(harness.store.freezes.freeze(NS, THIS, ANNA))
        await until_blocked(rival)
    assert await freezing
    run = await read(harness, first.run_key)
    assert (run.state, run.held) == (RunState.RUNNING, Hold.FROZEN)
    ticket = Ticket(NS, first.run_key, claimed["attempt"], claimed["fence"])
    assert await finish(harness, retry(ticket)) is Receipt.ACCEPTED
    assert list(await harness.store.ledger.claim_direct(claim_request(), MANY)) == []


async def test_a_schedule_that_gets_a_label_does_not_miss_the_freeze_of_that_label(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    async with rival.transaction():
        await rival.execute(LOCK_SCHEDULE)
        putting = asyncio.create_task(put(harness, make_spec(labels={"team": "billing"})))
        await until_blocked(rival)
        freezing = asyncio.create_task(harness.store.freezes.freeze(NS, LABEL, ANNA))
        await until_blocked(rival, 2)
    assert not (await putting).frozen
    assert await freezing
    found = await harness.store.schedules.get(NS, SCHEDULE)
    assert found is not None
    assert found.frozen


async def test_a_tick_that_is_parked_while_the_run_before_it_ends_is_not_left_behind(
    harness: PostgresHarness, rival: Any
) -> None:
    """A tick that is locked is not parked: it stays due, and is judged again."""
    first = await started(harness, Overlap.BUFFER_ONE)
    (key,) = await due_ticks(harness, 60)
    async with holding(rival, key):
        assert await claim_with(harness, judge) == []
        assert await finish(harness, success(first.ticket)) is Receipt.ACCEPTED
    assert (await read(harness, key)).held == Hold.NONE
    assert [one.run_key for one in await claim_with(harness, judge)] == [key]


async def test_of_two_ends_the_second_does_not_wait_for_the_tick_that_the_first_unparks(
    harness: PostgresHarness, rival: Any
) -> None:
    """The second unparks the next one, so that neither end is without its effect."""
    await put(harness, make_spec(overlap=Overlap.BUFFER_ALL))
    first, second, *_ = keys = await due_ticks(harness, 1, 2, 3, 4)
    claims = {one.run_key: one for one in await start_ticks(harness, limit=2)}
    await claim_with(harness, judge)
    assert await holds(harness) == [Hold.NONE, Hold.NONE, Hold.PARKED, Hold.PARKED]
    async with holding(rival, keys[2]):
        assert await finish(harness, success(claims[first].ticket)) is Receipt.ACCEPTED
    assert await finish(harness, success(claims[second].ticket)) is Receipt.ACCEPTED
    assert await holds(harness) == [Hold.NONE] * 4


async def test_a_retry_that_is_claimed_while_it_is_terminated_does_not_run_beside_its_successor(
    harness: PostgresHarness, rival: Any
) -> None:
    """One claimer takes the retry, and has its schedule meanwhile. Another passes the tick over, and judges
    it then."""
    first = await started(harness, Overlap.TERMINATE_OTHER)
    await finish(harness, retry(first.ticket))
    (key,) = await due_ticks(harness, 60)
    async with rival.transaction():
        taken = await rival.fetchrow(CLAIMS["claim_direct"], ["default"], [JOB], 1, BOB, 30.0, NS, [2], [1])
        assert await claim_with(harness, judge) == []
    assert await states(harness, key) == [RunState.READY]
    assert [one.run_key for one in await claim_with(harness, judge)] == [key]
    stopped = await read(harness, first.run_key)
    assert stopped.state is RunState.CANCELLED
    assert stopped.fence > taken["fence"]
    last = list(await harness.store.ledger.attempts(NS, first.run_key))[-1]
    assert (last.attempt, last.fence, last.worker, last.outcome) == (2, taken["fence"], BOB, "terminated")
    ticket = Ticket(NS, first.run_key, taken["attempt"], taken["fence"])
    assert await finish(harness, success(ticket)) is Receipt.REFUSED


async def test_a_run_that_ends_while_it_is_terminated_stays_as_it_ended(
    harness: PostgresHarness, rival: Any
) -> None:
    first = await started(harness, Overlap.TERMINATE_OTHER)
    (key,) = await due_ticks(harness, 60)
    async with rival.transaction():
        await rival.execute(
            "UPDATE fencepost.runs SET state = 'succeeded', alive_until = NULL, finished_at = fencepost.now()"
            " WHERE run_key = $1",
            first.run_key,
        )
        assert await claim_with(harness, judge) == []
    assert await harness.store.ledger.unpark(MANY) == 1
    assert [one.run_key for one in await claim_with(harness, judge)] == [key]
    assert await states(harness, first.run_key) == [RunState.SUCCEEDED]
    assert list(await harness.store.ledger.attempts(NS, first.run_key)) == []


async def test_a_tick_that_is_held_while_it_is_judged_does_not_start(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    (key,) = await due_ticks(harness, 60)
    async with rival.transaction():
        await rival.execute(HOLD, key)
        claiming = asyncio.create_task(claim_with(harness, judge))
        await until_blocked(rival)
    assert await claiming == []
    run = await read(harness, key)
    assert (run.state, run.held, run.attempt) == (RunState.READY, Hold.OPERATOR, 0)


async def test_a_replay_does_not_come_between_a_claim_and_its_start(
    harness: PostgresHarness, rival: Any
) -> None:
    """It waits for the claim, and its tick is judged beside the run that the claim started."""
    first = await started(harness)
    await finish(harness, death(first.ticket))
    (key,) = await due_ticks(harness, 60)
    async with holding(rival, key):
        claiming = asyncio.create_task(claim_with(harness, judge))
        await until_blocked(rival)
        replaying = asyncio.create_task(harness.store.ledger.replay(NS, [first.run_key], 0, ANNA))
        await until_blocked(rival, 2)
        assert not replaying.done()
    assert [one.run_key for one in await claiming] == [key]
    assert list(await replaying) == [first.run_key]
    assert await claim_with(harness, judge) == []
    assert await states(harness, first.run_key, key) == [RunState.READY, RunState.RUNNING]
    assert (await read(harness, first.run_key)).held == Hold.PARKED


async def test_two_replays_of_one_run_do_not_both_count(harness: PostgresHarness, rival: Any) -> None:
    first = await started(harness)
    await finish(harness, death(first.ticket))
    async with rival.transaction():
        await rival.execute(LOCK_SCHEDULE)
        both = [
            asyncio.create_task(harness.store.ledger.replay(NS, [first.run_key], 0, ANNA)) for _ in range(2)
        ]
        await until_blocked(rival, 2)
    assert sorted(map(list, await asyncio.gather(*both))) == [[], [first.run_key]]


async def test_a_fire_time_that_a_planner_is_writing_is_not_filled_in_too(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    await harness.advance(300)
    moment, now = at(harness, -240), at(harness, 0)
    backfill = await harness.store.backfills.start(NS, NewBackfill(SCHEDULE, at(harness, -300), now), ANNA)
    assert backfill is not None
    async with planning(rival, moment):
        filling = asyncio.create_task(
            harness.store.backfills.fill(backfill, [FillTick(moment, 1)], now, ANNA)
        )
        await until_blocked(rival)
        restoring = asyncio.create_task(
            harness.store.ledger.plan_by_name(NS, SCHEDULE, 1, [Tick(moment, moment)], ANNA)
        )
        await until_blocked(rival, 2)
    assert (await filling, list(await restoring)) == (0, [])


async def test_a_plan_that_waits_while_ticks_are_written_by_name_does_not_count_them_again(
    harness: PostgresHarness, rival: Any
) -> None:
    """Its statement began before they were there and goes on with what it saw then; so it is dropped."""
    await put(harness)
    times = [at(harness, 60 * number) for number in range(1, 31)]
    await harness.advance(3_600)
    missed = (MissedTicks(tuple(times), "too late"),)
    plan = make_plan(await read_cursor(harness), missed=missed)
    named = [Tick(moment, moment) for moment in times[:5]]
    assert await register(harness.store, plan.cursor.shard, plan.epoch)
    async with rival.transaction():
        await rival.execute("SELECT 1 FROM fencepost.epochs FOR UPDATE")
        writing = asyncio.create_task(harness.store.plans.write([plan]))
        await until_blocked(rival)
        assert len(await harness.store.ledger.plan_by_name(NS, SCHEDULE, 1, named, ANNA)) == 5
    receipt = await writing
    assert (receipt.stale, receipt.outdated) == ((), 1)
    assert await missed_ticks(harness) == []
    assert (await write(harness, make_plan(await read_cursor(harness), missed=missed))).outdated == 0
    assert await missed_ticks(harness) == [25]


async def test_a_tick_that_is_held_during_an_edit_is_neither_withdrawn_nor_left_as_it_was(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    (key,) = await plan_ticks(harness, 60)
    async with rival.transaction():
        await rival.execute(HOLD, key)
        editing = asyncio.create_task(put(harness, make_spec(every_s=5)))
        await until_blocked(rival)
    assert (await editing).version == 2
    run = await read(harness, key)
    assert (run.state, run.held, run.origin) == (RunState.PLANNED, Hold.OPERATOR, Origin.MANUAL)


async def test_what_waits_behind_a_hundred_parked_ticks_does_not_keep_its_schedule_due(
    harness: PostgresHarness,
) -> None:
    """A queue that is longer than what one verdict sees is parked to its end."""
    await put(harness)
    first = await started(harness)
    since = at(harness, -10_000)
    backfill = await harness.store.backfills.start(NS, NewBackfill(SCHEDULE, since, at(harness, 0)), ANNA)
    assert backfill is not None
    ticks = [FillTick(at(harness, -9_000 + number), 1) for number in range(350)]
    assert await harness.store.backfills.fill(backfill, ticks, at(harness, 0), ANNA) == 350
    for _ in range(4):
        assert await claim_with(harness, judge) == []
    assert (await harness.store.ledger.outlook(claim_request())).tick is None
    await finish(harness, success(first.ticket))
    (next_one,) = await claim_with(harness, judge)
    assert next_one.fire_time == ticks[0].fire_time


@asynccontextmanager
async def planning(rival: Any, fire_time: datetime) -> AsyncIterator[None]:
    """A planner has the cursors and has written a tick, and commits at the end of the block."""
    key = tick_key(SCHEDULE, fire_time, 1)
    async with rival.transaction():
        await rival.execute("UPDATE fencepost.cursors SET planned_through = planned_through")
        await rival.execute(INSERT, NS, key, SCHEDULE, JOB, fire_time)
        yield


async def started(harness: PostgresHarness, overlap: Overlap = Overlap.SKIP) -> Claim:
    """A run of a tick of `SCHEDULE` that a worker has begun."""
    await put(harness, make_spec(overlap=overlap))
    await due_ticks(harness, 60)
    (claim,) = await claim_with(harness, judge)
    return claim


async def holds(harness: PostgresHarness) -> list[Hold]:
    """What holds the runs of `SCHEDULE`, by fire time."""
    runs = await harness.store.ledger.ticks(
        NS, SCHEDULE, at(harness, -100_000), at(harness, 100_000), None, MANY
    )
    return [run.held for run in runs]


async def missed_ticks(harness: PostgresHarness) -> list[int]:
    """How many ticks each missed range of `SCHEDULE` counts."""
    span = at(harness, -100_000), at(harness, 100_000)
    return [one.count for one in await harness.store.ledger.missed_ranges(NS, SCHEDULE, *span)]
