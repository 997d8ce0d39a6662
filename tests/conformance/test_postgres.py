"""The PostgreSQL store keeps every contract.

One store serves all tests, emptied before each: to connect and to plan every statement anew costs more than
most of them do.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from fencepost.errors import StoreUnavailable
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_postgres import PostgresHarness, open_postgres

pytestmark = [pytest.mark.postgres, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(shared_postgres_url: str) -> AsyncIterator[list[PostgresHarness]]:
    harnesses = [await open_postgres(shared_postgres_url)]
    yield harnesses
    for harness in harnesses:
        await harness.close()


@pytest_asyncio.fixture(loop_scope="module")
async def harness(opened: list[PostgresHarness], shared_postgres_url: str) -> StoreHarness:
    if await is_closed(opened[-1]):
        opened.append(await open_postgres(shared_postgres_url))
    await opened[-1].empty()
    return opened[-1]


async def is_closed(harness: PostgresHarness) -> bool:
    """Whether a test has closed the store."""
    try:
        await harness.store.now()
    except StoreUnavailable:
        return True
    return False


class TestPostgresStore(StoreConformance):
    """See `StoreConformance`."""
