"""The behaviour of a lease store of any kind.

Bring a `harness` fixture (see `LeaseHarness`) and subclass `LeaseConformance`:

    class TestMyLeases(LeaseConformance, HintContract):
        ...

Leave `HintContract` out where `watch` never hears of anything.
"""

from __future__ import annotations

from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Granted, HeldBy, Lost, Released
from fencepost.testing.conformance.builders import ALICE, BOB
from fencepost.testing.conformance.lease_faults import (
    FaultContract,
    HintContract,
    SplitBrainContract,
    WatchContract,
)
from fencepost.testing.conformance.lease_harness import LeaseHarness
from fencepost.testing.conformance.lease_steps import (
    IN_TIME,
    OTHER,
    PATIENCE_S,
    SHARD,
    ask,
    expire,
    grant,
    granted,
    holders,
    release,
    renew,
)

__all__ = ["HintContract", "LeaseConformance"]

HOUR_S = 3600.0
MANY = [Shard(number) for number in range(64)]


class GrantContract:
    """One holder at a time, and an epoch that only rises."""

    async def test_grants_a_lease_that_never_had_a_holder(self, harness: LeaseHarness) -> None:
        assert await grant(harness, ALICE) >= 1

    async def test_does_not_grant_while_held(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        await harness.advance(harness.ttl_s)
        answer = await ask(harness, BOB)
        assert isinstance(answer, HeldBy)
        assert (answer.holder, answer.epoch) == (ALICE, epoch)

    async def test_does_not_hide_how_long_the_holder_still_has(self, harness: LeaseHarness) -> None:
        await grant(harness, ALICE)
        answer = await ask(harness, BOB)
        assert isinstance(answer, HeldBy)
        assert 0 < answer.expires_in_s <= PATIENCE_S + harness.slack_s

    async def test_does_not_refuse_after_expiry(self, harness: LeaseHarness) -> None:
        await grant(harness, ALICE, harness.ttl_s)
        await expire(harness)
        assert isinstance(await ask(harness, BOB), Granted)

    async def test_never_repeats_an_epoch(self, harness: LeaseHarness) -> None:
        epochs = []
        for holder in (ALICE, BOB, ALICE):
            epochs.append(await grant(harness, holder, harness.ttl_s))
            await expire(harness)
        assert epochs == sorted(set(epochs))

    async def test_never_repeats_an_epoch_after_a_release(self, harness: LeaseHarness) -> None:
        epochs = []
        for holder in (ALICE, BOB, ALICE, ALICE, BOB):
            epochs.append(await grant(harness, holder))
            assert await release(harness, holder, epochs[-1]) == Released()
        assert epochs == sorted(set(epochs))

    async def test_a_grant_after_expiry_does_not_have_the_old_epoch(self, harness: LeaseHarness) -> None:
        first = await grant(harness, ALICE, harness.ttl_s)
        await expire(harness)
        assert await grant(harness, ALICE) > first

    async def test_asking_again_does_not_change_the_epoch(self, harness: LeaseHarness) -> None:
        assert await grant(harness, ALICE) == await grant(harness, ALICE)

    async def test_asking_again_by_another_client_does_not_change_the_epoch(
        self, harness: LeaseHarness
    ) -> None:
        epoch = await grant(harness, ALICE)
        answers = await (await harness.another()).acquire([SHARD], ALICE, PATIENCE_S)
        assert granted(answers[SHARD]).epoch == epoch

    async def test_asking_again_does_not_renew(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE, IN_TIME * harness.ttl_s)
        assert await grant(harness, ALICE, PATIENCE_S) == epoch
        await expire(harness, IN_TIME)
        assert isinstance(await ask(harness, BOB), Granted)

    async def test_the_lineage_does_not_change_from_grant_to_grant(self, harness: LeaseHarness) -> None:
        first = granted(await ask(harness, ALICE))
        await release(harness, ALICE, first.epoch)
        assert granted(await ask(harness, BOB)).lineage == first.lineage

    async def test_a_holder_with_an_odd_name_is_not_taken_for_another(self, harness: LeaseHarness) -> None:
        odd, like_it = NodeId('wäb 3:1|"x"/{0}*'), NodeId('wäb 3:1|"x"/{0}')
        epoch = await grant(harness, odd)
        answer = await ask(harness, like_it)
        assert isinstance(answer, HeldBy)
        assert answer.holder == odd
        assert isinstance(await renew(harness, odd, epoch), Granted)


class LeaseRenewalContract:
    """Only the holder, only under its epoch, only in time."""

    async def test_a_renewal_does_not_change_the_epoch(self, harness: LeaseHarness) -> None:
        first = granted(await ask(harness, ALICE))
        assert await renew(harness, ALICE, first.epoch) == first

    async def test_a_renewed_lease_does_not_expire_at_its_first_term(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE, IN_TIME * harness.ttl_s)
        assert isinstance(await renew(harness, ALICE, epoch, 2 * IN_TIME * harness.ttl_s), Granted)
        await expire(harness, IN_TIME)
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_a_renewed_lease_does_not_last_for_ever(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE, IN_TIME * harness.ttl_s)
        await renew(harness, ALICE, epoch, IN_TIME * harness.ttl_s)
        await expire(harness, IN_TIME)
        assert isinstance(await ask(harness, BOB), Granted)

    async def test_does_not_renew_an_expired_lease(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE, harness.ttl_s)
        await expire(harness)
        assert await renew(harness, ALICE, epoch) == Lost()
        assert isinstance(await ask(harness, BOB), Granted)

    async def test_does_not_renew_what_has_a_successor(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE, harness.ttl_s)
        await expire(harness)
        await grant(harness, BOB)
        assert await renew(harness, ALICE, epoch) == Lost()
        assert isinstance(await ask(harness, ALICE), HeldBy)

    async def test_does_not_renew_another_holders_lease(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await renew(harness, BOB, epoch) == Lost()

    async def test_does_not_renew_under_a_larger_epoch(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await renew(harness, ALICE, Epoch(epoch + 1)) == Lost()

    async def test_does_not_renew_under_an_epoch_of_its_own_past(self, harness: LeaseHarness) -> None:
        old = await grant(harness, ALICE)
        await release(harness, ALICE, old)
        new = await grant(harness, ALICE)
        assert await renew(harness, ALICE, old) == Lost()
        assert isinstance(await renew(harness, ALICE, new), Granted)

    async def test_does_not_renew_what_was_never_granted(self, harness: LeaseHarness) -> None:
        assert await renew(harness, ALICE, Epoch(1)) == Lost()
        assert not await holders(harness)

    async def test_does_not_renew_what_was_released(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        await release(harness, ALICE, epoch)
        assert await renew(harness, ALICE, epoch) == Lost()


class ReleaseContract:
    """Compared, then freed."""

    async def test_a_released_lease_does_not_wait_for_its_expiry(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await release(harness, ALICE, epoch) == Released()
        assert await grant(harness, BOB) > epoch

    async def test_does_not_release_twice(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        await release(harness, ALICE, epoch)
        assert await release(harness, ALICE, epoch) == Lost()

    async def test_does_not_release_what_was_never_granted(self, harness: LeaseHarness) -> None:
        assert await release(harness, ALICE, Epoch(1)) == Lost()
        assert not await holders(harness)

    async def test_does_not_release_another_holders_lease(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await release(harness, BOB, epoch) == Lost()
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_does_not_release_under_another_epoch(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert await release(harness, ALICE, Epoch(epoch + 1)) == Lost()
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_a_late_release_does_not_free_the_successors_lease(self, harness: LeaseHarness) -> None:
        old = await grant(harness, ALICE, harness.ttl_s)
        await expire(harness)
        await grant(harness, ALICE)
        assert await release(harness, ALICE, old) == Lost()
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_a_client_that_is_closed_does_not_release(self, harness: LeaseHarness) -> None:
        another = await harness.another()
        granted((await another.acquire([SHARD], ALICE, PATIENCE_S))[SHARD])
        await another.close()
        assert isinstance(await ask(harness, BOB), HeldBy)


class ClockContract:
    """A clock that is set back keeps no lease in the hands of the dead."""

    async def test_a_clock_set_back_does_not_keep_a_dead_holders_lease(self, harness: LeaseHarness) -> None:
        first = await grant(harness, ALICE, harness.ttl_s)
        await harness.set_back(HOUR_S)
        await expire(harness)
        taken = await grant(harness, BOB)
        assert taken > first
        assert await renew(harness, ALICE, first) == Lost()
        assert isinstance(await renew(harness, BOB, taken), Granted)

    async def test_a_clock_set_back_does_not_cost_a_living_holder_its_lease(
        self, harness: LeaseHarness
    ) -> None:
        epoch = await grant(harness, ALICE)
        await harness.set_back(HOUR_S)
        assert await renew(harness, ALICE, epoch) == granted(await ask(harness, ALICE))
        assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_a_renewal_after_the_clock_was_set_back_does_not_last_for_an_hour(
        self, harness: LeaseHarness
    ) -> None:
        epoch = await grant(harness, ALICE, IN_TIME * harness.ttl_s)
        await harness.set_back(HOUR_S)
        await renew(harness, ALICE, epoch, IN_TIME * harness.ttl_s)
        await expire(harness, IN_TIME)
        assert await grant(harness, BOB) > epoch

    async def test_a_longer_term_is_not_taken_for_a_clock_set_back(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        assert isinstance(await ask(harness, BOB), HeldBy)
        for term_s in (2 * PATIENCE_S, PATIENCE_S):
            assert isinstance(await renew(harness, ALICE, epoch, term_s), Granted)
            assert isinstance(await ask(harness, BOB), HeldBy)

    async def test_a_lease_from_the_future_is_not_shown_as_held(self, harness: LeaseHarness) -> None:
        await grant(harness, ALICE)
        await harness.set_back(HOUR_S)
        for one in await harness.leases.read():
            assert one.from_future or one.expires_in_s <= PATIENCE_S + harness.slack_s

    async def test_a_clock_set_back_does_not_go_untold(self, harness: LeaseHarness) -> None:
        """The store says so once. A store whose clock cannot be set says nothing."""
        epoch = await grant(harness, ALICE)
        was_set = bool(await harness.set_back(HOUR_S))
        ahead = [one.shard for one in await harness.leases.read() if one.from_future]
        told = granted(await renew(harness, ALICE, epoch)).set_back_s
        assert ahead == [SHARD] * was_set
        assert HOUR_S - PATIENCE_S <= told <= HOUR_S if was_set else told == 0
        assert granted(await renew(harness, ALICE, epoch)).set_back_s == 0


class ManyShardsContract:
    """Each shard for itself."""

    async def test_shards_do_not_share_a_fate(self, harness: LeaseHarness) -> None:
        mine = await grant(harness, ALICE)
        answers = await harness.leases.acquire([SHARD, OTHER], BOB, PATIENCE_S)
        assert isinstance(answers[SHARD], HeldBy)
        his = granted(answers[OTHER])
        renewals = await harness.leases.renew({SHARD: mine, OTHER: his.epoch}, BOB, PATIENCE_S)
        assert renewals == {SHARD: Lost(), OTHER: his}
        assert await harness.leases.release({SHARD: mine, OTHER: his.epoch}, BOB) == {
            SHARD: Lost(),
            OTHER: Released(),
        }
        assert await holders(harness) == {SHARD: ALICE}

    async def test_no_shard_goes_without_an_answer(self, harness: LeaseHarness) -> None:
        answers = await harness.leases.acquire(MANY, ALICE, PATIENCE_S)
        held = {shard: granted(answer).epoch for shard, answer in answers.items()}
        assert sorted(held) == MANY
        assert sorted(await harness.leases.renew(held, ALICE, PATIENCE_S)) == MANY
        assert await holders(harness) == dict.fromkeys(MANY, ALICE)
        assert await harness.leases.release(held, ALICE) == dict.fromkeys(MANY, Released())
        assert not await holders(harness)

    async def test_asking_for_nothing_does_nothing(self, harness: LeaseHarness) -> None:
        assert not await harness.leases.acquire([], ALICE, harness.ttl_s)
        assert not await harness.leases.renew({}, ALICE, harness.ttl_s)
        assert not await harness.leases.release({}, ALICE)
        assert not await holders(harness)


class LeaseReadingContract:
    """For people."""

    async def test_reads_nothing_that_was_never_granted(self, harness: LeaseHarness) -> None:
        assert list(await harness.leases.read()) == []

    async def test_does_not_read_out_of_order(self, harness: LeaseHarness) -> None:
        await harness.leases.acquire([OTHER, SHARD], ALICE, PATIENCE_S)
        records = await harness.leases.read()
        assert [(one.shard, one.holder) for one in records] == [(SHARD, ALICE), (OTHER, ALICE)]
        assert all(0 < one.expires_in_s <= PATIENCE_S + harness.slack_s for one in records)

    async def test_does_not_show_a_holder_that_released(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        await release(harness, ALICE, epoch)
        assert not await holders(harness)

    async def test_does_not_show_time_that_has_run_out(self, harness: LeaseHarness) -> None:
        await grant(harness, ALICE, harness.ttl_s)
        await expire(harness)
        assert all(one.holder is None or one.expires_in_s <= 0 for one in await harness.leases.read())


class LeaseConformance(
    GrantContract,
    LeaseRenewalContract,
    ReleaseContract,
    ManyShardsContract,
    LeaseReadingContract,
    ClockContract,
    SplitBrainContract,
    FaultContract,
    WatchContract,
):
    """What a lease store owes in whole; a subclass brings the harness."""
