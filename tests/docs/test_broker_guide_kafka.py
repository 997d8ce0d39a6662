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
from tests.docs.broker_pages import Page, follow
from tests.servers.kafka import USERS, KafkaAddress, run

ALICE = f"alice:{USERS['alice']}@"
GUIDE = (Path(__file__).parents[2] / "docs/guides/brokers/kafka.md").read_text("utf-8")


@pytest.mark.parametrize("name", ["security_protocol", "sasl_mechanism", *FILES, *NUMBERS])
def test_no_parameter_is_missing_in_the_guide(name: str) -> None:
    assert f"`{name}`" in GUIDE


def test_the_defaults_in_the_guide_are_those_of_the_url() -> None:
    address = read_address("kafka://host")
    assert f"Default {address.partitions}" in GUIDE
    assert f"Default {address.max_request_size}" in GUIDE
    assert f"{address.max_request_size - address.body_max} bytes less" in GUIDE


@pytest.fixture
def granted(kafka_server: KafkaAddress) -> KafkaAddress:
    """With the rights of the guide."""
    for line in re.findall(r"^kafka-acls\.sh (.*)$", GUIDE, re.MULTILINE):
        server = f"{kafka_server.host}:{kafka_server.ports['PLAINTEXT']}"
        run("kafka.admin.AclCommand", *shlex.split(line.replace("HOST", server)))
    return kafka_server


@pytest.mark.kafka
@pytest.mark.proof
@pytest.mark.timeout(300)
async def test_the_rights_in_the_guide_are_enough(granted: KafkaAddress) -> None:
    """Takes 20 s: a server, and a process of Java for each command."""
    async with AsyncExitStack() as stack:
        broker = await open_broker(granted.guarded(ALICE))
        stack.push_async_callback(broker.close)
        await broker.declare(["shop.rights"])
        heard: list[bytes] = []
        await broker.listen("stop", heard.append)
        await broker.announce("stop", b"7")
        assert (
            await broker.publish([Message("shop.rights", str(n), b"{}") for n in range(2)])
            == [Confirmed()] * 2
        )
        subscription = await broker.subscribe("shop.rights", "fencepost", 2)
        first, second = await received(subscription, 2)
        await subscription.acknowledge([first])
        await subscription.reject([second], "not wanted")
        assert await broker.backlog("shop.rights", "fencepost") == 0
        assert heard == [b"7"]


@pytest.mark.kafka
@pytest.mark.proof
@pytest.mark.timeout(300)
def test_nothing_is_missing_on_the_page(
    granted: KafkaAddress, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Takes 30 s: a server, a process of Java for each right, and topics that are made one by one."""
    address = granted.guarded(ALICE).partition("?")[0]
    commands = Page("kafka").commands("kafka://alice:PASSWORD@localhost:9092", address)
    said = follow(commands, tmp_path, monkeypatch)
    assert "warning" not in said.lower()
