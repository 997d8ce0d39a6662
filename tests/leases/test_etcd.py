"""Leases in etcd keep the contract: in one node, and in three of which the leader was killed."""

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from fencepost.testing.conformance.leases import HintContract, LeaseConformance
from tests.leases.etcd.harness import EtcdHarness, open_harness
from tests.servers.etcd import EtcdCluster
from tests.servers.process import Address


@pytest.fixture(scope="module")
def survivors(etcd_nodes: EtcdCluster) -> EtcdCluster:
    """Two of three, after their leader was killed."""
    etcd_nodes.restore()
    etcd_nodes.kill_leader()
    etcd_nodes.leader()
    return etcd_nodes


class TestOneNode(LeaseConformance, HintContract):
    """See `LeaseConformance`."""

    @pytest.fixture
    async def harness(self, etcd_server: Address) -> AsyncIterator[EtcdHarness]:
        opened = await open_harness(etcd_server.url)
        yield opened
        await opened.close()


@pytest.mark.proof
class TestThreeNodesWithoutTheirLeader(LeaseConformance, HintContract):
    """See `LeaseConformance`. Clients are told of all three, the dead one first."""

    @pytest.fixture
    async def harness(self, survivors: EtcdCluster) -> AsyncIterator[EtcdHarness]:
        opened = await open_harness(survivors.leader().url)
        dead = [one for one in survivors.nodes if not one.is_running]
        assert len(dead) == 1
        opened.address = ",".join(urlsplit(one.url).netloc for one in (*dead, *survivors.running))
        yield opened
        await opened.close()
