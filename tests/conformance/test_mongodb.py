"""The MongoDB store keeps every contract."""

from collections.abc import AsyncIterator

import pytest

from fencepost.testing.conformance.claims import ClaimContract
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.reports import ReportContract
from fencepost.testing.conformance.schedules import ScheduleContract
from fencepost.testing.conformance.signals import SignalContract
from fencepost.testing.conformance.ticks import TickContract
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_mongodb import open_mongodb


@pytest.fixture
async def harness(mongo_store_url: str) -> AsyncIterator[StoreHarness]:
    opened = await open_mongodb(mongo_store_url)
    yield opened
    await opened.close()


class TestMongoStoreInShort(ClaimContract, ReportContract, ScheduleContract, SignalContract, TickContract):
    """What workers and planners do all the time."""


@pytest.mark.proof
class TestMongoStore(StoreConformance):
    """All of it: see `StoreConformance`."""
