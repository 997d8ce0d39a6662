"""The MongoDB store keeps every contract."""

from collections.abc import AsyncIterator

import pytest

from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_mongodb import open_mongodb


@pytest.fixture
async def harness(mongo_store_url: str) -> AsyncIterator[StoreHarness]:
    opened = await open_mongodb(mongo_store_url)
    yield opened
    await opened.close()


class TestMongoStore(StoreConformance):
    """See `StoreConformance`."""
