"""Kafka keeps what the port promises, on a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from fencepost.testing.conformance.brokers import BrokerConformance, GroupContract
from tests.brokers.kafka_harness import KafkaHarness
from tests.servers.kafka import KafkaAddress

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


@pytest.fixture
async def harness(kafka_server: KafkaAddress) -> AsyncIterator[KafkaHarness]:
    async with AsyncExitStack() as stack:
        yield await KafkaHarness.opened(kafka_server.url, stack)


class TestKafka(BrokerConformance, GroupContract):
    pass
