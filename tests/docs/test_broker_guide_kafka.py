"""The guide to Kafka says what is so."""

from __future__ import annotations

import re
import shlex
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fencepost.brokers.kafka import open_broker
from fencepost.brokers.kafka.address import FILES, NUMBERS, read_address
from fencepost.model.message import Confirmed, Message
from fencepost.testing.conformance.brokers import received
from tests.servers.kafka import USERS, KafkaAddress, run

GUIDE = (Path(__file__).parents[2] / "docs/guides/brokers/kafka.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["security_protocol", "sasl_mechanism", *FILES, *NUMBERS])
def test_no_parameter_is_missing_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE


def test_the_defaults_in_the_guide_are_those_of_the_url() -> None:
    address = read_address("kafka://host")
    assert f"Default {address.partitions}" in GUIDE
    assert f"Default {address.max_request_size}" in GUIDE
    assert f"{address.max_request_size - address.body_max} bytes less" in GUIDE


@pytest.mark.kafka
@pytest.mark.proof
@pytest.mark.timeout(300)
async def test_the_rights_in_the_guide_are_enough(kafka_server: KafkaAddress) -> None:
    for line in re.findall(r"^kafka-acls\.sh (.*)$", GUIDE, re.MULTILINE):
        server = f"{kafka_server.host}:{kafka_server.ports['PLAINTEXT']}"
        run("kafka.admin.AclCommand", *shlex.split(line.replace("HOST", server)))
    async with AsyncExitStack() as stack:
        broker = await open_broker(kafka_server.guarded(f"alice:{USERS['alice']}@"))
        stack.push_async_callback(broker.close)
        await broker.declare(["orders"])
        heard: list[bytes] = []
        await broker.listen("stop", heard.append)
        await broker.announce("stop", b"7")
        assert await broker.publish([Message("orders", str(n), b"{}") for n in range(2)]) == [Confirmed()] * 2
        subscription = await broker.subscribe("orders", "workers", 2)
        first, second = await received(subscription, 2)
        await subscription.acknowledge([first])
        await subscription.reject([second], "not wanted")
        assert await broker.backlog("orders", "workers") == 0
        assert heard == [b"7"]
