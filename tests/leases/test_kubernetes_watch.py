"""The watch of leases on Kubernetes: what ends it, and how it goes on."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fencepost.leases.hints import BACKOFF_FIRST_S, BACKOFF_MAX_S
from fencepost.leases.kubernetes import KubernetesLeases, open_leases
from fencepost.leases.kubernetes.hints import BETWEEN_S
from fencepost.model.identifiers import Epoch, Shard
from fencepost.model.lease import Granted
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import ALICE
from tests.leases.kubernetes.behaviour import until, watching
from tests.leases.kubernetes.double import Double, Refusal
from tests.leases.kubernetes.on_double import DoubleBackend

SHARD = Shard(0)
TTL_S = 1000.0
PATIENCE_S = 20.0


@pytest.fixture
async def leases(double: Double, clock: VirtualClock, tmp_path: Path) -> AsyncIterator[KubernetesLeases]:
    backend = DoubleBackend(double)
    kubeconfig = backend.kubeconfig(backend.url, tmp_path)
    leases = await open_leases(f"kubernetes://?kubeconfig={kubeconfig}", clock=clock)
    yield leases
    await leases.close()


async def test_a_stream_that_ends_does_not_end_the_watch(
    leases: KubernetesLeases, double: Double, clock: VirtualClock
) -> None:
    epoch = await granted(leases)
    async with watching(leases) as heard:
        lists = listed(double)
        await double.end_watches()
        await until(lambda: passes(clock, heard))
        heard.clear()
        assert listed(double) == lists + 1
        await leases.release({SHARD: epoch}, ALICE)
        await hint(heard)


async def test_a_forgotten_version_does_not_end_the_watch(
    leases: KubernetesLeases, double: Double, clock: VirtualClock
) -> None:
    epoch = await granted(leases)
    async with watching(leases) as heard:
        await double.forget()
        await until(lambda: passes(clock, heard) and double.resumed_from[-1] >= double.forgotten)
        heard.clear()
        await leases.release({SHARD: epoch}, ALICE)
        await hint(heard)


async def test_bookmarks_keep_the_version_from_being_forgotten(
    leases: KubernetesLeases, double: Double, clock: VirtualClock
) -> None:
    async with watching(leases) as heard:
        version = await double.bookmark()
        await until(lambda: double.told >= version)
        assert not heard.is_set()
        await double.end_watches()
        await until(lambda: passes(clock, heard))
        assert double.resumed_from[-1] == version


async def test_streams_that_end_at_once_do_not_make_a_storm(
    leases: KubernetesLeases, double: Double, clock: VirtualClock
) -> None:
    async with watching(leases):
        double.ends_watches = True
        await double.end_watches()
        begun, requests = clock.monotonic(), len(double.requests)
        await until(lambda: ticks(clock) and len(double.requests) >= requests + 4)
        assert clock.monotonic() - begun >= 3 * BETWEEN_S


async def test_a_server_that_is_away_does_not_end_the_watch(
    leases: KubernetesLeases, double: Double, clock: VirtualClock
) -> None:
    async with watching(leases) as heard:
        double.refusals["GET"] = Refusal(503, "ServiceUnavailable")
        await double.end_watches()
        begun, requests = clock.monotonic(), len(double.requests)
        await until(lambda: ticks(clock) and len(double.requests) >= requests + 4)
        assert clock.monotonic() - begun >= (1 + 2 + 4) * BACKOFF_FIRST_S
        assert not heard.is_set()
        double.refusals.clear()
        clock.advance(BACKOFF_MAX_S)
        await hint(heard)


async def test_a_closed_store_does_not_watch_on(leases: KubernetesLeases, double: Double) -> None:
    heard = asyncio.Event()
    stop = await leases.watch(heard.set)
    await leases.close()
    requests = len(double.requests)
    await double.end_watches()
    await asyncio.sleep(0)
    stop()
    assert len(double.requests) == requests
    assert not heard.is_set()


async def granted(leases: KubernetesLeases) -> Epoch:
    answer = (await leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(answer, Granted)
    return answer.epoch


async def hint(heard: asyncio.Event) -> None:
    await asyncio.wait_for(heard.wait(), PATIENCE_S)
    heard.clear()


def listed(double: Double) -> int:
    """How often the collection was asked for, to be listed or watched."""
    return sum(one.endswith("/leases") for one in double.requests if one.startswith("GET "))


def ticks(clock: VirtualClock) -> bool:
    """Let a little time pass."""
    clock.advance(0.1)
    return True


def passes(clock: VirtualClock, heard: asyncio.Event) -> bool:
    """Let backoffs run out until there is something to hear."""
    clock.advance(1.0)
    return heard.is_set()
