"""The behaviour of a lease store."""

from __future__ import annotations

from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, HeldBy, LeaseRecord, Lost, Renewal
from fencepost.testing.conformance.builders import ALICE, BOB, close_to
from fencepost.testing.conformance.harness import StoreHarness

TTL_S = 10.0
SHARD, OTHER = Shard(0), Shard(1)


class LeaseContract:
    """One holder at a time, and an epoch that only rises."""

    async def test_grants_a_lease_that_nobody_ever_had(self, harness: StoreHarness) -> None:
        assert await grant(harness, ALICE) >= 1

    async def test_does_not_grant_while_held(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.advance(TTL_S / 2)
        answer = await ask(harness, BOB)
        assert isinstance(answer, HeldBy)
        assert (answer.holder, answer.epoch) == (ALICE, epoch)
        assert close_to(answer.expires_in_s, TTL_S / 2)

    async def test_does_not_refuse_after_expiry(self, harness: StoreHarness) -> None:
        await grant(harness, ALICE)
        await harness.advance(TTL_S + 1)
        assert isinstance(await ask(harness, BOB), Granted)

    async def test_never_repeats_an_epoch(self, harness: StoreHarness) -> None:
        epochs = []
        for holder in (ALICE, BOB, ALICE):
            epochs.append(await grant(harness, holder))
            await harness.advance(TTL_S + 1)
        assert epochs == sorted(set(epochs))

    async def test_a_regrant_to_the_same_holder_has_a_new_epoch(self, harness: StoreHarness) -> None:
        first = await grant(harness, ALICE)
        await harness.advance(TTL_S + 1)
        assert await grant(harness, ALICE) > first

    async def test_asking_again_does_not_change_the_epoch(self, harness: StoreHarness) -> None:
        assert await grant(harness, ALICE) == await grant(harness, ALICE)

    async def test_asking_again_does_not_renew(self, harness: StoreHarness) -> None:
        await grant(harness, ALICE)
        await harness.advance(TTL_S / 2)
        await grant(harness, ALICE)
        await harness.advance(TTL_S / 2 + 1)
        assert isinstance(await ask(harness, BOB), Granted)

    async def test_a_renewal_does_not_change_the_epoch(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await renew(harness, ALICE, epoch) == Granted(epoch)

    async def test_a_renewed_lease_does_not_expire_at_its_first_term(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.advance(TTL_S - 1)
        await renew(harness, ALICE, epoch)
        await harness.advance(TTL_S - 1)
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_does_not_renew_an_expired_lease(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.advance(TTL_S + 1)
        assert await renew(harness, ALICE, epoch) == Lost()
        assert isinstance(await ask(harness, BOB), Granted)

    async def test_does_not_renew_another_holders_lease(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await renew(harness, BOB, epoch) == Lost()

    async def test_does_not_renew_under_another_epoch(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await renew(harness, ALICE, Epoch(epoch + 1)) == Lost()
        await harness.advance(TTL_S + 1)
        assert await grant(harness, ALICE) > epoch
        assert await renew(harness, ALICE, epoch) == Lost()

    async def test_does_not_renew_or_release_what_was_never_granted(self, harness: StoreHarness) -> None:
        assert await renew(harness, ALICE, Epoch(1)) == Lost()
        await harness.store.leases.release({SHARD: Epoch(1)}, ALICE)
        assert list(await harness.store.leases.read()) == []

    async def test_a_released_lease_does_not_wait_for_its_expiry(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.store.leases.release({SHARD: epoch}, ALICE)
        assert await grant(harness, BOB) > epoch

    async def test_a_released_lease_is_not_renewed(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.store.leases.release({SHARD: epoch}, ALICE)
        assert await renew(harness, ALICE, epoch) == Lost()

    async def test_release_does_not_forget_the_epoch(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.store.leases.release({SHARD: epoch}, ALICE)
        record = await only_record(harness)
        assert (record.holder, record.epoch) == (None, epoch)

    async def test_does_not_release_another_holders_lease(self, harness: StoreHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.store.leases.release({SHARD: epoch}, BOB)
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_a_late_release_does_not_free_the_successors_lease(self, harness: StoreHarness) -> None:
        old = await grant(harness, ALICE)
        await harness.advance(TTL_S + 1)
        await grant(harness, ALICE)
        await harness.store.leases.release({SHARD: old}, ALICE)
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_shards_do_not_share_a_fate(self, harness: StoreHarness) -> None:
        await grant(harness, ALICE)
        answers = await harness.store.leases.acquire([SHARD, OTHER], BOB, TTL_S)
        assert isinstance(answers[SHARD], HeldBy)
        assert isinstance(answers[OTHER], Granted)
        renewals = await harness.store.leases.renew(
            {SHARD: Epoch(1), OTHER: answers[OTHER].epoch}, BOB, TTL_S
        )
        assert renewals == {SHARD: Lost(), OTHER: answers[OTHER]}

    async def test_reads_nothing_that_was_never_granted(self, harness: StoreHarness) -> None:
        assert list(await harness.store.leases.read()) == []

    async def test_reads_by_shard(self, harness: StoreHarness) -> None:
        await harness.store.leases.acquire([OTHER, SHARD], ALICE, TTL_S)
        await harness.advance(1)
        first, second = await harness.store.leases.read()
        assert (first.shard, second.shard) == (SHARD, OTHER)
        assert first.holder == second.holder == ALICE
        assert close_to(first.expires_in_s, TTL_S - 1)


async def ask(harness: StoreHarness, holder: NodeId) -> Acquisition:
    """Ask for the one shard."""
    return (await harness.store.leases.acquire([SHARD], holder, TTL_S))[SHARD]


async def grant(harness: StoreHarness, holder: NodeId) -> Epoch:
    """Ask for the shard and be granted it."""
    answer = await ask(harness, holder)
    assert isinstance(answer, Granted)
    return answer.epoch


async def renew(harness: StoreHarness, holder: NodeId, epoch: Epoch) -> Renewal:
    """Try to extend the one shard's lease."""
    return (await harness.store.leases.renew({SHARD: epoch}, holder, TTL_S))[SHARD]


async def only_record(harness: StoreHarness) -> LeaseRecord:
    """The record of the one shard that was ever granted."""
    (record,) = await harness.store.leases.read()
    return record
