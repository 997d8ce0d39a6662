"""The store in memory keeps every contract."""

import pytest

from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.whole import StoreConformance
from tests.conformance.clocked import open_memory


@pytest.fixture
def harness() -> StoreHarness:
    return open_memory()


class TestMemoryStore(StoreConformance):
    """See `StoreConformance`."""
