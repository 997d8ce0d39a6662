"""MongoDB keeps the contract of leases: on a replica set of one, and on one of three."""

from collections.abc import AsyncIterator

import pytest

from fencepost.model.address import parse_address
from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.conformance.on_mongodb import open_mongodb
from tests.leases.mongodb.harness import MongoHarness, StoreLeases, mongo_harness
from tests.servers.mongodb import MongoReplicaSet
from tests.servers.process import Address


class TestOneMember(LeaseConformance, HintContract):
    @pytest.fixture
    async def harness(self, mongo_server: Address) -> AsyncIterator[MongoHarness]:
        host = parse_address(mongo_server.url, 27017).hosts[0]
        async with mongo_harness(mongo_server.url, str(host)) as harness:
            yield harness


class TestOfAStore(LeaseConformance, HintContract):
    """The store's own."""

    @pytest.fixture
    async def harness(self, mongo_server: Address) -> AsyncIterator[StoreLeases]:
        opened = await open_mongodb(mongo_server.url.replace("/?", "/leases?"), by_server=True)
        yield StoreLeases(opened)
        await opened.close()


@pytest.mark.proof
class TestThreeMembers(LeaseConformance, HintContract):
    @pytest.fixture
    async def harness(self, mongo_replica_set: MongoReplicaSet) -> AsyncIterator[MongoHarness]:
        primary = mongo_replica_set.primary().address
        async with mongo_harness(mongo_replica_set.url, primary) as harness:
            yield harness
