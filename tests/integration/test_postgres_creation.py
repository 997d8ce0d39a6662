"""Several processes that bring the same schedules at once, as at a deploy."""

import asyncio

import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, ScheduleId
from fencepost.model.schedule import Schedule, ScheduleSpec
from fencepost.stores.postgres import open_store
from fencepost.triggers import Every

pytestmark = pytest.mark.postgres

NAMES = [ScheduleId(f"schedule-{number}") for number in range(25)]
SPEC = ScheduleSpec(JobName("report"), Every("1h").to_json())


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
