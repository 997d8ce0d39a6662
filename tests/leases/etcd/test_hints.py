"""Hints from the stream of deletions."""

import asyncio

from fencepost.leases.etcd import EtcdLeases
from fencepost.model.identifiers import Shard
from tests.leases.etcd.asking import ALICE, BOB, LONG_S, SHARD, grant, heard, release
from tests.leases.etcd.by_hand import Interrupted
from tests.leases.etcd.harness import EtcdHarness


async def test_an_expiry_does_not_go_unheard(harness: EtcdHarness) -> None:
    async with heard(harness.leases):
        await grant(harness.leases, ALICE, 1)


async def test_a_key_that_was_deleted_by_hand_does_not_go_unheard(
    harness: EtcdHarness, gateway: Interrupted
) -> None:
    await grant(harness.leases, ALICE)
    async with heard(harness.leases):
        await gateway.delete(SHARD)


async def test_what_happened_while_the_stream_was_away_does_not_go_unheard(
    harness: EtcdHarness, bobs: EtcdLeases
) -> None:
    epoch = (await grant(bobs, BOB)).epoch
    async with heard(harness.leases):
        harness.proxy.refuse()
        harness.proxy.reset()
        await release(bobs, BOB, epoch)
        harness.proxy.heal()


async def test_a_stream_that_broke_does_not_stay_broken(harness: EtcdHarness, bobs: EtcdLeases) -> None:
    async with heard(harness.leases):
        harness.proxy.reset()
    epoch = (await grant(bobs, BOB)).epoch
    async with heard(harness.leases):
        await release(bobs, BOB, epoch)


async def test_a_store_that_is_away_does_not_hang_its_watcher(harness: EtcdHarness) -> None:
    told = asyncio.Event()
    harness.proxy.refuse()
    harness.proxy.reset()
    async with asyncio.timeout(LONG_S):
        await harness.leases.watch(told.set)
        assert not told.is_set()
        harness.proxy.heal()
        await told.wait()


async def test_a_grant_is_not_hinted_at(harness: EtcdHarness, bobs: EtcdLeases) -> None:
    told: list[str] = []
    epoch = (await grant(bobs, ALICE)).epoch
    await harness.leases.watch(lambda: told.append("hint"))
    await bobs.acquire([Shard(number) for number in range(3)], BOB, LONG_S)
    async with heard(harness.leases):
        await release(bobs, ALICE, epoch)
    assert told == ["hint"]
