"""What leases on Kubernetes do beyond the contract of all leases; the double and a real server must agree
on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fencepost.leases.kubernetes import KubernetesLeases
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Granted, HeldBy, Lost, Released, Unknown
from fencepost.testing.conformance.builders import ALICE, BOB
from tests.leases.kubernetes.harness import KubernetesHarness

SHARD = Shard(0)
PATIENCE_S = 20.0
POLL_S = 0.005


class TermContract:
    """A term is counted by who waits for its end, from what it saw itself."""

    async def test_a_lease_just_met_is_not_taken_before_a_whole_term(
        self, harness: KubernetesHarness
    ) -> None:
        await grant(harness, harness.leases, ALICE)
        harness.clock.advance(5 * harness.ttl_s)
        fresh = await harness.another()
        assert isinstance(await ask(harness, fresh, BOB), HeldBy)
        harness.clock.advance(harness.ttl_s - 0.001)
        assert isinstance(await ask(harness, fresh, BOB), HeldBy)
        harness.clock.advance(0.001)
        assert isinstance(await ask(harness, fresh, BOB), Granted)

    async def test_a_renewal_is_not_overlooked(self, harness: KubernetesHarness) -> None:
        epoch = await grant(harness, harness.leases, ALICE)
        rival = await harness.another()
        await ask(harness, rival, BOB)
        harness.clock.advance(harness.ttl_s - 1)
        await harness.leases.renew({SHARD: epoch}, ALICE, harness.ttl_s)
        harness.clock.advance(1)
        assert isinstance(await ask(harness, rival, BOB), HeldBy)

    async def test_times_of_other_nodes_are_not_believed(self, harness: KubernetesHarness) -> None:
        await grant(harness, harness.leases, ALICE)
        rival = await harness.another()
        for year in (1999, 2199):
            body = await harness.object(SHARD)
            body["spec"]["renewTime"] = f"{year}-01-01T00:00:00.000000Z"
            await harness.backend.put(body)
            assert isinstance(await ask(harness, rival, BOB), HeldBy)
        harness.clock.advance(harness.ttl_s)
        assert isinstance(await ask(harness, rival, BOB), Granted)

    async def test_the_term_is_not_rounded_down(self, harness: KubernetesHarness) -> None:
        await harness.leases.acquire([SHARD], ALICE, 2.1)
        assert (await harness.object(SHARD))["spec"]["leaseDurationSeconds"] == 3
        harness.clock.advance(2.9)
        assert isinstance(await ask(harness, harness.leases, BOB), HeldBy)

    async def test_who_watches_does_not_wait_a_term_more(self, harness: KubernetesHarness) -> None:
        epoch = await grant(harness, harness.leases, ALICE)
        rival = await harness.another()
        async with watching(rival):
            harness.clock.advance(harness.ttl_s / 2)
            await harness.leases.renew({SHARD: epoch}, ALICE, harness.ttl_s)
            version = (await harness.object(SHARD))["metadata"]["resourceVersion"]
            await until(lambda: seen_version(harness, rival) == version)
            harness.clock.advance(harness.ttl_s - 1)
            assert isinstance(await ask(harness, rival, BOB), HeldBy)
            harness.clock.advance(1)
            assert isinstance(await ask(harness, rival, BOB), Granted)


class ObjectContract:
    """One object for each shard, that outlives its holders and is not ours alone."""

    async def test_the_object_does_not_hide_what_people_want_to_know(
        self, harness: KubernetesHarness
    ) -> None:
        await grant(harness, harness.leases, ALICE)
        body = await harness.object(SHARD)
        assert body["metadata"]["labels"] == {
            "app.kubernetes.io/managed-by": "fencepost",
            "fencepost/name": harness.fleet,
        }
        assert body["spec"] == {
            "holderIdentity": ALICE,
            "leaseDurationSeconds": 10,
            "leaseTransitions": 0,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": "2026-01-01T00:00:00.000000Z",
        }

    async def test_a_release_does_not_end_the_count(self, harness: KubernetesHarness) -> None:
        epochs = []
        for holder in (ALICE, ALICE, BOB):
            epochs.append(await grant(harness, harness.leases, holder))
            assert await release(harness, holder, epochs[-1]) == Released()
            assert (await harness.object(SHARD))["spec"]["holderIdentity"] == ""
        assert epochs == [1, 2, 3]

    async def test_a_deleted_lease_is_not_renewed_back_to_life(self, harness: KubernetesHarness) -> None:
        before = await ask(harness, harness.leases, ALICE)
        await harness.backend.delete(harness.object_name(SHARD))
        renewals = await harness.leases.renew({SHARD: Epoch(1)}, ALICE, harness.ttl_s)
        assert renewals == {SHARD: Lost()}
        assert await harness.leases.read() == []
        after = await ask(harness, harness.leases, BOB)
        assert isinstance(before, Granted)
        assert isinstance(after, Granted)
        assert after.lineage != before.lineage

    async def test_a_deleted_lease_is_not_released(self, harness: KubernetesHarness) -> None:
        epoch = await grant(harness, harness.leases, ALICE)
        await harness.backend.delete(harness.object_name(SHARD))
        assert await release(harness, ALICE, epoch) == Lost()
        assert await harness.leases.read() == []

    async def test_a_lease_that_was_made_anew_is_not_taken_for_the_old_one(
        self, harness: KubernetesHarness
    ) -> None:
        epoch = await grant(harness, harness.leases, ALICE)
        rival = await harness.another()
        await harness.backend.delete(harness.object_name(SHARD))
        assert await grant(harness, rival, BOB) == epoch
        assert await release(harness, ALICE, epoch) == Lost()
        answers = await harness.leases.renew({SHARD: epoch}, ALICE, harness.ttl_s)
        assert answers == {SHARD: Lost()}

    async def test_another_programs_lease_is_not_touched(self, harness: KubernetesHarness) -> None:
        name = harness.object_name(SHARD)
        spec = {"holderIdentity": ""}
        await harness.backend.put({"metadata": {"name": name}, "spec": spec})
        before = await harness.object(SHARD)
        answer = await ask(harness, harness.leases, ALICE)
        assert isinstance(answer, Unknown)
        assert name in answer.why
        assert "name=" in answer.why
        assert await harness.object(SHARD) == before

    async def test_what_others_have_noted_is_not_lost(self, harness: KubernetesHarness) -> None:
        epoch = await grant(harness, harness.leases, ALICE)
        body = await harness.object(SHARD)
        body["metadata"]["annotations"] = {"example.org/note": "ours"}
        await harness.backend.put(body)
        answers = await harness.leases.renew({SHARD: epoch}, ALICE, harness.ttl_s)
        assert isinstance(answers[SHARD], Granted)
        await release(harness, ALICE, epoch)
        after = await harness.object(SHARD)
        assert after["metadata"]["annotations"] == {"example.org/note": "ours"}

    async def test_one_fleet_does_not_see_anothers_leases(self, harness: KubernetesHarness) -> None:
        await grant(harness, harness.leases, ALICE)
        name = f"{harness.fleet}-shard-1"
        labels = {"app.kubernetes.io/managed-by": "fencepost", "fencepost/name": "other"}
        await harness.backend.put(
            {"metadata": {"name": name, "labels": labels}, "spec": {"holderIdentity": BOB}}
        )
        assert [one.shard for one in await harness.leases.read()] == [SHARD]


class HintContract:
    """What the watch tells, and what it does not."""

    async def test_a_deleted_lease_does_not_wait_to_be_asked_for(self, harness: KubernetesHarness) -> None:
        await grant(harness, harness.leases, ALICE)
        async with watching(await harness.another()) as heard:
            await harness.backend.delete(harness.object_name(SHARD))
            await asyncio.wait_for(heard.wait(), PATIENCE_S)

    async def test_a_renewal_is_no_hint(self, harness: KubernetesHarness) -> None:
        epoch = await grant(harness, harness.leases, ALICE)
        rival = await harness.another()
        async with watching(rival) as heard:
            await harness.leases.renew({SHARD: epoch}, ALICE, harness.ttl_s)
            version = (await harness.object(SHARD))["metadata"]["resourceVersion"]
            await until(lambda: seen_version(harness, rival) == version)
            assert not heard.is_set()


class KubernetesBehaviour(TermContract, ObjectContract, HintContract):
    """All of it; a subclass brings the harness."""


async def ask(harness: KubernetesHarness, leases: KubernetesLeases, holder: NodeId) -> object:
    return (await leases.acquire([SHARD], holder, harness.ttl_s))[SHARD]


async def grant(harness: KubernetesHarness, leases: KubernetesLeases, holder: NodeId) -> Epoch:
    answer = await ask(harness, leases, holder)
    assert isinstance(answer, Granted), answer
    return answer.epoch


async def release(harness: KubernetesHarness, holder: NodeId, epoch: Epoch) -> object:
    return (await harness.leases.release({SHARD: epoch}, holder))[SHARD]


@asynccontextmanager
async def watching(leases: KubernetesLeases) -> AsyncIterator[asyncio.Event]:
    """A watch that is connected; the event is for what comes after."""
    heard = asyncio.Event()
    stop = await leases.watch(heard.set)
    try:
        yield heard
    finally:
        stop()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what another task will have done soon."""
    for _ in range(int(PATIENCE_S / POLL_S)):
        if condition():
            return
        await asyncio.sleep(POLL_S)
    raise AssertionError("it did not happen")


def seen_version(harness: KubernetesHarness, leases: KubernetesLeases) -> str | None:
    """The version of the shard's lease that this client saw last."""
    seen = leases.observations.get(harness.object_name(SHARD))
    return seen.lease.version if seen else None
