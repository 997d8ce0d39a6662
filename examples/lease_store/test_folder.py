"""The conformance suite on the example: what the author of a lease store writes, and runs with pytest."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from examples.lease_store.folder import FolderLeases, open_leases
from fencepost.clock import SystemClock
from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import Granted
from fencepost.ports.leases import LeaseStore
from fencepost.testing.conformance.leases import LeaseConformance
from fencepost.testing.lease_history import LeaseHistory, LeaseRules
from fencepost.testing.linearizability import Explained


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


async def test_what_two_clients_were_told_is_one_life(harness: FolderHarness) -> None:
    history = LeaseHistory(SystemClock())
    clients = [history.recording(harness.leases), history.recording(await harness.another())]
    await asyncio.gather(*(live(client, f"node-{number}") for number, client in enumerate(clients)))
    for shard, verdict in history.verdicts(LeaseRules(ttl_s=0.2, slack_s=0.1)).items():
        assert isinstance(verdict, Explained), f"shard {shard}: {verdict}"


async def live(client: LeaseStore, name: str) -> None:
    """Take the lease, keep it, lose it by sleeping through its end, or give it back, as the dice fall."""
    dice = random.Random(name)
    for _ in range(20):
        answer = (await client.acquire([Shard(0)], NodeId(name), 0.2))[Shard(0)]
        await asyncio.sleep(dice.choice([0, 0.01, 0.05, 0.25]))
        if isinstance(answer, Granted):
            held = {Shard(0): answer.epoch}
            await client.renew(held, NodeId(name), 0.2)
            if dice.random() < 0.5:
                await client.release(held, NodeId(name))


class TestFolderLeases(LeaseConformance):
    """Every behaviour of the suite."""
