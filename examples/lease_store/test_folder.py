"""The conformance suite on the example: what the author of a lease store writes, and runs with pytest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from examples.lease_store.folder import FolderLeases, open_leases
from fencepost.clock import SystemClock
from fencepost.testing.conformance.leases import LeaseConformance


class FolderHarness:
    """See `fencepost.testing.conformance.lease_harness`. Nothing lies between a folder and its client."""

    ttl_s = 0.4
    slack_s = 0.1

    def __init__(self, leases: FolderLeases, url: str) -> None:
        self.leases = leases
        self._url = url

    async def another(self) -> FolderLeases:
        return await open_leases(self._url, clock=SystemClock())

    async def advance(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def set_back(self, seconds: float) -> bool:
        """The clock since the boot cannot be set."""
        return False

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        yield

    @asynccontextmanager
    async def away(self) -> AsyncIterator[None]:
        yield


@pytest.fixture
async def harness(tmp_path: Path) -> FolderHarness:
    url = f"folder://{tmp_path}"
    return FolderHarness(await open_leases(url, clock=SystemClock()), url)


class TestFolderLeases(LeaseConformance):
    """Every behaviour of the suite."""
