"""A stale leader's plan changes nothing, however its write and its successor's grant interleave."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Epoch, JobName, ScheduleId, tick_key
from fencepost.model.plan import Plan, Tick
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.stores.postgres import PostgresStore, open_store
from fencepost.testing.conformance.builders import register
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

NS, SCHEDULE = DEFAULT_NAMESPACE, ScheduleId("invoices")
OLD, NEW = Epoch(1), Epoch(2)
REGISTER = "UPDATE fencepost.epochs SET epoch = $2 WHERE shard = $1"
RUNS = "SELECT count(*) FROM fencepost.runs"


@pytest.fixture
async def store(emptied_postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(emptied_postgres_url, clock=SystemClock())
    yield opened
    await opened.close()


@pytest.fixture
async def rival(emptied_postgres_url: str) -> AsyncIterator[Any]:
    """A second client, whose transactions the test holds open as long as it likes."""
    connection = await asyncpg.connect(emptied_postgres_url)
    yield connection
    await connection.close()


async def test_a_plan_is_refused_when_its_epoch_was_superseded_before(store: PostgresStore) -> None:
    schedule = await put(store)
    plan = await make_plan(store, schedule)
    assert await register(store, schedule.shard, NEW)
    receipt = await store.plans.write([plan])
    assert (receipt.runs_written, receipt.stale) == (0, (schedule.shard,))


async def test_a_plan_is_refused_when_its_epoch_is_superseded_while_it_waits(
    store: PostgresStore, rival: Any
) -> None:
    schedule = await put(store)
    plan = await make_plan(store, schedule)
    async with held(rival):
        await rival.execute(REGISTER, schedule.shard, NEW)
        writing = asyncio.create_task(store.plans.write([plan]))
        await until_blocked(rival)
    receipt = await writing
    assert (receipt.runs_written, receipt.stale) == (0, (schedule.shard,))
    assert await rival.fetchval(RUNS) == 0
    assert await planned_through(store) == schedule.planned_through


async def test_a_plan_survives_when_the_epoch_it_waited_for_was_not_registered(
    store: PostgresStore, rival: Any
) -> None:
    schedule = await put(store)
    plan = await make_plan(store, schedule)
    transaction = rival.transaction()
    await transaction.start()
    await rival.execute(REGISTER, schedule.shard, NEW)
    writing = asyncio.create_task(store.plans.write([plan]))
    await until_blocked(rival)
    await transaction.rollback()
    assert (await writing).runs_written == 1


async def test_no_epoch_is_registered_before_a_plan_in_flight_is_durable(
    store: PostgresStore, rival: Any
) -> None:
    """The writer is stopped after it has its fence, in front of a tick that somebody takes back."""
    schedule = await put(store)
    plan = await make_plan(store, schedule)
    async with taken_back(rival):
        await rival.execute(
            "INSERT INTO fencepost.runs (namespace, run_key, job, fire_time, state, queue, priority, run_at)"
            " VALUES ($1, $2, 'j', now(), 'planned', 'default', 2, now())",
            NS,
            tick_key(SCHEDULE, plan.ticks[0].fire_time, schedule.version),
        )
        writing = asyncio.create_task(store.plans.write([plan]))
        await until_blocked(rival)
        registering = asyncio.create_task(register(store, schedule.shard, NEW))
        await until_blocked(rival, 2)
        assert not registering.done()
    assert (await writing).runs_written == 1
    assert await registering
    late = await store.plans.write([await make_plan(store, schedule, registered=False)])
    assert (late.runs_written, late.stale) == (0, (schedule.shard,))


async def test_a_stale_shard_does_not_hold_back_the_plans_of_another(store: PostgresStore) -> None:
    first, second = [await put(store, ScheduleId(f"schedule-{number}")) for number in (0, 1)]
    assert first.shard != second.shard
    plans = [await make_plan(store, one) for one in (first, second)]
    await register(store, first.shard, NEW)
    receipt = await store.plans.write(plans)
    assert (receipt.runs_written, receipt.stale) == (1, (first.shard,))


async def test_a_plan_is_outdated_when_its_schedule_is_edited_while_it_waits(
    store: PostgresStore, rival: Any
) -> None:
    """It waits for its fence; the cursor that it then meets is not the one that its snapshot shows."""
    schedule = await put(store)
    plan = await make_plan(store, schedule)
    async with held(rival):
        await rival.execute("SELECT 1 FROM fencepost.epochs FOR UPDATE")
        writing = asyncio.create_task(store.plans.write([plan]))
        await until_blocked(rival)
        await put(store, every_s=5)
    receipt = await writing
    assert (receipt.runs_written, receipt.stale, receipt.outdated) == (0, (), 1)
    assert await rival.fetchval(RUNS) == 0


async def test_an_edit_withdraws_the_ticks_of_a_plan_that_was_in_flight(
    store: PostgresStore, rival: Any
) -> None:
    """The edit waits for the plan's cursor, and must then see the runs written with it."""
    schedule = await put(store)
    async with held(rival):
        await rival.execute("UPDATE fencepost.cursors SET planned_through = planned_through")
        await rival.execute(
            "INSERT INTO fencepost.runs (namespace, run_key, schedule_id, job, fire_time, version,"
            " state, queue, priority, run_at) VALUES ($1, 'tick', $2, 'j', now() + '1 min', 1,"
            " 'planned', 'default', 2, now() + '1 min')",
            NS,
            SCHEDULE,
        )
        editing = asyncio.create_task(put(store, every_s=5))
        await until_blocked(rival)
    assert (await editing).version == schedule.version + 1
    state = await rival.fetchval("SELECT state FROM fencepost.runs WHERE run_key = 'tick'")
    assert state == "withdrawn"


@asynccontextmanager
async def held(connection: Any) -> AsyncIterator[None]:
    """A transaction that commits at the end of the block."""
    async with connection.transaction():
        yield


@asynccontextmanager
async def taken_back(connection: Any) -> AsyncIterator[None]:
    """A transaction that is rolled back at the end of the block."""
    transaction = connection.transaction()
    await transaction.start()
    yield
    await transaction.rollback()


async def put(store: PostgresStore, schedule_id: ScheduleId = SCHEDULE, every_s: int = 60) -> Schedule:
    spec = ScheduleSpec(job=JobName("j"), trigger={"v": 1, "kind": "every", "seconds": every_s})
    schedule = await store.schedules.put(NS, schedule_id, spec, tzdata="2026a", expected_version=None)
    assert schedule is not None
    return schedule


async def make_plan(store: PostgresStore, schedule: Schedule, *, registered: bool = True) -> Plan:
    """A plan of the old leader, made while it was the leader."""
    if registered:
        assert await register(store, schedule.shard, OLD)
    window = await store.plans.window([schedule.shard], 3600.0, 10)
    cursor = next(one for one in window.cursors if one.schedule_id == schedule.schedule_id)
    fire_time = cursor.planned_through + timedelta(seconds=60)
    return Plan(cursor, OLD, (Tick(fire_time, fire_time),), fire_time, fire_time, "2026a")


async def planned_through(store: PostgresStore) -> object:
    schedule = await store.schedules.get(NS, SCHEDULE)
    assert schedule is not None
    return schedule.planned_through
