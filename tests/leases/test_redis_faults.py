"""Redis behind a bad network: nothing is done twice, nothing is believed unheard, and hints come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Granted, Lost, Released, Unknown
from tests.leases.redis.harness import COMMAND, RedisHarness, redis_harness
from tests.servers.fixtures import started
from tests.servers.redis import RedisServer

ALICE, BOB = NodeId("alice"), NodeId("bob")
SHARD = Shard(0)
MANY = [Shard(number) for number in range(64)]
TTL_S = 30.0
PATIENCE_S = 15.0
BEAT_S = 0.02


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with started(RedisServer) as server:
        yield server


@pytest.fixture
async def harness(server: RedisServer) -> AsyncIterator[RedisHarness]:
    async with redis_harness(server.url) as harness:
        yield harness


def scripts_run(server: RedisServer) -> int:
    stats = server.call("INFO", "commandstats")
    return sum(stats.get(f"cmdstat_{one}", {}).get("calls", 0) for one in ("eval", "evalsha"))


async def grant(harness: RedisHarness) -> Granted:
    answer = (await harness.leases.acquire([SHARD], ALICE, TTL_S))[SHARD]
    assert isinstance(answer, Granted), answer
    return answer


async def eventually(holds: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE_S / BEAT_S)):
        if holds():
            return
        await asyncio.sleep(BEAT_S)
    raise AssertionError("it never came about")


async def test_all_shards_of_a_call_do_not_take_more_than_one_round_trip(
    harness: RedisHarness, server: RedisServer
) -> None:
    await grant(harness)
    before = scripts_run(server)
    answers = await harness.leases.acquire(MANY, ALICE, TTL_S)
    held = {shard: answer.epoch for shard, answer in answers.items() if isinstance(answer, Granted)}
    assert list(held) == MANY
    assert scripts_run(server) == before + 1


async def test_a_shard_that_is_asked_for_twice_is_not_granted_twice(harness: RedisHarness) -> None:
    answers = await harness.leases.acquire([SHARD, SHARD], ALICE, TTL_S)
    assert [answer.epoch for answer in answers.values() if isinstance(answer, Granted)] == [1]


async def test_a_server_that_forgot_the_scripts_is_not_a_fault(
    harness: RedisHarness, server: RedisServer
) -> None:
    held = await grant(harness)
    server.call("SCRIPT FLUSH")
    assert await grant(harness) == held
    server.call("SCRIPT FLUSH")
    assert (await harness.leases.release({SHARD: held.epoch}, ALICE))[SHARD] == Released()


async def test_no_script_is_repeated_when_its_answer_is_lost(
    harness: RedisHarness, server: RedisServer
) -> None:
    held = await grant(harness)
    await harness.leases.renew({SHARD: held.epoch}, ALICE, TTL_S)
    await harness.leases.release({SHARD: Epoch(77)}, ALICE)
    calls: list[Callable[[], object]] = [
        lambda: harness.leases.acquire([SHARD], ALICE, TTL_S),
        lambda: harness.leases.renew({SHARD: held.epoch}, ALICE, TTL_S),
        lambda: harness.leases.release({SHARD: held.epoch}, ALICE),
    ]
    for call in calls:
        before = scripts_run(server)
        harness.proxy.lose_next_answer(to=COMMAND)
        answers = await call()  # type: ignore[misc]
        assert isinstance(answers[SHARD], Unknown)
        assert scripts_run(server) == before + 1
    assert (await harness.leases.release({SHARD: held.epoch}, ALICE))[SHARD] == Lost()


async def test_a_restart_between_two_calls_does_not_cost_the_second_its_answer(
    harness: RedisHarness, server: RedisServer
) -> None:
    await grant(harness)
    await asyncio.to_thread(server.restart)
    await grant(harness)


async def test_a_cancelled_call_does_not_leave_its_connection_behind(
    harness: RedisHarness, server: RedisServer
) -> None:
    await grant(harness)
    harness.proxy.cut()
    call = asyncio.ensure_future(harness.leases.acquire(MANY, BOB, TTL_S))
    await harness.proxy.held(PATIENCE_S)
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    harness.proxy.heal()
    assert list(await harness.leases.acquire([SHARD], ALICE, TTL_S)) == [SHARD]
    await eventually(lambda: connected(server) == 2)


def connected(server: RedisServer) -> int:
    """Who is there, the one who asks included."""
    return int(server.call("INFO", "clients")["connected_clients"])


async def test_a_closed_client_leaves_no_connection_and_answers_no_more(
    harness: RedisHarness, server: RedisServer
) -> None:
    another = await harness.another()
    await another.watch(lambda: None)
    before = await asyncio.to_thread(connected, server)
    await another.close()
    await eventually(lambda: connected(server) == before - 2)
    assert (await another.acquire([SHARD], ALICE, TTL_S))[SHARD] == Unknown(
        "Redis did not answer: these leases were closed"
    )


async def test_who_listens_is_told_after_each_reconnection(harness: RedisHarness) -> None:
    told: list[int] = []
    await harness.leases.watch(lambda: told.append(1))
    assert told == []
    for times in (1, 2):
        harness.proxy.reset()
        await eventually(lambda times=times: len(told) == times)  # type: ignore[misc]


async def test_hints_are_not_lost_for_good_when_there_was_no_server_at_first(
    harness: RedisHarness,
) -> None:
    told: list[int] = []
    another = await harness.another()
    harness.proxy.refuse()
    harness.proxy.reset()
    await harness.leases.watch(lambda: told.append(1))
    assert told == []
    harness.proxy.heal()
    await eventually(lambda: len(told) == 1)
    await another.acquire([SHARD], ALICE, TTL_S)
    await another.release({SHARD: Epoch(1)}, ALICE)
    await eventually(lambda: len(told) == 2)


async def test_a_line_that_died_in_silence_is_not_listened_to_for_ever(
    harness: RedisHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.leases.redis.hints.BEAT_S", 0.1)
    told: list[int] = []
    await harness.leases.watch(lambda: told.append(1))
    harness.proxy.cut()
    await asyncio.sleep(0.5)
    harness.proxy.heal()
    await eventually(lambda: len(told) >= 1)


async def test_a_quiet_line_is_not_taken_for_a_dead_one(
    harness: RedisHarness, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.leases.redis.hints.BEAT_S", 0.1)

    def pings() -> int:
        return int(server.call("INFO", "commandstats").get("cmdstat_ping", {}).get("calls", 0))

    told: list[int] = []
    await harness.leases.watch(lambda: told.append(1))
    before = pings()
    await eventually(lambda: pings() >= before + 3)
    assert told == []
