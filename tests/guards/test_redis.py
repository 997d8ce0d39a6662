"""The Redis guard, on a real server, by a client that blocks and by one that is awaited."""

from __future__ import annotations

from uuid import uuid4

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from fencepost.errors import StaleFence, UsageError
from fencepost.guards import FencedKey
from tests.servers.process import Address

pytestmark = pytest.mark.redis


@pytest.fixture
def key() -> str:
    return f"guarded-{uuid4().hex}"


def test_a_straggler_does_not_overwrite_its_successor(redis_server: Address, key: str) -> None:
    with Redis.from_url(redis_server.url, decode_responses=True) as client:
        guarded = FencedKey(client, key)
        guarded.put("first", 4)
        guarded.put("again", 4)
        guarded.put("second", 7)
        with pytest.raises(StaleFence, match="fence 7 has written, which is larger than 4"):
            guarded.put("late", 4)
        assert (guarded.get(), client.hget(key, "fence")) == ("second", "7")


async def test_the_same_is_awaited(redis_server: Address, key: str) -> None:
    async with AsyncRedis.from_url(redis_server.url) as client:
        guarded = FencedKey(client, key)
        await guarded.put("second", 10)
        with pytest.raises(StaleFence, match="larger than 9"):
            await guarded.put("late", 9)
        assert await guarded.get() == b"second"


def test_fences_are_compared_as_numbers_and_not_as_texts(redis_server: Address, key: str) -> None:
    with Redis.from_url(redis_server.url) as client:
        FencedKey(client, key).put("ten", 10)
        with pytest.raises(StaleFence):
            FencedKey(client, key).put("nine", 9)
        FencedKey(client, key).put("most", 2**53 - 1)
        with pytest.raises(StaleFence):
            FencedKey(client, key).put("one less", 2**53 - 2)


def test_a_time_to_live_is_set_and_lifted(redis_server: Address, key: str) -> None:
    with Redis.from_url(redis_server.url) as client:
        FencedKey(client, key, ttl_s=60).put("a", 1)
        assert 0 < client.pttl(key) <= 60_000
        FencedKey(client, key).put("b", 2)
        assert client.pttl(key) == -1


@pytest.mark.parametrize("ttl_s", [0, -1.0])
def test_no_time_to_live_of_nothing(ttl_s: float) -> None:
    with pytest.raises(UsageError, match="more than 0"):
        FencedKey(None, "k", ttl_s=ttl_s)


@pytest.mark.parametrize("fence", [0, -1, 2**53])
def test_what_is_no_fence_is_refused_before_it_is_sent(fence: int) -> None:
    with pytest.raises(UsageError, match=r"run\.fence"):
        FencedKey(None, "k").put("v", fence)
