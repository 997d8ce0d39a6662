"""The broker in a folder, held to the contract. Run it with `pytest examples/broker`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from examples.broker.folder import FolderBroker, open_broker
from fencepost.testing.conformance.brokers import BrokerConformance


class FolderHarness:
    """A folder, and clients of it."""

    redelivered_within_s = 1.0
    counts_deliveries = True

    def __init__(self, broker: FolderBroker, url: str) -> None:
        self.broker = broker
        self._url = url
        self._others: list[FolderBroker] = []
        self._names = count()

    async def another(self) -> FolderBroker:
        self._others.append(await open_broker(self._url))
        return self._others[-1]

    def destination(self) -> str:
        return f"destination-{next(self._names)}"

    async def close(self) -> None:
        for one in (self.broker, *self._others):
            await one.close()


class TestFolderBroker(BrokerConformance):
    """Every behaviour of the suite."""

    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[FolderHarness]:
        url = f"folder://{tmp_path}"
        harness = FolderHarness(await open_broker(url), url)
        yield harness
        await harness.close()
