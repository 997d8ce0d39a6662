"""Several endpoints, of which some are dead, deaf or dying."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.leases.etcd import EtcdLeases, open_leases
from fencepost.model.identifiers import Shard
from fencepost.model.lease import Granted, HeldBy, Unknown
from tests.leases.etcd.asking import ALICE, BOB, SHARD, ask, grant, release, renew
from tests.leases.etcd.by_hand import Interrupted
from tests.leases.etcd.harness import EtcdHarness
from tests.servers.listening import listening
from tests.servers.ports import free_port

QUICK_S = 1.0
"""Less than it takes to give up an endpoint that does not answer."""
BOUND_S = 3.5
"""Less than the shortest sensible lease."""
START_S = 8.0


@pytest.fixture
async def deaf() -> AsyncIterator[str]:
    """An endpoint that accepts whoever comes, and never says a word."""

    async def listen(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(listen) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def dead() -> str:
    """An endpoint that nobody listens at."""
    return f"127.0.0.1:{free_port()}"


async def test_a_dead_endpoint_does_not_keep_the_others_from_being_asked(
    harness: EtcdHarness, dead: str
) -> None:
    leases = await harness.open(f"{dead},{harness.address}")
    granted = await grant(leases, ALICE)
    assert await renew(leases, ALICE, granted.epoch) == granted


async def test_a_deaf_endpoint_is_not_waited_for_twice(harness: EtcdHarness, deaf: str) -> None:
    leases = await harness.open(f"{deaf},{harness.address}")
    async with asyncio.timeout(QUICK_S):
        granted = await grant(leases, ALICE)
        assert await renew(leases, ALICE, granted.epoch) == granted


async def test_an_endpoint_that_dies_takes_no_lease_with_it(harness: EtcdHarness) -> None:
    leases = await harness.open(f"{harness.proxy.address},{harness.address}")
    granted = await grant(leases, ALICE)
    harness.proxy.refuse()
    harness.proxy.reset()
    assert await renew(leases, ALICE, granted.epoch) == granted


async def test_an_endpoint_that_falls_deaf_to_a_transaction_does_not_hang_its_caller(
    harness: EtcdHarness,
) -> None:
    async def cut() -> None:
        harness.proxy.cut()

    gateway = Interrupted(f"{harness.proxy.address},{harness.address}", harness.name)
    gateway.before("kv/txn", cut)
    leases = gateway.client()
    async with asyncio.timeout(BOUND_S):
        assert isinstance(await ask(leases, ALICE), Unknown)
    async with asyncio.timeout(QUICK_S):
        epoch = (await grant(leases, ALICE)).epoch
    harness.proxy.heal()
    assert isinstance(await renew(leases, ALICE, epoch), Granted)
    assert isinstance(await ask(leases, BOB), HeldBy)
    await leases.close()


async def test_a_shard_that_was_answered_does_not_share_the_doubt_of_another(
    alices: EtcdLeases, gateway: Interrupted
) -> None:
    await grant(alices, ALICE)
    gateway.hold_next()
    answers = await alices.acquire([SHARD, Shard(70)], ALICE, 30)
    assert [type(one) for one in answers.values()] == [Granted, Unknown]


@pytest.mark.parametrize("is_deaf", [False, True])
async def test_a_server_that_is_away_does_not_hang_the_start(dead: str, deaf: str, is_deaf: bool) -> None:
    url = f"etcd://user:secret@{deaf if is_deaf else dead}"
    async with asyncio.timeout(START_S):
        with pytest.raises(LeaseStoreUnavailable) as away:
            await open_leases(url, clock=SystemClock())
    assert "is etcd running" in str(away.value)
    assert "secret" not in str(away.value)
    assert "\n" not in str(away.value)


async def test_what_is_no_etcd_is_not_taken_for_one() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nNot Found")

    async with listening(answer) as port:
        with pytest.raises(InvalidSettings, match=r"version 3\.4 or newer"):
            await open_leases(f"etcd://127.0.0.1:{port}", clock=SystemClock())


async def test_a_client_that_is_closed_does_not_answer_by_a_traceback(harness: EtcdHarness) -> None:
    leases = await harness.another()
    await leases.close()
    assert isinstance(await ask(leases, ALICE), Unknown)
    assert isinstance(await release(leases, ALICE, (await grant(harness.leases, ALICE)).epoch), Unknown)
    with pytest.raises(LeaseStoreUnavailable):
        await leases.read()
