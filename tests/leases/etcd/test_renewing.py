"""What happens to a key while it is being renewed, and by whose hand."""

from fencepost.leases.etcd import EtcdLeases
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Granted, HeldBy, Lost
from tests.leases.etcd.asking import ALICE, BOB, SHARD, ask, expires_in_s, grant, renew
from tests.leases.etcd.by_hand import Interrupted

KEEPALIVE = "lease/keepalive"


async def test_a_key_that_was_deleted_by_hand_is_not_renewed(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    epoch = (await grant(alices, ALICE)).epoch
    await gateway.delete(SHARD)
    assert await renew(alices, ALICE, epoch) == Lost()


async def test_a_key_that_went_to_another_in_mid_renewal_is_not_confirmed(
    alices: EtcdLeases, bobs: EtcdLeases, gateway: Interrupted
) -> None:
    epoch = (await grant(alices, ALICE)).epoch

    async def hand_over() -> None:
        await gateway.delete(SHARD)
        await grant(bobs, BOB)

    gateway.before(KEEPALIVE, hand_over)
    assert await renew(alices, ALICE, epoch) == Lost()
    assert isinstance(await ask(alices, ALICE), HeldBy)


async def test_a_key_that_went_to_another_in_mid_renewal_is_not_extended(
    alices: EtcdLeases, bobs: EtcdLeases, gateway: Interrupted
) -> None:
    epoch = (await grant(alices, ALICE, 60)).epoch

    async def hand_over() -> None:
        await gateway.delete(SHARD)
        await grant(bobs, BOB, 5)

    gateway.before(KEEPALIVE, hand_over)
    await renew(alices, ALICE, epoch, 60)
    assert await expires_in_s(bobs) <= 5


async def test_a_key_that_its_holder_put_anew_in_mid_renewal_is_not_confirmed_under_the_old_epoch(
    alices: EtcdLeases, bobs: EtcdLeases, gateway: Interrupted
) -> None:
    old = (await grant(alices, ALICE)).epoch

    async def put_anew() -> None:
        await gateway.delete(SHARD)
        await grant(bobs, ALICE)

    gateway.before(KEEPALIVE, put_anew)
    assert await renew(alices, ALICE, old) == Lost()
    assert (await grant(alices, ALICE)).epoch > old


async def test_a_lease_that_ended_in_mid_renewal_is_not_renewed(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    epoch = (await grant(alices, ALICE)).epoch
    lease = await gateway.lease_of(SHARD)
    gateway.before(KEEPALIVE, lambda: gateway.revoke(lease))
    assert await renew(alices, ALICE, epoch) == Lost()


async def test_a_key_that_was_taken_off_its_lease_has_no_holder(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    epoch = (await grant(alices, ALICE)).epoch
    await gateway.overwrite(SHARD, '{"holder":"alice-1"}')
    assert await renew(alices, ALICE, epoch) == Lost()
    assert isinstance(await ask(alices, ALICE), HeldBy)
    assert isinstance(await ask(alices, BOB), HeldBy)


async def test_what_was_put_by_hand_does_not_break_the_reader(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    await gateway.overwrite(SHARD, "maintenance")
    answer = await ask(alices, ALICE)
    assert isinstance(answer, HeldBy)
    assert answer.holder == "maintenance"
    assert [one.holder for one in await alices.read()] == ["maintenance"]


async def test_a_longer_term_than_the_lease_has_is_not_cut_short(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    granted = await grant(alices, ALICE, 5)
    known = await gateway.leases()
    assert await renew(alices, ALICE, granted.epoch, 60) == granted
    assert await expires_in_s(alices) > 50
    assert len(await gateway.leases()) <= len(known)


async def test_a_fraction_of_a_second_is_not_rounded_down(alices: EtcdLeases, gateway: Interrupted) -> None:
    await grant(alices, ALICE, 4.2)
    term = await gateway.ask("lease/timetolive", {"ID": str(await gateway.lease_of(SHARD))})
    assert term["grantedTTL"] == "5"


async def test_a_renewal_is_granted_to_no_other_shard(alices: EtcdLeases) -> None:
    shards = [SHARD, Shard(70)]
    answers = await alices.acquire(shards, ALICE, 30)
    epochs = {shard: one.epoch for shard, one in answers.items() if isinstance(one, Granted)}
    crossed = dict(zip(epochs, reversed(epochs.values()), strict=True))
    assert await alices.renew(crossed, ALICE, 30) == dict.fromkeys(shards, Lost())
