"""Transactions whose answer is lost, or that arrive when nobody waits for them any more."""

import pytest

from fencepost.leases.etcd import EtcdLeases
from fencepost.leases.etcd.faults import Refused
from fencepost.model.lease import Granted, HeldBy, Lost, Unknown
from tests.leases.etcd.asking import ALICE, BOB, SHARD, ask, expires_in_s, grant, release, renew, until
from tests.leases.etcd.by_hand import Interrupted
from tests.leases.etcd.harness import EtcdHarness

TRANSACTION = b"/v3/kv/txn"


async def test_a_grant_whose_answer_was_lost_is_not_granted_anew(
    harness: EtcdHarness, bobs: EtcdLeases
) -> None:
    harness.proxy.lose_next_answer(TRANSACTION)
    assert isinstance(await ask(harness.leases, ALICE), Unknown)
    held = await ask(bobs, BOB)
    assert isinstance(held, HeldBy)
    assert (await grant(harness.leases, ALICE)).epoch == held.epoch


async def test_a_release_that_was_carried_out_unheard_is_not_called_lost(harness: EtcdHarness) -> None:
    direct = f"{harness.proxy.address},{harness.address}"
    leases = await harness.open(direct)
    epoch = (await grant(leases, ALICE)).epoch
    harness.proxy.lose_next_answer(TRANSACTION)
    assert isinstance(await release(leases, ALICE, epoch), Unknown)
    assert await release(leases, ALICE, epoch) == Lost()


async def test_a_transaction_does_not_outlive_its_lease(alices: EtcdLeases, gateway: Interrupted) -> None:
    gateway.hold_next()
    known = await gateway.leases()
    assert isinstance(await ask(alices, ALICE, 1), Unknown)

    async def is_gone() -> bool:
        return not await gateway.leases() - known

    await until(is_gone)
    with pytest.raises(Refused):
        await gateway.deliver()
    assert not await alices.read()


async def test_a_late_transaction_does_not_take_anothers_lease(
    alices: EtcdLeases, bobs: EtcdLeases, gateway: Interrupted
) -> None:
    gateway.hold_next()
    assert isinstance(await ask(alices, ALICE), Unknown)
    epoch = (await grant(bobs, BOB)).epoch
    await gateway.deliver()
    assert isinstance(await renew(bobs, BOB, epoch), Granted)
    assert isinstance(await ask(alices, ALICE), HeldBy)


async def test_a_late_transaction_does_not_change_the_epoch_of_who_asked_again(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    gateway.hold_next()
    assert isinstance(await ask(alices, ALICE), Unknown)
    granted = await grant(alices, ALICE)
    await gateway.deliver()
    assert await renew(alices, ALICE, granted.epoch) == granted


async def test_the_lease_of_a_doubtful_transaction_is_not_revoked(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    gateway.hold_next()
    assert isinstance(await ask(alices, ALICE), Unknown)
    await gateway.deliver()
    granted = await grant(alices, ALICE)
    assert await renew(alices, ALICE, granted.epoch) == granted


async def test_the_lease_of_a_lost_transaction_is_not_left_behind(
    alices: EtcdLeases, bobs: EtcdLeases, gateway: Interrupted
) -> None:
    known = await gateway.leases()
    gateway.before("kv/txn", lambda: grant(bobs, BOB))
    assert isinstance(await ask(alices, ALICE), HeldBy)
    assert await gateway.leases() - known == {await gateway.lease_of(SHARD)}


async def test_a_release_leaves_no_lease_behind(alices: EtcdLeases, gateway: Interrupted) -> None:
    known = await gateway.leases()
    await release(alices, ALICE, (await grant(alices, ALICE)).epoch)
    assert not await gateway.leases() - known


async def test_a_late_move_to_a_longer_lease_does_not_shorten_it(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    epoch = (await grant(alices, ALICE, 5)).epoch
    gateway.hold_next()
    assert isinstance(await renew(alices, ALICE, epoch, 10), Unknown)
    assert isinstance(await renew(alices, ALICE, epoch, 60), Granted)
    await gateway.deliver()
    assert await expires_in_s(alices) > 50
