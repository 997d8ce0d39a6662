"""Redis keeps the contract of leases: as one server, and as a master that sentinels watch."""

from collections.abc import AsyncIterator

import pytest

from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.leases.redis.harness import RedisHarness, redis_harness, sentinel_harness
from tests.servers.process import Address
from tests.servers.redis import RedisSentinel


class TestOneServer(LeaseConformance, HintContract):
    @pytest.fixture
    async def harness(self, redis_server: Address) -> AsyncIterator[RedisHarness]:
        async with redis_harness(redis_server.url) as harness:
            yield harness


@pytest.mark.proof
class TestSentinel(LeaseConformance, HintContract):
    @pytest.fixture
    async def harness(self, redis_sentinel: RedisSentinel) -> AsyncIterator[RedisHarness]:
        async with sentinel_harness(redis_sentinel) as harness:
            yield harness
