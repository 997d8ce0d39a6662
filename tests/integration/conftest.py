"""A store on PostgreSQL, and somebody else in its database."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tests.conformance.on_postgres import PostgresHarness, open_postgres


@pytest.fixture
async def harness(shared_postgres_url: str) -> AsyncIterator[PostgresHarness]:
    opened = await open_postgres(shared_postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
async def rival(shared_postgres_url: str) -> AsyncIterator[Any]:
    """A second client, whose transactions the test holds open as long as it likes."""
    connection = await asyncpg.connect(shared_postgres_url)
    yield connection
    await connection.close()
