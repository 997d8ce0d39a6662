"""The behaviour of a lease store among rivals, with lost answers, and at its end."""

from __future__ import annotations

import asyncio

from fencepost.model.identifiers import Epoch, NodeId
from fencepost.model.lease import Granted, HeldBy, Lost, Released
from fencepost.ports.leases import LeaseStore
from fencepost.testing.conformance.builders import ALICE, BOB
from fencepost.testing.conformance.lease_harness import LeaseHarness
from fencepost.testing.conformance.lease_steps import (
    IN_TIME,
    OTHER,
    PATIENCE_S,
    SHARD,
    answered,
    ask,
    doubtful,
    expire,
    grant,
    granted,
    hint,
    outcome,
    reconnected,
    release,
    renew,
)

RIVALS = [NodeId(f"rival-{number}") for number in range(8)]


class SplitBrainContract:
    """Several clients at the same moment."""

    async def test_of_many_who_ask_at_once_no_two_are_granted(self, harness: LeaseHarness) -> None:
        clients = [await harness.another() for _ in RIVALS]
        asked = (one.acquire([SHARD], name, PATIENCE_S) for one, name in zip(clients, RIVALS, strict=True))
        answers = [(await each)[SHARD] for each in asyncio.as_completed([*asked])]
        assert sum(isinstance(answer, Granted) for answer in answers) == 1, answers

    async def test_rivals_do_not_share_an_epoch(self, harness: LeaseHarness) -> None:
        clients = [await harness.another() for _ in RIVALS[:4]]
        epochs: list[Epoch] = []

        async def campaign(client: LeaseStore, name: NodeId) -> None:
            while True:
                answer = (await client.acquire([SHARD], name, PATIENCE_S))[SHARD]
                if isinstance(answer, Granted):
                    epochs.append(answer.epoch)
                    await client.release({SHARD: answer.epoch}, name)
                    return

        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(campaign(*pair) for pair in zip(clients, RIVALS, strict=False)))
        assert len(set(epochs)) == 4
        assert epochs == sorted(epochs)

    async def test_a_renewal_is_not_lost_to_those_who_ask_meanwhile(self, harness: LeaseHarness) -> None:
        rival = await harness.another()
        epoch = await grant(harness, ALICE)
        for _ in range(10):
            answers = await asyncio.gather(
                harness.leases.renew({SHARD: epoch}, ALICE, PATIENCE_S),
                rival.acquire([SHARD], BOB, PATIENCE_S),
            )
            assert isinstance(answers[0][SHARD], Granted)
            assert isinstance(answers[1][SHARD], HeldBy)


class FaultContract:
    """What is not heard is not believed, and can be asked again."""

    async def test_a_grant_whose_answer_was_lost_does_not_go_to_another(self, harness: LeaseHarness) -> None:
        rival = await harness.another()
        async with harness.losing_answers():
            doubtful(await outcome(harness.leases.acquire([SHARD], ALICE, PATIENCE_S)), Granted)
        answers = await rival.acquire([SHARD], BOB, PATIENCE_S)
        if isinstance(answers[SHARD], Granted):
            assert isinstance(await ask(harness, ALICE), HeldBy)
        else:
            assert await grant(harness, ALICE) >= 1

    async def test_a_renewal_whose_answer_was_lost_does_not_end_the_lease(
        self, harness: LeaseHarness
    ) -> None:
        epoch = await grant(harness, ALICE)
        async with harness.losing_answers():
            doubtful(await outcome(harness.leases.renew({SHARD: epoch}, ALICE, PATIENCE_S)), Granted)
        assert granted(await renew(harness, ALICE, epoch)).epoch == epoch

    async def test_a_release_whose_answer_was_lost_does_not_free_the_successors_lease(
        self, harness: LeaseHarness
    ) -> None:
        rival = await harness.another()
        epoch = await grant(harness, ALICE, IN_TIME * harness.ttl_s)
        async with harness.losing_answers():
            doubtful(await outcome(harness.leases.release({SHARD: epoch}, ALICE)), Released)
        await expire(harness, IN_TIME)
        later = granted(await answered(lambda: rival.acquire([SHARD], BOB, PATIENCE_S)))
        assert later.epoch > epoch
        assert await release(harness, ALICE, epoch) == Lost()
        assert isinstance(await ask(harness, ALICE), HeldBy)

    async def test_a_store_that_is_away_does_not_hang_its_caller(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        async with harness.away(), asyncio.timeout(PATIENCE_S):
            doubtful(await outcome(harness.leases.renew({SHARD: epoch}, ALICE, PATIENCE_S)), Granted)
            doubtful(await outcome(harness.leases.acquire([OTHER], ALICE, PATIENCE_S)), Granted)
        await reconnected(harness, epoch)

    async def test_a_call_that_was_cancelled_does_not_answer_the_next(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        for patience in range(20):
            call = asyncio.ensure_future(harness.leases.renew({SHARD: epoch}, ALICE, PATIENCE_S))
            for _ in range(patience):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            answers = await harness.leases.acquire([SHARD, OTHER], BOB, PATIENCE_S)
            assert isinstance(answers[SHARD], HeldBy)
            assert isinstance(answers[OTHER], Granted)


class WatchContract:
    """Watchers, and the end."""

    async def test_a_watcher_that_stopped_is_not_told(self, harness: LeaseHarness) -> None:
        told: list[str] = []
        stop = await harness.leases.watch(lambda: told.append("late"))
        stop()
        told.clear()
        epoch = await grant(harness, ALICE)
        await release(harness, ALICE, epoch)
        await grant(harness, BOB)
        assert told == []

    async def test_caveats_are_not_left_to_guessing(self, harness: LeaseHarness) -> None:
        assert all(caveat.strip().endswith(".") for caveat in harness.leases.caveats)

    async def test_closing_twice_is_no_fault(self, harness: LeaseHarness) -> None:
        another = await harness.another()
        await another.close()
        await another.close()


class HintContract:
    """For a lease store that tells of a release. One that cannot is none the worse."""

    async def test_a_released_lease_does_not_wait_to_be_asked_for(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        async with hint(await harness.another()):
            await release(harness, ALICE, epoch)

    async def test_one_watcher_does_not_take_the_hint_from_another(self, harness: LeaseHarness) -> None:
        epoch = await grant(harness, ALICE)
        async with hint(harness.leases), hint(harness.leases), hint(await harness.another()):
            await release(harness, ALICE, epoch)
