"""Names are in the order of their bytes for every transaction, whatever the language of the database."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from fencepost.stores.postgres import migrate
from fencepost.testing.conformance.builders import claim, enqueue, success
from tests.conformance.on_postgres import PostgresHarness, open_postgres
from tests.integration.waiting import until_blocked
from tests.servers.postgres import SHARDS, PostgresDatabases, url_of

pytestmark = pytest.mark.postgres

IN_ENGLISH = "CREATE DATABASE in_english TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
LOCK_RUN = "SELECT 1 FROM fencepost.runs WHERE run_key = $1 FOR UPDATE"
FREE = "SELECT run_key FROM fencepost.runs FOR UPDATE SKIP LOCKED"


@pytest.fixture
def english_url(postgres_server: PostgresDatabases) -> Iterator[str]:
    """A database in which small letters come before large ones."""
    try:
        postgres_server.execute(IN_ENGLISH)
    except asyncpg.PostgresError as error:
        pytest.skip(f"needs PostgreSQL 15 or later with ICU: {error}")
    url = url_of(postgres_server.url, "in_english")
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
async def harness(english_url: str) -> AsyncIterator[PostgresHarness]:
    await migrate(english_url, shards=SHARDS)
    opened = await open_postgres(english_url)
    yield opened
    await opened.close()


@pytest.fixture
async def rival(english_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(english_url)
    yield connection
    await connection.close()


async def test_reports_lock_runs_in_the_order_in_which_rules_do(harness: PostgresHarness, rival: Any) -> None:
    """Else a report and a rule could each wait for a run that the other has."""
    small, large = await enqueue(harness, "a", "B")
    outcomes = [success(one.ticket) for one in await claim(harness)]
    async with rival.transaction():
        await rival.execute(LOCK_RUN, small)
        reporting = asyncio.create_task(harness.store.ledger.finish(outcomes))
        await until_blocked(rival)
        assert large not in [row["run_key"] for row in await rival.fetch(FREE)]
    await reporting
