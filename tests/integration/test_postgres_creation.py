"""Several processes that bring the same schedules at once, as at a deploy."""

import asyncio

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, ScheduleId
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.ports.schedules import Admit
from fencepost.ports.store import Store
from fencepost.stores.postgres import open_store
from fencepost.triggers import Every
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

NAMES = [ScheduleId(f"schedule-{number}") for number in range(25)]
SPEC = ScheduleSpec(JobName("report"), Every("1h").to_json())
INSERT = (
    "INSERT INTO fencepost.schedules (namespace, schedule_id, shard, version, state, spec, job, updated_at)"
    " VALUES ($1, $2, 0, 1, 'active', '{}', 'report', now())"
)


async def bring(url: str, digest: str) -> list[Schedule | None]:
    store = await open_store(url, clock=SystemClock())
    try:
        return [
            await store.schedules.put(
                DEFAULT_NAMESPACE, name, SPEC, tzdata="2026a", expected_version=None, code_digest=digest
            )
            for name in NAMES
        ]
    finally:
        await store.close()


async def test_replicas_that_start_together_do_not_lock_each_other_out(postgres_url: str) -> None:
    """A replica that found no schedule must not take the cursors that another has made meanwhile."""
    everyone = await asyncio.gather(*(bring(postgres_url, f"code-{number}") for number in range(6)))
    assert {one.version for put in everyone for one in put if one is not None} == {1}
    assert all(one is not None for put in everyone for one in put)


async def test_a_schedule_that_is_just_added_without_a_question_is_counted(postgres_url: str) -> None:
    """Else what is remembered of their number would be too small from then on."""
    store, rival = await open_store(postgres_url, clock=SystemClock()), await asyncpg.connect(postgres_url)
    asked = list[tuple[int, int]]()
    transaction = rival.transaction()
    await transaction.start()
    await rival.execute(INSERT, DEFAULT_NAMESPACE, NAMES[0])
    adding = [asyncio.create_task(add(store, NAMES[0]))]
    await until_blocked(rival)
    try:
        adding.append(
            asyncio.create_task(add(store, NAMES[1], lambda there, more: asked.append((there, more))))
        )
        await until_blocked(rival, 2)
    finally:
        await transaction.rollback()
        await asyncio.gather(*adding, return_exceptions=True)
        await rival.close()
        await store.close()
    assert asked == [(1, 1)]


async def add(store: Store, name: ScheduleId, admit: Admit | None = None) -> None:
    await store.schedules.put(
        DEFAULT_NAMESPACE, name, SPEC, tzdata="2026a", expected_version=None, admit=admit
    )
