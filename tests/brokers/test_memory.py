"""The broker in memory keeps what the port promises."""

from __future__ import annotations

from itertools import count

import pytest

from fencepost.testing.broker import MemoryBroker
from fencepost.testing.conformance.brokers import BrokerConformance, GroupContract


class MemoryHarness:
    redelivered_within_s = 0.0
    counts_deliveries = True

    def __init__(self) -> None:
        self.broker = MemoryBroker()
        self._names = count()

    async def another(self) -> MemoryBroker:
        return self.broker

    def destination(self) -> str:
        return f"d-{next(self._names)}"


class TestMemoryBroker(BrokerConformance, GroupContract):
    @pytest.fixture
    def harness(self) -> MemoryHarness:
        return MemoryHarness()
