"""The PostgreSQL store keeps every contract."""

from collections.abc import AsyncIterator

import pytest

from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_postgres import open_postgres

pytestmark = pytest.mark.postgres


@pytest.fixture
async def harness(shared_postgres_url: str) -> AsyncIterator[StoreHarness]:
    opened = await open_postgres(shared_postgres_url)
    yield opened
    await opened.close()


class TestPostgresStore(StoreConformance):
    """See `StoreConformance`."""
