"""The MongoDB store keeps its contracts behind a router, as far as a stand-in for one is one."""

import os
from collections.abc import AsyncIterator

import pytest

from fencepost.testing.conformance.claims import ClaimContract
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.limits import SlotContract
from fencepost.testing.conformance.rows import RowContract
from fencepost.testing.conformance.signals import SignalContract
from fencepost.testing.conformance.ticks import TickContract
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.on_mongodb import open_mongodb
from tests.servers.mongo_router import MongoRouter


@pytest.fixture
async def harness(mongo_router: MongoRouter) -> AsyncIterator[StoreHarness]:
    opened = await open_mongodb(mongo_router.url(f"sharded_{os.getpid()}"))
    yield opened
    await opened.close()


@pytest.mark.proof
class TestMongoStoreBehindARouterInShort(
    ClaimContract, RowContract, SignalContract, SlotContract, TickContract
):
    """What reads several ranges at once, waits to be woken, and counts."""


@pytest.mark.proof
class TestMongoStoreBehindARouter(StoreConformance):
    """All of it: see `StoreConformance`."""
