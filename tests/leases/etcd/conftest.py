"""What the tests of etcd share: a fleet of its own for each."""

from collections.abc import AsyncIterator

import pytest

from fencepost.leases.etcd import EtcdLeases
from tests.leases.etcd.by_hand import Interrupted
from tests.leases.etcd.harness import EtcdHarness, open_harness
from tests.servers.process import Address


@pytest.fixture
async def harness(etcd_server: Address) -> AsyncIterator[EtcdHarness]:
    opened = await open_harness(etcd_server.url)
    yield opened
    await opened.close()


@pytest.fixture
async def gateway(etcd_server: Address, harness: EtcdHarness) -> AsyncIterator[Interrupted]:
    opened = Interrupted(etcd_server.url.partition("://")[2], harness.name)
    yield opened
    await opened.close()


@pytest.fixture
def alices(gateway: Interrupted) -> EtcdLeases:
    """A client whose requests can be interrupted."""
    return gateway.client()


@pytest.fixture
async def bobs(harness: EtcdHarness) -> EtcdLeases:
    """A client to which nothing happens."""
    return await harness.another()
