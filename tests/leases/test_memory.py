"""Leases in memory keep the contract."""

import pytest

from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.conformance.clocked import open_memory
from tests.leases.own import OwnLeases


@pytest.fixture
def harness() -> OwnLeases:
    return OwnLeases(open_memory())


class TestMemoryLeases(LeaseConformance, HintContract):
    """See `LeaseConformance`."""
