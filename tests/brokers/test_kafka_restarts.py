"""What a Kafka that is killed and started again does to a client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing
from functools import partial

import pytest

from fencepost.testing.conformance.brokers import RestartContract
from tests.brokers.kafka_harness import KafkaHarness
from tests.servers.fixtures import start_or_skip
from tests.servers.kafka import KafkaServer

pytestmark = [pytest.mark.kafka, pytest.mark.proof, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server() -> Iterator[KafkaServer]:
    """One that the tests may kill."""
    with closing(start_or_skip(partial(KafkaServer, session_s=3), optional=True)) as server:
        yield server


@pytest.fixture
async def harness(server: KafkaServer) -> AsyncIterator[KafkaHarness]:
    async with AsyncExitStack() as stack:
        harness = await KafkaHarness.opened(server.url, stack)
        harness.server = server
        yield harness


class TestKafkaRestarts(RestartContract):
    pass
