"""What goes wrong with Kafka is said in one line, with the fix, and in bounded time."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Iterable
from contextlib import AsyncExitStack
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError, NodeNotReadyError
from aiokafka.protocol.produce import ProduceRequest

from fencepost.brokers.kafka import KafkaBroker, open_broker
from fencepost.brokers.kafka.topics import Topics
from fencepost.errors import BrokerRefused, BrokerUnavailable, FencepostError
from fencepost.model.message import Confirmed, Message, Refused, Unconfirmed
from fencepost.testing.conformance.brokers import GROUP, confirmed, numbered, patient, received
from tests.brokers.kafka_harness import KafkaHarness
from tests.servers.kafka import USERS, KafkaAddress
from tests.servers.listening import listening
from tests.servers.ports import free_port

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

BOUND_S = 10.0
ALICE = f"alice:{USERS['alice']}@"
BOB = f"bob:{USERS['bob']}@"


@pytest.fixture
async def harness(kafka_server: KafkaAddress, stack: AsyncExitStack) -> KafkaHarness:
    return await KafkaHarness.opened(kafka_server.url, stack)


async def opened(url: str, stack: AsyncExitStack) -> KafkaBroker:
    broker = await open_broker(url)
    stack.push_async_callback(broker.close)
    return broker


async def said(call: Awaitable[object], kind: type[FencepostError]) -> str:
    """What a call that fails says."""
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(kind) as caught:
            await call
    text = str(caught.value)
    assert "\n" not in text
    assert not any(password in text for password in USERS.values())
    return text


async def created(server: KafkaAddress, topic: str, **settings: str) -> None:
    """Create a topic as an administrator would."""
    admin = AIOKafkaAdminClient(bootstrap_servers=f"{server.host}:{server.ports['PLAINTEXT']}")
    await admin.start()
    named = {name.replace("_", "."): value for name, value in settings.items()}
    await admin.create_topics([NewTopic(topic, 1, 1, topic_configs=named)])
    await admin.close()


async def test_without_a_listening_server_no_call_hangs(
    stack: AsyncExitStack, capfd: pytest.CaptureFixture[str]
) -> None:
    broker = await opened(f"kafka://127.0.0.1:{free_port()}", stack)
    assert "is the server running" in await said(broker.connect(), BrokerUnavailable)
    for call in (
        broker.publish(numbered("x", 1)),
        broker.declare(["x"]),
        broker.backlog("x", GROUP),
        broker.subscribe("x", GROUP, 1),
        broker.announce("x", b""),
        broker.listen("x", print),
    ):
        await said(call, BrokerUnavailable)
    assert capfd.readouterr().err == ""


async def test_a_server_that_is_silent_does_not_hold_a_call(stack: AsyncExitStack) -> None:
    async def say_nothing(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(say_nothing) as port:
        broker = await opened(f"kafka://127.0.0.1:{port}", stack)
        assert "no answer in time" in await said(broker.connect(), BrokerUnavailable)


async def test_a_lost_cluster_is_not_tried_more_often_than_once_a_second(stack: AsyncExitStack) -> None:
    tries = count()

    async def hang_up(*_: object) -> None:
        next(tries)

    async with listening(hang_up) as port:
        broker = await opened(f"kafka://127.0.0.1:{port}", stack)
        for _ in range(20):
            await said(broker.connect(), BrokerUnavailable)
    assert next(tries) == 1


async def test_an_undeclared_topic_is_not_created(harness: KafkaHarness, kafka_server: KafkaAddress) -> None:
    nowhere = harness.destination()
    async with asyncio.timeout(BOUND_S):
        (refused,) = await harness.broker.publish(numbered(nowhere, 1))
    assert isinstance(refused, Refused)
    assert not refused.permanent
    assert f"kafka-topics.sh --bootstrap-server 127.0.0.1:{kafka_server.ports['PLAINTEXT']}" in refused.reason
    assert f"--create --topic {nowhere} --partitions 3" in refused.reason
    assert "--create" in await said(harness.broker.subscribe(nowhere, GROUP, 1), BrokerRefused)
    assert isinstance((await harness.broker.publish(numbered(nowhere, 1)))[0], Refused)


async def test_a_name_with_a_slash_is_not_a_topic(harness: KafkaHarness) -> None:
    assert "write a.b" in await said(harness.broker.declare(["a/b"]), BrokerRefused)
    (refused,) = await harness.broker.publish(numbered("a/b", 1))
    assert isinstance(refused, Refused)
    assert refused.permanent


async def test_what_a_topic_does_not_take_is_not_confirmed(
    harness: KafkaHarness, kafka_server: KafkaAddress
) -> None:
    topic = harness.destination()
    await created(kafka_server, topic, max_message_bytes="2000")
    (refused,) = await harness.broker.publish([Message(topic, "large", b"x" * 5000)])
    assert isinstance(refused, Refused)
    assert refused.permanent
    assert "takes 2000 bytes (max.message.bytes), the body has 5000" in refused.reason
    assert await harness.broker.publish([Message(topic, "small", b"x")]) == [Confirmed()]


async def test_headers_larger_than_a_request_are_not_sent(harness: KafkaHarness) -> None:
    topic = harness.destination()
    await harness.broker.declare([topic])
    (refused,) = await harness.broker.publish([Message(topic, "id", b"x", {"h": "x" * 1_100_000})])
    assert isinstance(refused, Refused)
    assert refused.permanent


async def test_a_topic_that_would_drop_messages_is_not_accepted(
    harness: KafkaHarness, kafka_server: KafkaAddress
) -> None:
    topic = harness.destination()
    await created(kafka_server, topic, cleanup_policy="compact")
    assert "cleanup.policy=delete" in await said(harness.broker.declare([topic]), BrokerRefused)


async def test_nor_is_one_that_another_has_created_since_we_looked(
    harness: KafkaHarness, kafka_server: KafkaAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none_there(_: Topics, topics: Iterable[str]) -> set[str]:
        return set(topics)

    monkeypatch.setattr(Topics, "missing", none_there)
    topic = harness.destination()
    await created(kafka_server, topic, cleanup_policy="compact")
    assert "cleanup.policy=delete" in await said(harness.broker.declare([topic]), BrokerRefused)


async def test_a_cluster_whose_servers_have_yet_to_join_is_away_and_not_refused(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "Unable to replicate the partition 1 time(s): All brokers are currently fenced."

    async def refuse(_: AIOKafkaAdminClient, topics: list[NewTopic]) -> SimpleNamespace:
        return SimpleNamespace(topic_errors=[(one.name, 38, reason) for one in topics])

    monkeypatch.setattr(AIOKafkaAdminClient, "create_topics", refuse)
    assert reason in await said(harness.broker.declare([harness.destination()]), BrokerUnavailable)


async def test_a_cluster_that_has_yet_to_choose_who_keeps_a_group_is_asked_again(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, asked, find = harness.destination(), count(1), AIOKafkaAdminClient.find_coordinator

    async def find_later(admin: AIOKafkaAdminClient, group: str) -> int:
        if next(asked) < 3:
            raise GroupCoordinatorNotAvailableError
        return int(await find(admin, group))

    await harness.broker.declare([topic])
    monkeypatch.setattr(AIOKafkaAdminClient, "find_coordinator", find_later)
    assert await harness.broker.backlog(topic, GROUP) == 0


async def test_a_cluster_that_has_no_server_for_groups_is_told_by_its_reason(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find_none(_: AIOKafkaAdminClient, group: str) -> int:
        raise GroupCoordinatorNotAvailableError(f"no coordinator for {group}")

    topic = harness.destination()
    await harness.broker.declare([topic])
    monkeypatch.setattr(AIOKafkaAdminClient, "find_coordinator", find_none)
    monkeypatch.setattr("fencepost.brokers.kafka.connection.SETTLED_WITHIN_S", 0.0)
    assert "no coordinator for" in await said(harness.broker.backlog(topic, GROUP), BrokerUnavailable)


async def test_an_answer_without_offsets_is_not_taken_for_a_group_that_has_read_nothing(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver answers so where another server keeps the group now."""
    topic, asked, offsets = harness.destination(), count(1), AIOKafkaAdminClient.list_consumer_group_offsets

    async def moved(admin: AIOKafkaAdminClient, group: str, *, partitions: list[TopicPartition]) -> object:
        return {} if next(asked) == 1 else await offsets(admin, group, partitions=partitions)

    await harness.broker.declare([topic])
    await harness.broker.publish(numbered(topic, 3))
    subscription = await harness.broker.subscribe(topic, GROUP, 10)
    held = await received(subscription, 3)
    await subscription.acknowledge(held)
    await subscription.close()
    monkeypatch.setattr(AIOKafkaAdminClient, "list_consumer_group_offsets", moved)
    assert await harness.broker.backlog(topic, GROUP) == 0


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
async def test_a_wrong_password_is_not_shown(
    kafka_server: KafkaAddress, stack: AsyncExitStack, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    parameters = f"&ssl_cafile={kafka_server.authority_file}" if protocol == "SASL_SSL" else ""
    url = kafka_server.guarded("alice:wr0ng-one@", protocol) + parameters
    broker = await opened(url, stack)
    with caplog.at_level(logging.DEBUG, "aiokafka"):
        text = await said(patient(broker.connect), BrokerRefused)
    assert "correct the user or the password in the URL" in text
    assert "alice:***@" in text
    assert "wr0ng-one" not in text + caplog.text + repr(broker)


async def test_a_server_of_an_unknown_authority_is_not_trusted(
    kafka_server: KafkaAddress, stack: AsyncExitStack
) -> None:
    broker = await opened(kafka_server.guarded(ALICE, "SASL_SSL"), stack)
    assert "ssl_cafile=FILE" in await said(broker.connect(), BrokerRefused)


async def test_a_user_without_rights_gets_nothing_done(
    harness: KafkaHarness, kafka_server: KafkaAddress, stack: AsyncExitStack
) -> None:
    broker = await opened(kafka_server.guarded(BOB), stack)
    await broker.connect()
    topic = harness.destination()
    assert "kafka-topics.sh" in await said(broker.declare([topic]), BrokerRefused)
    await harness.broker.declare([topic])
    assert "the guide to Kafka" in await said(broker.publish(numbered(topic, 1)), BrokerRefused)
    assert "--create" in await said(broker.subscribe(topic, GROUP, 1), BrokerRefused)


async def test_no_fault_of_every_day_is_a_traceback_when_its_producer_is_replaced(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch is to be sent again, another waits behind it. The producer gives up a second later."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    topic, lost, send = harness.destination(), asyncio.Event(), AIOKafkaClient.send

    async def lose(client: AIOKafkaClient, node: int, request: Any, **words: Any) -> Any:
        if not isinstance(request, ProduceRequest):
            return await send(client, node, request, **words)
        await lost.wait()
        raise NodeNotReadyError

    await harness.broker.declare([topic])
    await confirmed(harness.broker, numbered(topic, 1))
    monkeypatch.setattr("fencepost.brokers.kafka.broker.PUBLISH_TIMEOUT_S", 0.5)
    monkeypatch.setattr(AIOKafkaClient, "send", lose)
    messages = [Message(topic, f"id-{number}", b"x", order_key="same") for number in range(2)]
    publishing = [asyncio.create_task(harness.broker.publish([one])) for one in messages]
    for one in publishing:
        (answer,) = await one
        assert isinstance(answer, Unconfirmed)
    lost.set()
    await harness.broker.close()
    gc.collect()
    assert complaints == []


@pytest.mark.parametrize("hangs", [True, False])
async def test_a_consumer_that_does_not_stop_leaves_no_connection_open(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch, hangs: bool
) -> None:
    """The time that a consumer has for its stop has to pass."""
    connections: list[AIOKafkaConnection] = []

    async def fail(consumer: AIOKafkaConsumer) -> None:
        connections.extend(consumer._client._conns.values())
        if hangs:
            await asyncio.Event().wait()
        raise KafkaError

    topic = harness.destination()
    await harness.broker.declare([topic])
    await harness.broker.publish(numbered(topic, 1))
    await received(await harness.broker.subscribe(topic, GROUP, 1), 1)
    monkeypatch.setattr("fencepost.brokers.kafka.connection.END_TIMEOUT_S", 0.2)
    with monkeypatch.context() as patched:
        patched.setattr(AIOKafkaConsumer, "stop", fail)
        await harness.broker.close()
    assert connections
    assert not any(one.connected() for one in connections)


async def test_a_cancelled_call_leaves_nothing_to_the_next(harness: KafkaHarness) -> None:
    """The client's own time limits have to pass."""
    topic = harness.destination()
    await harness.broker.declare([topic])
    subscription = await harness.broker.subscribe(topic, GROUP, 100)
    for steps in range(12):
        publishing = asyncio.create_task(harness.broker.publish([Message(topic, f"cut-{steps}", b"")]))
        receiving = asyncio.create_task(subscription.receive(1, 0.2))
        for _ in range(steps):
            await asyncio.sleep(0)
        publishing.cancel()
        receiving.cancel()
        await asyncio.gather(publishing, receiving, return_exceptions=True)
    assert await harness.broker.publish([Message(topic, "whole", b"")]) == [Confirmed()]
    seen: list[str] = []
    async with asyncio.timeout(BOUND_S):
        while "whole" not in seen:
            seen += [one.id for one in await received(subscription, 1, limit=1)]
    assert len(seen) == len(set(seen))
