"""The example of a lease store of one's own keeps the contract."""

import asyncio
import random

from examples.lease_store.test_folder import FolderHarness, TestFolderLeases, harness
from fencepost.clock import SystemClock
from fencepost.model.identifiers import NodeId, Shard
from fencepost.model.lease import Granted
from fencepost.ports.leases import LeaseStore
from tests.linearizability.checker import Explained
from tests.linearizability.lease_history import LeaseHistory, LeaseRules

__all__ = ["TestFolderLeases", "harness"]


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
