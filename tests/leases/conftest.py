"""What tests of lease stores share."""

from collections.abc import AsyncIterator

import pytest

from fencepost.testing.clock import VirtualClock
from tests.leases.kubernetes.double import Double
from tests.leases.kubernetes.on_double import started_double


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with started_double() as double:
        yield double


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()
