"""Removing a calendar and writing a version that uses it, at the same time."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import DEFAULT_NAMESPACE, ScheduleId
from fencepost.stores.postgres import PostgresStore, open_store
from fencepost.testing.conformance.calendars import CHRISTMAS, EASTER, using
from tests.integration.waiting import until_blocked

pytestmark = pytest.mark.postgres

NS, SCHEDULE = DEFAULT_NAMESPACE, ScheduleId("invoices")
TURN = "fencepost.calendar default de"
TAKE = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
SHARE = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))"
USE = "INSERT INTO fencepost.calendar_uses VALUES ($1, $2, 'de', 1)"


@pytest.fixture
async def store(emptied_postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(emptied_postgres_url, clock=SystemClock())
    await opened.calendars.put(NS, "de", CHRISTMAS)
    yield opened
    await opened.close()


@pytest.fixture
async def rival(emptied_postgres_url: str) -> AsyncIterator[Any]:
    """A second client, whose transactions the test holds open as long as it likes."""
    connection = await asyncpg.connect(emptied_postgres_url)
    yield connection
    await connection.close()


async def test_a_calendar_is_not_removed_under_a_version_that_is_being_written(
    store: PostgresStore, rival: Any
) -> None:
    async with rival.transaction():
        await rival.fetch(SHARE, TURN)
        await rival.execute(USE, NS, SCHEDULE)
        removing = asyncio.create_task(store.calendars.remove(NS, "de"))
        await until_blocked(rival)
    assert list(await removing or ()) == [SCHEDULE]
    assert await store.calendars.get(NS, "de") is not None


async def test_a_version_is_not_written_beside_a_removal_that_has_not_ended(
    store: PostgresStore, rival: Any
) -> None:
    async with rival.transaction():
        await rival.fetch(TAKE, TURN)
        putting = asyncio.create_task(
            store.schedules.put(NS, SCHEDULE, using(de=1), tzdata="2026a", expected_version=0)
        )
        await until_blocked(rival)
    assert await putting is not None
    assert await store.calendars.users(NS, ["de"], 10) == {"de": [SCHEDULE]}


async def test_a_new_revision_does_not_wait_for_versions_that_use_the_old_one(
    store: PostgresStore, rival: Any
) -> None:
    async with rival.transaction():
        await rival.fetch(SHARE, TURN)
        record = await asyncio.wait_for(store.calendars.put(NS, "de", EASTER), 4)
        assert record is not None
        assert record.revision == 2


async def test_two_writers_of_one_calendar_do_not_share_a_revision(store: PostgresStore) -> None:
    definitions = [{**CHRISTMAS, "holidays": f"2026-12-{day}"} for day in range(10, 30)]
    written = await asyncio.gather(*(store.calendars.put(NS, "de", one) for one in definitions))
    assert sorted(one.revision for one in written if one is not None) == list(range(2, 22))
