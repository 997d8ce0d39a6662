"""RabbitMQ keeps what the port of brokers promises, on a real server."""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from urllib.parse import quote

import aiormq
import pytest
from aiormq.abc import AbstractChannel

from fencepost.brokers.rabbitmq import RabbitBroker, link, open_broker
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.message import Confirmed, Message, Refused, Unconfirmed
from fencepost.testing.conformance.brokers import (
    BrokerConformance,
    Heard,
    RestartContract,
    confirmed,
    declared,
    numbered,
    patient,
    received,
    subscribed,
)
from tests.brokers.on_rabbitmq import RabbitHarness, grant, harness_of, opened
from tests.servers.ports import free_port
from tests.servers.process import Address
from tests.servers.proxy import Proxy
from tests.servers.rabbitmq import (
    GUEST,
    GUEST_PASSWORD,
    MESSAGE_SIZE_MAX,
    OTHER_VHOST,
    PASSWORD,
    USER,
    RabbitServer,
)

pytestmark = pytest.mark.rabbitmq


class TestRabbitBroker(BrokerConformance):
    @pytest.fixture
    async def harness(self, rabbitmq_server: Address) -> AsyncIterator[RabbitHarness]:
        async for one in harness_of(rabbitmq_server):
            yield one


@pytest.mark.proof
class TestRabbitBrokerRestarted(RestartContract):
    @pytest.fixture
    async def harness(self, rabbitmq_node: RabbitServer) -> AsyncIterator[RabbitHarness]:
        if not rabbitmq_node.is_running:
            rabbitmq_node.start()
        rabbitmq_node.wait_until_up()
        async for one in harness_of(rabbitmq_node):
            yield one


@pytest.fixture
def server(rabbitmq_server: Address) -> RabbitServer:
    """One whose users, limits and alarms are ours to choose."""
    if not isinstance(rabbitmq_server, RabbitServer):
        pytest.skip("needs a RabbitMQ of its own: unset FENCEPOST_TEST_RABBITMQ")
    return rabbitmq_server


@pytest.fixture
async def harness(server: RabbitServer) -> AsyncIterator[RabbitHarness]:
    async for one in harness_of(server):
        yield one


@pytest.fixture
async def channel(server: RabbitServer) -> AsyncIterator[AbstractChannel]:
    """What a person does by hand."""
    connection = await aiormq.connect(server.url)
    yield await connection.channel()
    await connection.close()


@pytest.fixture
async def proxy(server: RabbitServer) -> AsyncIterator[Proxy]:
    proxy = Proxy("127.0.0.1", server.port)
    await proxy.start()
    yield proxy
    await proxy.close()


@pytest.fixture
async def behind(server: RabbitServer, proxy: Proxy) -> AsyncIterator[RabbitBroker]:
    """A client whose network the test may break."""
    async with AsyncExitStack() as stack:
        yield await opened(server.url.replace(str(server.port), str(proxy.port)), stack)


async def refusal(url: str) -> str:
    broker = await open_broker(url)
    with pytest.raises(BrokerRefused) as refused:
        await broker.connect()
    await broker.close()
    return str(refused.value)


async def test_no_one_is_let_in_with_a_wrong_password(
    server: RabbitServer, caplog: pytest.LogCaptureFixture
) -> None:
    text = await refusal(f"amqp://{USER}:wr0ng@127.0.0.1:{server.port}/")
    assert "ACCESS_REFUSED" in text
    assert "correct the user or the password" in text
    assert "wr0ng" not in text + caplog.text


async def test_a_missing_vhost_is_refused_with_the_command(server: RabbitServer) -> None:
    text = await refusal(f"{server.url}nowhere")
    assert "into the vhost nowhere; where it is missing: rabbitmqctl add_vhost nowhere" in text
    assert f"rabbitmqctl set_permissions -p nowhere {USER} '.*' '.*' '.*'" in text
    assert PASSWORD not in text


async def test_a_user_without_rights_is_told_the_commands(server: RabbitServer) -> None:
    broker = await open_broker(f"amqp://{GUEST}:{GUEST_PASSWORD}@127.0.0.1:{server.port}/")
    with pytest.raises(BrokerRefused, match=r"rabbitmqadmin declare queue name=orders\.dead"):
        await broker.declare(["orders"])
    with pytest.raises(BrokerRefused, match="grant the user"):
        await broker.subscribe("orders", "workers", 1)
    await broker.close()


async def test_a_queue_that_was_made_by_the_command_is_the_one_that_we_would_make(
    harness: RabbitHarness, channel: AbstractChannel
) -> None:
    """What RabbitMQ itself compares: it refuses other arguments."""
    name = harness.destination()
    command = shlex.split((await harness.broker.missing([name]))[name])
    assert command[:4] == ["rabbitmqadmin", "declare", "queue", f"name={name}"]
    said = dict(word.split("=", 1) for word in command[4:])
    await harness.broker.declare([name])
    arguments = json.loads(said["arguments"])
    await channel.queue_declare(name, durable=said["durable"] == "true", arguments=arguments)


async def test_queues_of_one_vhost_are_not_seen_in_another(
    server: RabbitServer, harness: RabbitHarness
) -> None:
    destination = await declared(harness)
    other = await open_broker(f"{server.url}{quote(OTHER_VHOST, safe='')}")
    (answer,) = await other.publish(numbered(destination, 1))
    await other.close()
    assert isinstance(answer, Refused)
    assert f"rabbitmqadmin --vhost={OTHER_VHOST} declare queue name={destination} " in answer.reason


async def test_a_queue_that_a_restart_would_lose_is_refused(
    harness: RabbitHarness, channel: AbstractChannel
) -> None:
    name = harness.destination()
    await channel.queue_declare(name, durable=False)
    with pytest.raises(BrokerRefused, match=f"is not durable.*rabbitmqctl -p / delete_queue {name}"):
        await harness.broker.declare([name])


async def test_a_durable_queue_of_another_kind_is_used_as_it_is(
    harness: RabbitHarness, channel: AbstractChannel
) -> None:
    name = harness.destination()
    await channel.queue_declare(name, durable=True, arguments={"x-max-length": 10})
    await harness.broker.declare([name])
    await confirmed(harness.broker, numbered(name, 2))
    subscription = await subscribed(harness, name)
    first = await received(subscription, 2)
    await subscription.give_back(first)
    assert {one.delivered for one in await received(subscription, 2)} == {2}


async def test_an_exchange_takes_nothing_that_no_queue_is_bound_for(
    harness: RabbitHarness, channel: AbstractChannel
) -> None:
    exchange, queue = harness.destination(), await declared(harness)
    await channel.exchange_declare(exchange, exchange_type="topic", durable=True)
    await channel.queue_bind(queue, exchange, "orders.*")
    await harness.broker.declare([f"{exchange}/orders.new"])
    routed, lost = await harness.broker.publish(
        [Message(f"{exchange}/orders.new", "1", b"x"), Message(f"{exchange}/refunds.new", "2", b"x")]
    )
    assert routed == Confirmed()
    assert isinstance(lost, Refused)
    assert f"{exchange}/refunds.new: no queue takes it (312 NO_ROUTE)" in lost.reason
    command = f"rabbitmqadmin declare binding source={exchange} destination=QUEUE routing_key=refunds.new"
    assert lost.reason.endswith(command)
    assert [one.id for one in await received(await subscribed(harness, queue), 1)] == ["1"]


async def test_a_missing_exchange_costs_no_other_message_its_answer(harness: RabbitHarness) -> None:
    there = exchange = await declared(harness)
    refused, taken = await harness.broker.publish(
        [Message(f"{exchange}/key", "1", b"x"), Message(there, "2", b"x")]
    )
    assert isinstance(refused, Refused)
    assert f"rabbitmqadmin declare exchange name={exchange}" in refused.reason
    assert taken == Confirmed()
    with pytest.raises(BrokerRefused, match="rabbitmqadmin declare exchange"):
        await harness.broker.declare([f"{exchange}/key"])
    assert list(await harness.broker.missing([f"{exchange}/key", there])) == [f"{exchange}/key"]
    with pytest.raises(BrokerRefused, match="subscribe to the queue"):
        await harness.broker.subscribe(f"{exchange}/key", "workers", 1)


async def test_the_limit_of_the_server_is_not_tried_twice(harness: RabbitHarness) -> None:
    destination = await declared(harness)
    large = Message(destination, "large", b"x" * (MESSAGE_SIZE_MAX + 1))
    (first,) = await harness.broker.publish([large])
    assert harness.broker.message_max == MESSAGE_SIZE_MAX
    second, small = await harness.broker.publish([large, Message(destination, "small", b"x")])
    for refused in (first, second):
        assert isinstance(refused, Refused)
        assert refused.permanent
        assert str(MESSAGE_SIZE_MAX) in refused.reason
    assert small == Confirmed()


async def test_a_body_of_many_frames_is_not_changed(harness: RabbitHarness) -> None:
    destination, body = await declared(harness), bytes(range(256)) * 2_000
    await confirmed(harness.broker, [Message(destination, "1", body)])
    (got,) = await received(await subscribed(harness, destination), 1)
    assert got.body == body


async def test_what_is_rejected_is_kept_with_the_reason(harness: RabbitHarness) -> None:
    destination = await declared(harness)
    await confirmed(harness.broker, [Message(destination, "1", b"?", {"fencepost-fence": "3"})])
    subscription = await subscribed(harness, destination)
    await subscription.reject(await received(subscription, 1), "not JSON")
    (kept,) = await received(await harness.broker.subscribe(f"{destination}.dead", "people", 1), 1)
    assert (kept.id, kept.body) == ("1", b"?")
    assert kept.headers == {"fencepost-fence": "3", "fencepost-reject-reason": "not JSON"}
    await subscription.close()
    assert await harness.broker.backlog(destination, "workers") == 0


async def test_no_answer_goes_to_another_message_of_the_same_id(harness: RabbitHarness) -> None:
    there, nowhere = await declared(harness), harness.destination()
    ids = [Message(one, "same", b"x") for one in (nowhere, there, nowhere, there)]
    first, second, third, fourth = await harness.broker.publish(ids)
    assert (second, fourth) == (Confirmed(), Confirmed())
    assert isinstance(first, Refused)
    assert isinstance(third, Refused)


async def test_an_id_that_is_too_long_costs_no_other_message_its_answer(harness: RabbitHarness) -> None:
    destination = await declared(harness)
    refused, taken = await harness.broker.publish(
        [Message(destination, "x" * 256, b""), Message(destination, "1", b"")]
    )
    assert refused == Refused("the message id has 256 bytes; RabbitMQ takes 255", permanent=True)
    assert taken == Confirmed()


async def test_no_answer_of_a_cancelled_call_reaches_the_next(
    behind: RabbitBroker, proxy: Proxy, harness: RabbitHarness
) -> None:
    there, nowhere = await declared(harness), harness.destination()
    await behind.connect()
    await confirmed(behind, numbered(there, 1))
    proxy.cut_answers()
    cancelled = asyncio.create_task(behind.publish(numbered(nowhere, 20)))
    await proxy.held(10)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    following = asyncio.create_task(behind.publish(numbered(there, 20)))
    proxy.heal()
    assert await following == [Confirmed()] * 20


async def test_nothing_is_refused_that_a_lost_connection_left_open(
    behind: RabbitBroker, proxy: Proxy, harness: RabbitHarness
) -> None:
    destination = await declared(harness)
    await confirmed(behind, numbered(destination, 1))
    proxy.cut_answers()
    publishing = asyncio.create_task(behind.publish(numbered(destination, 20)))
    await proxy.held(10)
    proxy.reset()
    answers = await publishing
    assert all(isinstance(one, Unconfirmed) for one in answers)
    assert PASSWORD not in str(answers)
    proxy.heal()
    assert await patient(lambda: behind.publish(numbered(destination, 20))) == [Confirmed()] * 20


async def test_an_acknowledgement_that_was_lost_is_not_taken_for_one_that_was_heard(
    behind: RabbitBroker, proxy: Proxy, harness: RabbitHarness
) -> None:
    destination = await declared(harness)
    await confirmed(harness.broker, numbered(destination, 1))
    subscription = await behind.subscribe(destination, "workers", 1)
    deliveries = await received(subscription, 1)
    proxy.cut()
    acknowledging = asyncio.create_task(subscription.acknowledge(deliveries))
    await proxy.held(10)
    proxy.reset()
    with pytest.raises(BrokerUnavailable):
        await acknowledging
    proxy.heal()
    (again,) = await received(await harness.broker.subscribe(destination, "workers", 1), 1)
    assert (again.id, again.delivered) == ("id-0", 2)


async def test_a_silent_broker_does_not_keep_a_call(
    behind: RabbitBroker, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.brokers.rabbitmq.link.CONNECT_TIMEOUT_S", 0.3)
    proxy.cut()
    async with asyncio.timeout(5):
        with pytest.raises(BrokerUnavailable):
            await behind.connect()


@pytest.mark.proof
async def test_a_broker_that_is_short_of_memory_does_not_keep_a_call(
    server: RabbitServer, harness: RabbitHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.brokers.rabbitmq.publishing.CONFIRM_TIMEOUT_S", 1.0)
    monkeypatch.setattr("fencepost.brokers.rabbitmq.publishing.BLOCKED_TIMEOUT_S", 0.2)
    destination = await declared(harness)
    await confirmed(harness.broker, numbered(destination, 1))
    subscription = await subscribed(harness, destination)
    await asyncio.to_thread(server.control, "set_vm_memory_high_watermark", "0.00001")
    try:
        (first,) = await harness.broker.publish([Message(destination, "blocked", b"x")])
        assert isinstance(first, Unconfirmed)
        with pytest.raises(BrokerUnavailable, match="rabbitmqctl list_alarms"):
            await harness.broker.publish([Message(destination, "later", b"x")])
        await subscription.acknowledge(await received(subscription, 1))
        assert await harness.broker.backlog(destination, "workers") == 0
    finally:
        await asyncio.to_thread(server.control, "set_vm_memory_high_watermark", "0.4")
    assert await patient(lambda: harness.broker.publish(numbered(destination, 1))) == [Confirmed()]


async def test_a_queue_that_was_deleted_does_not_keep_its_consumer_waiting(
    harness: RabbitHarness, channel: AbstractChannel
) -> None:
    destination = await declared(harness)
    subscription = await subscribed(harness, destination)
    waiting = asyncio.create_task(subscription.receive(1, 30))
    await asyncio.sleep(0)
    await channel.queue_delete(destination)
    with pytest.raises(BrokerRefused, match="create it: rabbitmqadmin declare queue"):
        await waiting


async def test_a_broker_that_is_away_is_asked_once_a_period(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, logger="aiormq")
    monkeypatch.setattr(link, "RETRY_PERIOD_S", 60.0)
    broker = await open_broker(f"amqp://{USER}:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{free_port()}/")
    for _ in range(5):
        with pytest.raises(BrokerUnavailable, match="Connect call failed"):
            await broker.publish(numbered("orders", 1))
    await broker.close()
    assert caplog.text.count("error when creating transport") == 1
    assert PASSWORD not in caplog.text


@pytest.mark.proof
async def test_no_right_is_missing_on_the_page(server: RabbitServer) -> None:
    await asyncio.to_thread(grant, server)
    async with AsyncExitStack() as stack:
        broker = await opened(f"amqp://scheduler:CHANGE-ME@127.0.0.1:{server.port}/shop", stack)
        await broker.declare(["shop.orders"])
        await confirmed(broker, numbered("shop.orders", 1))
        subscription = await broker.subscribe("shop.orders", "workers", 1)
        await subscription.reject(await received(subscription, 1), "not JSON")
        assert len(await received(await broker.subscribe("shop.orders.dead", "people", 1), 1)) == 1
        heard = Heard()
        await broker.listen("cancelled", heard.note)
        await broker.announce("cancelled", b"7")
        assert await heard.first() == b"7"
        with pytest.raises(BrokerRefused):
            await broker.declare(["invoices"])
