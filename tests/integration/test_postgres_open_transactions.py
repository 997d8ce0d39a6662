"""A transaction that a job or a caller keeps open holds up nobody but itself.

Whoever waited for its locks would fail after five seconds, with all else that it was about to do.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from fencepost.core.limits import decide
from fencepost.core.verdict import judge
from fencepost.model.audit import Action, Author
from fencepost.model.claiming import LaneLimit
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import DEFAULT_QUEUE, RunKey, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.limits import JobLimit
from fencepost.model.plan import Cursor, PlanReceipt
from fencepost.model.policies import Overlap
from fencepost.model.run import Claim, Hold, RunState
from fencepost.rules.orders import OrderRules
from fencepost.testing.conformance.builders import (
    JOB,
    MANY,
    NEWER_TZDATA,
    NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    at,
    claim,
    claim_request,
    claim_with,
    death,
    due_ticks,
    enqueue,
    finish,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read,
    read_cursor,
    retry,
    start_tick,
    states,
    success,
    write,
)
from fencepost.testing.conformance.operators import entries
from tests.cli.calls import refused
from tests.conformance.on_postgres import PostgresHarness
from tests.integration.waiting import until

pytestmark = pytest.mark.postgres

ANNA = Author("anna", "a test", "because")
THIS = Scope(ScopeKind.SCHEDULE, SCHEDULE)
IDLE_MAX_S = 60.0
LOCK_PLANNING = (
    "SELECT 1 FROM fencepost.schedules JOIN fencepost.cursors USING (namespace, schedule_id)"
    " WHERE schedule_id = $1 FOR UPDATE"
)

LOCK_RUN = "SELECT 1 FROM fencepost.runs WHERE run_key = $1 FOR UPDATE NOWAIT"
TRIES_ENOUGH = 5_000


async def test_a_tick_that_cannot_displace_the_run_before_it_does_not_start_beside_it(
    harness: PostgresHarness,
) -> None:
    """And keeps no other schedule from being judged in the same pass."""
    first = await started(harness, Overlap.TERMINATE_OTHER)
    key, other = await both_due(harness)
    async with own_transaction(harness, first):
        assert [one.run_key for one in await claim_with(harness, judge)] == [other]
        assert await states(harness, first.run_key, key) == [RunState.RUNNING, RunState.READY]
    assert await harness.store.ledger.unpark(MANY) == 1
    assert [one.run_key for one in await claim_with(harness, judge)] == [key]
    assert await states(harness, first.run_key) == [RunState.CANCELLED]


async def test_a_tick_that_cannot_displace_the_run_before_it_is_not_judged_over_and_over(
    harness: PostgresHarness,
) -> None:
    """It is parked, for a reason that says why, and goes when that run has ended."""
    first = await started(harness, Overlap.TERMINATE_OTHER)
    (key,) = await due_ticks(harness, 60)
    async with own_transaction(harness, first):
        assert await claim_with(harness, judge) == []
        waiting = await read(harness, key)
        assert waiting.held is Hold.PARKED
        assert waiting.reason == f"waits until {first.run_key}, in a transaction of its own, can be stopped"
        assert (await harness.store.ledger.outlook(claim_request())).tick is None
    await finish(harness, success(first.ticket))
    assert [one.run_key for one in await claim_with(harness, judge)] == [key]


async def test_a_run_that_cannot_be_asked_to_stop_is_asked_later(harness: PostgresHarness) -> None:
    first = await started(harness, Overlap.CANCEL_OTHER)
    key, other = await both_due(harness)
    async with own_transaction(harness, first):
        assert [one.run_key for one in await claim_with(harness, judge)] == [other]
        assert (await read(harness, key)).held is Hold.PARKED
        assert not (await read(harness, first.run_key)).cancel_requested
    assert await harness.store.ledger.unpark(MANY) == 1
    assert await claim_with(harness, judge) == []
    assert (await read(harness, first.run_key)).cancel_requested


async def test_a_parked_tick_that_the_run_before_it_unparks_holds_up_no_judgement(
    harness: PostgresHarness, rival: Any
) -> None:
    """The success marker of that run, not yet committed, has rung the bell."""
    first = await started(harness, Overlap.CANCEL_OTHER)
    (parked,) = await due_ticks(harness, 60)
    assert await claim_with(harness, judge) == []
    (newer,) = await due_ticks(harness, 60)
    async with rival.transaction():
        borrowed = await harness.store.transactions.borrow(rival)
        await borrowed.complete(first.ticket)
        assert await claim_with(harness, judge) == []
    assert [one.run_key for one in await claim_with(harness, judge)] == [newer]
    ended = [RunState.SUCCEEDED, RunState.SKIPPED]
    assert await states(harness, first.run_key, parked) == ended


async def test_who_asks_a_run_to_stop_is_told_in_one_line_that_it_cannot_hear(
    harness: PostgresHarness, shared_postgres_url: str
) -> None:
    first = await started(harness)
    asked_for = "runs", "cancel", first.run_key, "--reason", "no more", "--store", shared_postgres_url
    async with own_transaction(harness, first):
        line = await asyncio.to_thread(refused, *asked_for)
    assert line.startswith(f"run {first.run_key}: it is in a transaction of its own")
    assert line.endswith("; ask again")
    assert not (await read(harness, first.run_key)).cancel_requested
    asked = await harness.store.ledger.cancel(NS, first.run_key, "no more", author=ANNA)
    assert asked is not None
    assert asked.cancel_requested


async def test_one_that_cannot_hear_does_not_keep_others_from_being_cancelled(
    harness: PostgresHarness,
) -> None:
    first = await started(harness)
    (waits,) = await due_ticks(harness, 60)
    async with own_transaction(harness, first):
        asked = first.run_key, waits
        found = await harness.store.ledger.cancel_many(NS, asked, "no more", author=ANNA)
    assert (found[first.run_key].refused or "").startswith(f"run {first.run_key}: it is in a transaction")
    assert (found[first.run_key].run.cancel_requested, found[waits].refused) == (False, None)
    assert await states(harness, first.run_key, waits) == [RunState.RUNNING, RunState.CANCELLED]
    assert [one.subject for one in await entries(harness, action=Action.RUN_CANCEL)] == [waits]


async def test_who_cancels_several_keeps_none_locked_while_it_waits_for_another(
    harness: PostgresHarness, rival: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has one of them, and needs the other before it lets go; so does who finishes several."""
    monkeypatch.setattr(OrderRules, "tries", TRIES_ENOUGH)
    await put(harness)
    kept, free = await due_ticks(harness, 30, 60)

    async def free_is_cancelled() -> bool:
        return (await read(harness, free)).state is RunState.CANCELLED

    async with rival.transaction():
        await rival.execute(LOCK_RUN, kept)
        asking = asyncio.create_task(harness.store.ledger.cancel_many(NS, [kept, free], "no more"))
        await until(free_is_cancelled)
        await rival.execute(LOCK_RUN, free)
        assert not asking.done()
    found = await asking
    assert [(key, found[key].refused) for key in found] == [(kept, None), (free, None)]
    assert await states(harness, kept, free) == [RunState.CANCELLED, RunState.CANCELLED]


async def test_an_edit_that_stays_open_is_waited_for_a_moment_and_others_are_cancelled(
    harness: PostgresHarness, rival: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OrderRules, "tries", 2)
    await put(harness)
    key, other = await both_due(harness)
    async with rival.transaction():
        await rival.execute(LOCK_PLANNING, SCHEDULE)
        found = await harness.store.ledger.cancel_many(NS, [key, other], "no more")
    assert "or its schedule in one that is open" in (found[key].refused or "")
    assert found[other].refused is None
    assert await states(harness, key, other) == [RunState.READY, RunState.CANCELLED]


async def test_a_freeze_of_a_label_does_not_wait_for_a_schedule_that_it_does_not_cover(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    await put(harness, make_spec(labels={"team": "blue"}), schedule_id=OTHER_SCHEDULE)
    async with rival.transaction():
        await rival.execute(LOCK_PLANNING, SCHEDULE)
        assert await harness.store.freezes.freeze(NS, Scope(ScopeKind.LABEL, "team=blue"), ANNA)
    found = [await harness.store.schedules.get(NS, one) for one in (SCHEDULE, OTHER_SCHEDULE)]
    assert [one is not None and one.frozen for one in found] == [False, True]


async def test_a_replay_of_several_does_not_wait_for_one_that_is_running(harness: PostgresHarness) -> None:
    dead = await started(harness)
    await finish(harness, death(dead.ticket))
    (running,) = await started_again(harness)
    keys = [dead.run_key, running.run_key]
    async with own_transaction(harness, running):
        assert list(await harness.store.ledger.replay(NS, keys, 0, ANNA)) == [dead.run_key]


async def test_a_freeze_does_not_wait_for_a_run_that_is_running(harness: PostgresHarness) -> None:
    """What waits is held at once; the run itself is marked when it can be had, and not tried again."""
    first = await started(harness)
    (tick,) = await plan_ticks(harness, 60)
    async with own_transaction(harness, first):
        assert await harness.store.freezes.freeze(NS, THIS, ANNA)
        assert await held(harness, first.run_key, tick) == [Hold.NONE, Hold.FROZEN]
    await harness.store.ledger.unpark(MANY)
    assert await held(harness, first.run_key, tick) == [Hold.FROZEN, Hold.FROZEN]
    await finish(harness, retry(first.ticket))
    assert list(await harness.store.ledger.claim_direct(claim_request(), MANY)) == []


async def test_a_run_that_was_running_at_the_thaw_is_not_held_for_ever(harness: PostgresHarness) -> None:
    first = await started(harness)
    assert await harness.store.freezes.freeze(NS, THIS, ANNA)
    async with own_transaction(harness, first):
        assert await harness.store.freezes.thaw(NS, THIS, ANNA)
    await finish(harness, retry(first.ticket))
    assert list(await harness.store.ledger.claim_direct(claim_request(), MANY)) == []
    await harness.store.ledger.unpark(MANY)
    (again,) = await harness.store.ledger.claim_direct(claim_request(), MANY)
    assert again.run_key == first.run_key


async def test_an_edit_that_stays_open_does_not_keep_other_schedules_from_being_planned(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    await put(harness, schedule_id=OTHER_SCHEDULE)
    moment = at(harness, 60)
    plans = [make_plan(await cursor_of(harness, one), moment) for one in (SCHEDULE, OTHER_SCHEDULE)]
    async with rival.transaction():
        await rival.execute(LOCK_PLANNING, SCHEDULE)
        assert await write(harness, *plans) == PlanReceipt(1, dropped=(plans[0].cursor.place,))
    assert await write(harness, *plans) == PlanReceipt(1, dropped=(plans[1].cursor.place,))
    assert {await planned_through(harness, one) for one in (SCHEDULE, OTHER_SCHEDULE)} == {moment}


async def test_an_edit_that_stays_open_does_not_keep_others_from_being_put_off(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    await put(harness, schedule_id=OTHER_SCHEDULE)
    cursors = [await cursor_of(harness, one) for one in (SCHEDULE, OTHER_SCHEDULE)]
    async with rival.transaction():
        await rival.execute(LOCK_PLANNING, SCHEDULE)
        await harness.store.plans.postpone(cursors, 5_000.0)
    window = await harness.store.plans.window([one.shard for one in cursors], 3_600.0, MANY)
    assert [one.schedule_id for one in window.cursors] == [SCHEDULE]


async def test_an_edit_that_stays_open_does_not_keep_others_from_being_confirmed(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    await put(harness, schedule_id=OTHER_SCHEDULE)
    cursors = [await cursor_of(harness, one) for one in (SCHEDULE, OTHER_SCHEDULE)]
    confirmed = [(one, at(harness, 60)) for one in cursors]
    async with rival.transaction():
        await rival.execute(LOCK_PLANNING, SCHEDULE)
        await harness.store.plans.confirm(confirmed, NEWER_TZDATA)
    shards = [one.shard for one in cursors]
    outlived = await harness.store.plans.outlived(shards, NEWER_TZDATA, MANY)
    assert [one.cursor.schedule_id for one in outlived] == [SCHEDULE]


@pytest.mark.parametrize("limited", [False, True])
async def test_an_edit_that_stays_open_does_not_keep_runs_behind_a_retry_from_starting(
    harness: PostgresHarness, rival: Any, limited: bool
) -> None:
    await finish(harness, retry((await start_tick(harness)).ticket))
    if limited:
        await harness.store.jobs.register(NS, [JobSpec(JOB, limit=JobLimit(concurrency=1))])
    await enqueue(harness, "behind")
    if limited:
        assert await claim(harness) == []  # Both are in the line of the job now.
    ledger, one_lane = (
        harness.store.ledger,
        replace(claim_request(), lane_limits=(LaneLimit(DEFAULT_QUEUE, 2, 1),)),
    )
    async with rival.transaction():
        await rival.execute(LOCK_PLANNING, SCHEDULE)
        if limited:
            found = await ledger.claim_lined(one_lane, 1, decide)
        else:
            found = await ledger.claim_direct(one_lane, 1)
    assert [one.schedule_id for one in found] == [None]


def own_transaction(harness: PostgresHarness, claim: Claim) -> AbstractAsyncContextManager[object]:
    """The run is in a transaction of its own until the end of the block, and goes on after it."""
    return harness.store.transactions.begin(claim.ticket, complete=False, idle_max_s=IDLE_MAX_S)


async def started(harness: PostgresHarness, overlap: Overlap = Overlap.SKIP) -> Claim:
    """A run of a tick of `SCHEDULE` that a worker has begun."""
    await put(harness, make_spec(overlap=overlap))
    (claim,) = await started_again(harness)
    return claim


async def started_again(harness: PostgresHarness) -> list[Claim]:
    await due_ticks(harness, 60)
    return await claim_with(harness, judge)


async def both_due(harness: PostgresHarness) -> tuple[RunKey, RunKey]:
    """The next tick of `SCHEDULE`, and one of a schedule that has nothing to do with it."""
    await put(harness, schedule_id=OTHER_SCHEDULE)
    (other,) = await plan_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
    (key,) = await due_ticks(harness, 60)
    return key, other


async def held(harness: PostgresHarness, *keys: RunKey) -> list[Hold]:
    return [(await read(harness, key)).held for key in keys]


async def cursor_of(harness: PostgresHarness, schedule_id: ScheduleId) -> Cursor:
    return await read_cursor(harness, schedule_id=schedule_id)


async def planned_through(harness: PostgresHarness, schedule_id: ScheduleId) -> object:
    found = await harness.store.schedules.get(NS, schedule_id)
    assert found is not None
    return found.planned_through
