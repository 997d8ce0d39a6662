"""Filling in the past while others fill, plan and forget: no fire time runs twice."""

import asyncio
from typing import Any

import pytest

from fencepost.model.audit import Author
from fencepost.model.backfill import Backfill, FillMode, FillTick, NewBackfill
from fencepost.stores.postgres.ledger import QUERIES as LEDGER
from fencepost.testing.conformance.builders import (
    NS,
    SCHEDULE,
    at,
    claim_with,
    due_ticks,
    end_all,
    make_plan,
    make_spec,
    put,
    read_cursor,
    register,
    write,
)
from tests.conformance.on_postgres import PostgresHarness
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

ANNA = Author("anna", "a test", "because")
LOCK_SCHEDULE = "SELECT 1 FROM fencepost.schedules FOR UPDATE"
COUNT_RUNS = "SELECT count(*) FROM fencepost.runs"


async def test_of_two_that_fill_a_backfill_at_once_one_changes_nothing(
    harness: PostgresHarness, rival: Any
) -> None:
    await put(harness)
    backfill = await started(harness)
    ticks, through = [FillTick(at(harness, -240), 1), FillTick(at(harness, -180), 1)], at(harness, -180)
    async with rival.transaction():
        await rival.execute(LOCK_SCHEDULE)
        both = [
            asyncio.create_task(harness.store.backfills.fill(backfill, ticks, through, ANNA))
            for _ in range(2)
        ]
        await until_blocked(rival, 2)
    assert sorted(await asyncio.gather(*both), key=str) == [2, None]
    assert await rival.fetchval(COUNT_RUNS) == 2
    moved = await harness.store.backfills.get(NS, backfill.backfill_id)
    assert moved is not None
    assert moved.filled_through == through


async def test_a_fire_time_that_is_filled_in_while_its_plan_waits_does_not_run_twice(
    harness: PostgresHarness, rival: Any
) -> None:
    """It is filled in under another version than the planner's, so that no key keeps the two apart."""
    await put(harness)
    await put(harness, make_spec(every_s=5))
    moment = at(harness, 60)
    await harness.advance(120)
    plan, backfill = make_plan(await read_cursor(harness), moment), await started(harness)
    assert await register(harness.store, plan.cursor.shard, plan.epoch)
    async with rival.transaction():
        await rival.execute("SELECT 1 FROM fencepost.epochs FOR UPDATE")
        writing = asyncio.create_task(harness.store.plans.write([plan]))
        await until_blocked(rival)
        assert await fill(harness, backfill, FillTick(moment, 1)) == 1
    receipt = await writing
    assert (receipt.runs_written, receipt.outdated) == (0, 1)
    again = await write(harness, make_plan(await read_cursor(harness), moment))
    assert (again.runs_written, again.outdated) == (0, 0)
    assert await rival.fetchval(COUNT_RUNS) == 1


@pytest.mark.parametrize(("mode", "filled"), [(FillMode.MISSED, 0), (FillMode.ALL, 1)])
async def test_a_run_that_retention_is_removing_is_not_taken_for_one_that_is_there(
    harness: PostgresHarness, rival: Any, mode: FillMode, filled: int
) -> None:
    """Whether the fire time ran cannot be said any more; who wants all of them has it run anew."""
    await put(harness)
    moment = at(harness, 60)
    await due_ticks(harness, 60)
    await claim_with(harness, end_all)
    await harness.advance(120)
    backfill = await started(harness, mode)
    async with rival.transaction():
        assert await rival.fetchval(LEDGER["forget"], 60.0, 100, None) == 1
        filling = asyncio.create_task(fill(harness, backfill, FillTick(moment, 1)))
        await until_blocked(rival)
    assert await filling == filled
    assert await rival.fetchval(COUNT_RUNS) == filled


async def started(harness: PostgresHarness, mode: FillMode = FillMode.MISSING) -> Backfill:
    """A backfill of the last minutes."""
    asked = NewBackfill(SCHEDULE, at(harness, -300), at(harness, 0), mode)
    backfill = await harness.store.backfills.start(NS, asked, ANNA)
    assert backfill is not None
    return backfill


async def fill(harness: PostgresHarness, backfill: Backfill, tick: FillTick) -> int | None:
    """Fill in that fire time, and have done with it."""
    return await harness.store.backfills.fill(backfill, [tick], backfill.request.until, ANNA)
