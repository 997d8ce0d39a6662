"""What leases on Kubernetes make of late, lost and refused answers, which the double gives on request."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.kubernetes.leases import TRIES_MAX
from fencepost.model.identifiers import Epoch, Shard
from fencepost.model.lease import Granted, HeldBy, Lost, Unknown
from fencepost.testing.conformance.builders import ALICE, BOB
from tests.leases.kubernetes.behaviour import ask, grant, release, until
from tests.leases.kubernetes.double import Double, Refusal
from tests.leases.kubernetes.harness import KubernetesHarness, harness_on
from tests.leases.kubernetes.on_double import DoubleBackend

SHARD, OTHER = Shard(0), Shard(1)
EPOCH = Epoch(1)
DELAY_S = 4.0


@pytest.fixture
async def harness(double: Double, tmp_path: Path) -> AsyncIterator[KubernetesHarness]:
    async with harness_on(DoubleBackend(double), tmp_path) as harness:
        yield harness


async def test_a_holder_does_not_renew_a_term_after_it_has_sent(
    harness: KubernetesHarness, double: Double
) -> None:
    double.after = slowly(harness, "POST")
    epoch = await grant(harness, harness.leases, ALICE)
    harness.clock.advance(harness.ttl_s - DELAY_S)
    assert await renew(harness) == Lost()
    double.after = slowly(harness, "PUT")
    epoch = await grant(harness, harness.leases, ALICE)
    harness.clock.advance(harness.ttl_s - DELAY_S)
    assert epoch == 2
    assert await renew(harness, epoch) == Lost()


async def test_a_rival_does_not_count_from_before_it_was_shown_the_lease(
    harness: KubernetesHarness, double: Double
) -> None:
    await grant(harness, harness.leases, ALICE)
    rival = await harness.another()
    await harness.leases.renew({SHARD: EPOCH}, ALICE, harness.ttl_s)
    double.after = slowly(harness, "GET")
    assert isinstance(await ask(harness, rival, BOB), HeldBy)
    double.after = None
    harness.clock.advance(harness.ttl_s - 0.001)
    assert isinstance(await ask(harness, rival, BOB), HeldBy)
    harness.clock.advance(0.001)
    assert isinstance(await ask(harness, rival, BOB), Granted)


async def test_a_grant_whose_answer_was_lost_does_not_begin_when_it_is_found(
    harness: KubernetesHarness,
) -> None:
    harness.proxy.lose_answers(b"POST")
    assert isinstance(await ask(harness, harness.leases, ALICE), Unknown)
    harness.proxy.heal()
    harness.clock.advance(harness.ttl_s - 1)
    assert await grant(harness, harness.leases, ALICE) == EPOCH
    harness.clock.advance(1)
    assert await renew(harness) == Lost()


async def test_a_renewal_whose_answer_was_lost_is_not_forgotten(harness: KubernetesHarness) -> None:
    await grant(harness, harness.leases, ALICE)
    harness.clock.advance(harness.ttl_s - 1)
    harness.proxy.lose_answers(b"PUT")
    assert isinstance(await renew(harness), Unknown)
    harness.proxy.heal()
    harness.clock.advance(harness.ttl_s - 1)
    assert isinstance(await renew(harness), Granted)


async def test_a_renewal_whose_answer_was_lost_does_not_begin_when_it_is_found(
    harness: KubernetesHarness,
) -> None:
    await grant(harness, harness.leases, ALICE)
    harness.proxy.lose_answers(b"PUT")
    assert isinstance(await renew(harness), Unknown)
    harness.proxy.heal()
    harness.clock.advance(harness.ttl_s - 1)
    assert isinstance(await ask(harness, harness.leases, ALICE), Granted)
    harness.clock.advance(1)
    assert await renew(harness) == Lost()


async def test_a_release_on_its_way_does_not_free_what_is_granted_meanwhile(
    harness: KubernetesHarness, double: Double
) -> None:
    epoch = await grant(harness, harness.leases, ALICE)
    arrive = asyncio.Event()
    double.before = once("PUT", arrive.wait)
    assert isinstance(await release(harness, ALICE, epoch), Unknown)
    again = await grant(harness, harness.leases, ALICE)
    arrive.set()
    await until(lambda: double.refused == ["PUT 409"])
    assert again > epoch
    assert isinstance(await renew(harness, again), Granted)
    assert (await harness.object(SHARD))["spec"]["holderIdentity"] == ALICE


async def test_a_cancelled_renewal_does_not_count_from_when_it_is_found(
    harness: KubernetesHarness, double: Double
) -> None:
    await grant(harness, harness.leases, ALICE)
    reached, arrive = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        reached.set()
        await arrive.wait()

    double.before = once("PUT", hold)
    call = asyncio.create_task(harness.leases.renew({SHARD: EPOCH}, ALICE, harness.ttl_s))
    await reached.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    [before] = double.objects.values()
    arrive.set()
    harness.clock.advance(harness.ttl_s - 1)
    await until(lambda: [*double.objects.values()] != [before])
    await harness.leases.read()
    harness.clock.advance(1)
    assert await renew(harness) == Lost()


async def test_a_conflict_is_not_the_end(harness: KubernetesHarness, double: Double) -> None:
    await grant(harness, harness.leases, ALICE)
    body = await harness.object(SHARD)
    await harness.backend.put(body)
    assert isinstance(await renew(harness), Granted)
    assert double.count("PUT") == 2


async def test_conflicts_without_end_do_not_keep_a_call(harness: KubernetesHarness, double: Double) -> None:
    await grant(harness, harness.leases, ALICE)
    double.refusals["PUT"] = Refusal(409, "Conflict")
    assert isinstance(await renew(harness), Unknown)
    assert double.count("PUT") == TRIES_MAX


async def test_a_faster_process_is_not_overrun(harness: KubernetesHarness, double: Double) -> None:
    rival = await harness.another()

    async def be_faster() -> None:
        double.before = None
        await grant(harness, rival, BOB)

    double.before = once("POST", be_faster)
    answer = await ask(harness, harness.leases, ALICE)
    assert isinstance(answer, HeldBy)
    assert answer.holder == BOB


@pytest.mark.parametrize("status", [400, 403, 429, 500, 503])
async def test_a_refusal_of_the_moment_is_not_the_end_of_a_lease(
    harness: KubernetesHarness, double: Double, status: int
) -> None:
    await grant(harness, harness.leases, ALICE)
    double.refusals["PUT"] = Refusal(status, "Whatever", "come back later")
    answer = await renew(harness)
    assert isinstance(answer, Unknown)
    assert "come back later" in answer.why
    double.refusals.clear()
    assert isinstance(await renew(harness), Granted)


async def test_what_can_not_be_listed_is_not_granted(harness: KubernetesHarness, double: Double) -> None:
    double.refusals["GET"] = Refusal(500, "InternalError")
    with pytest.raises(LeaseStoreUnavailable):
        await harness.leases.acquire([SHARD, OTHER], ALICE, harness.ttl_s)
    with pytest.raises(LeaseStoreUnavailable):
        await harness.leases.read()


async def test_a_namespace_that_was_deleted_is_not_hidden(harness: KubernetesHarness, double: Double) -> None:
    double.namespaces.clear()
    answer = await ask(harness, harness.leases, ALICE)
    assert isinstance(answer, Unknown)
    assert "kubectl create namespace fleet" in answer.why


async def test_a_renewal_does_not_cost_more_than_one_request(
    harness: KubernetesHarness, double: Double
) -> None:
    await harness.leases.acquire([SHARD, OTHER], ALICE, harness.ttl_s)
    double.requests.clear()
    await harness.leases.renew({SHARD: EPOCH, OTHER: EPOCH}, ALICE, harness.ttl_s)
    assert len(double.requests) == 2


async def test_an_acquisition_of_many_does_not_read_one_by_one(
    harness: KubernetesHarness, double: Double
) -> None:
    double.requests.clear()
    await harness.leases.acquire([Shard(number) for number in range(10)], ALICE, harness.ttl_s)
    assert double.count("GET") == 1


def slowly(harness: KubernetesHarness, method: str) -> Callable[[str], None]:
    """Time passes between the deed and its answer."""

    def pass_time(done: str) -> None:
        if done == method:
            harness.clock.advance(DELAY_S)

    return pass_time


def once(method: str, act: Callable[[], Awaitable[object]]) -> Callable[[str], Awaitable[None]]:
    """Before the first request of that kind, do something."""
    waiting = [act]

    async def before(asked: str) -> None:
        if asked == method and waiting:
            await waiting.pop()()

    return before


async def renew(harness: KubernetesHarness, epoch: Epoch = EPOCH) -> object:
    return (await harness.leases.renew({SHARD: epoch}, ALICE, harness.ttl_s))[SHARD]
