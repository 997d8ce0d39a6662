"""The behaviour of a message broker of any kind.

Bring a `harness` fixture (see `BrokerHarness`) and subclass `BrokerConformance`; where the harness can stop
and start its server (`RestartableHarness`), `RestartContract` too, and `GroupContract` where each group of
consumers gets all messages:

    class TestMyBroker(BrokerConformance, RestartContract):
        @pytest.fixture
        async def harness(self) -> AsyncIterator[RestartableHarness]: ...
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

import pytest

from fencepost.errors import BrokerUnavailable
from fencepost.model.message import Confirmed, Delivery, Message, Publication, Refused, Unconfirmed
from fencepost.ports.broker import Broker, Subscription
from fencepost.testing.conformance.broker_harness import BrokerHarness, RestartableHarness

T = TypeVar("T")

GROUP, OTHER_GROUP = "workers", "auditors"
WAIT_S = 20.0
"""How long a test waits for what must come."""
QUIET_S = 0.3
"""For how long a test sees that something does not come."""
LOOK_AGAIN_S = 0.05
MANY = 500
HOLD_MAX = 1_000


class PublishContract:
    """What is confirmed is there, and what is not there is not confirmed."""

    async def test_a_confirmed_message_is_not_changed_on_its_way(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        sent = Message(
            destination, "resize#7/1", b'{"width": 800, "name": "\xc3\xa4"}', {"fencepost-fence": "12"}
        )
        assert await harness.broker.publish([sent]) == [Confirmed()]
        (got,) = await received(await subscribed(harness, destination), 1)
        assert (got.id, got.body, dict(got.headers)) == (sent.id, sent.body, dict(sent.headers))
        assert got.delivered == 1

    async def test_no_byte_of_a_body_is_changed(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        bodies = [b"", bytes(range(256)), b"\n", "grüße, 世界".encode()]
        messages = [Message(destination, f"id-{number}", body) for number, body in enumerate(bodies)]
        await confirmed(harness.broker, messages)
        deliveries = await received(await subscribed(harness, destination), len(bodies))
        assert {one.id: one.body for one in deliveries} == {one.id: one.body for one in messages}

    async def test_none_of_many_is_lost_or_doubled(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        messages = numbered(destination, MANY)
        await confirmed(harness.broker, messages)
        subscription = await subscribed(harness, destination)
        deliveries = await received(subscription, MANY)
        assert sorted(one.id for one in deliveries) == sorted(one.id for one in messages)
        assert await subscription.receive(1, QUIET_S) == []

    async def test_nothing_is_confirmed_that_has_no_destination(self, harness: BrokerHarness) -> None:
        there, nowhere = await declared(harness), harness.destination()
        messages = [Message(there, "1", b"{}"), Message(nowhere, "2", b"{}"), Message(there, "3", b"{}")]
        first, second, third = await harness.broker.publish(messages)
        assert isinstance(second, Refused)
        assert nowhere in second.reason
        assert (await harness.broker.missing([nowhere]))[nowhere] in second.reason
        assert (first, third) == (Confirmed(), Confirmed())

    async def test_a_missing_destination_is_not_created_by_looking(self, harness: BrokerHarness) -> None:
        there, nowhere = await declared(harness), harness.destination()
        for _ in range(2):
            assert list(await harness.broker.missing([there, nowhere])) == [nowhere]

    async def test_what_is_too_large_is_not_sent(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        await harness.broker.connect()
        most = harness.broker.message_max
        assert most is not None
        large, small = Message(destination, "large", b"x" * (most + 1)), Message(destination, "small", b"x")
        refused, taken = await harness.broker.publish([large, small])
        assert isinstance(refused, Refused)
        assert refused.permanent
        assert str(most) in refused.reason
        assert taken == Confirmed()

    async def test_declaring_twice_does_not_empty_a_destination(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 3))
        await (await harness.another()).declare([destination])
        assert len(await received(await subscribed(harness, destination), 3)) == 3


class ReceiveContract:
    """A message belongs to one consumer until it is answered."""

    async def test_receiving_nothing_does_not_take_for_ever(self, harness: BrokerHarness) -> None:
        subscription = await subscribed(harness, await declared(harness))
        async with asyncio.timeout(WAIT_S):
            assert await subscription.receive(10, QUIET_S) == []

    async def test_who_waits_is_not_left_waiting(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        subscription = await subscribed(harness, destination)
        waiting = asyncio.create_task(subscription.receive(10, WAIT_S))
        await asyncio.sleep(QUIET_S)
        await confirmed(harness.broker, numbered(destination, 1))
        assert [one.id for one in await waiting] == ["id-0"]

    async def test_what_is_acknowledged_does_not_come_again(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 3))
        subscription = await subscribed(harness, destination)
        deliveries = await received(subscription, 3)
        await subscription.acknowledge(deliveries)
        await subscription.close()
        assert await quiet(harness, destination)

    async def test_what_is_not_acknowledged_is_not_lost_with_its_consumer(
        self, harness: BrokerHarness
    ) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 3))
        first = await subscribed(harness, destination)
        deliveries = {one.id: one for one in await received(first, 3)}
        await first.acknowledge([deliveries["id-0"]])
        await first.close()
        again = await received(await subscribed(harness, destination), 2, harness.redelivered_within_s)
        assert sorted(one.id for one in again) == ["id-1", "id-2"]
        if harness.counts_deliveries:
            assert all(one.delivered > 1 for one in again)

    async def test_what_is_given_back_is_not_lost(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 2))
        subscription = await subscribed(harness, destination)
        deliveries = await received(subscription, 2)
        await subscription.give_back([one for one in deliveries if one.id == "id-0"])
        (again,) = await received(subscription, 1, harness.redelivered_within_s)
        assert again.id == "id-0"
        await subscription.acknowledge([again])

    async def test_what_is_rejected_does_not_come_again(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 1))
        subscription = await subscribed(harness, destination)
        await subscription.reject(await received(subscription, 1), "not JSON")
        assert await subscription.receive(1, QUIET_S) == []
        await subscription.close()
        assert await quiet(harness, destination)

    async def test_no_consumer_has_more_than_it_may_hold(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 10))
        subscription = await harness.broker.subscribe(destination, GROUP, 3)
        held = await received(subscription, 3)
        assert await subscription.receive(10, QUIET_S) == []
        await subscription.acknowledge(held)
        assert len(await received(subscription, 3)) == 3

    async def test_no_message_goes_to_two_consumers_of_a_group(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        mine = await subscribed(harness, destination)
        other = await harness.another()
        theirs = await other.subscribe(destination, GROUP, HOLD_MAX)
        await confirmed(harness.broker, numbered(destination, 50))
        seen: list[str] = []
        async with asyncio.timeout(WAIT_S):
            while len(seen) < 50:
                for one in (mine, theirs):
                    deliveries = await one.receive(50, 0.1)
                    seen += [delivery.id for delivery in deliveries]
                    await one.acknowledge(deliveries)
        assert sorted(seen) == sorted(f"id-{number}" for number in range(50))
        assert await mine.receive(1, QUIET_S) == []
        assert await theirs.receive(1, QUIET_S) == []

    async def test_acknowledging_twice_is_no_error(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 2))
        subscription = await subscribed(harness, destination)
        deliveries = await received(subscription, 2)
        await subscription.acknowledge(deliveries)
        await subscription.acknowledge(deliveries)
        await confirmed(harness.broker, [Message(destination, "later", b"{}")])
        (later,) = await received(subscription, 1)
        assert later.id == "later"

    async def test_the_backlog_does_not_hide_what_waits(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        assert await harness.broker.backlog(destination, GROUP) in (0, None)
        await confirmed(harness.broker, numbered(destination, 7))

        async def shown() -> bool:
            return await harness.broker.backlog(destination, GROUP) in (7, None)

        await until(shown)

    async def test_a_destination_that_is_not_there_has_no_backlog(self, harness: BrokerHarness) -> None:
        assert await harness.broker.backlog(harness.destination(), GROUP) in (0, None)


class AnnouncementContract:
    """Hints to listeners."""

    async def test_no_listener_is_left_out(self, harness: BrokerHarness) -> None:
        topic, heard, also = harness.destination(), Heard(), Heard()
        await harness.broker.listen(topic, heard.note)
        await (await harness.another()).listen(topic, also.note)
        await harness.broker.announce(topic, b"stop 7")
        assert await heard.first() == await also.first() == b"stop 7"

    async def test_who_listens_no_more_is_not_told(self, harness: BrokerHarness) -> None:
        topic, heard, still = harness.destination(), Heard(), Heard()
        stop = await harness.broker.listen(topic, heard.note)
        await harness.broker.listen(topic, still.note)
        stop()
        await harness.broker.announce(topic, b"x")
        assert await still.first() == b"x"
        assert heard.bodies == []


class BrokerConformance(PublishContract, ReceiveContract, AnnouncementContract):
    """All that an adapter must do while its server is there."""


class GroupContract:
    """Where each group of consumers gets all messages."""

    async def test_no_group_takes_the_messages_of_another(self, harness: BrokerHarness) -> None:
        destination = await declared(harness)
        mine = await subscribed(harness, destination)
        theirs = await harness.broker.subscribe(destination, OTHER_GROUP, HOLD_MAX)
        await confirmed(harness.broker, numbered(destination, 5))
        for one in (mine, theirs):
            assert len(await received(one, 5)) == 5


class RestartContract:
    """A server that was killed and started again."""

    async def test_nothing_that_was_confirmed_is_lost_by_a_restart(self, harness: RestartableHarness) -> None:
        destination = await declared(harness)
        subscription = await subscribed(harness, destination)
        await confirmed(harness.broker, numbered(destination, 20))
        held = await received(subscription, 5, limit=5)
        await subscription.acknowledge(held)
        await harness.stop()
        await harness.start()
        seen = {one.id for one in held}
        async with asyncio.timeout(WAIT_S + harness.redelivered_within_s):
            while len(seen) < 20:
                deliveries = await patient(lambda: subscription.receive(20, 0.5))
                seen |= {one.id for one in deliveries}
                await patient(partial(subscription.acknowledge, deliveries))
        assert seen == {f"id-{number}" for number in range(20)}

    async def test_no_call_hangs_while_the_server_is_away(self, harness: RestartableHarness) -> None:
        destination = await declared(harness)
        subscription = await subscribed(harness, destination)
        await harness.stop()
        async with asyncio.timeout(WAIT_S):
            await unavailable(harness.broker, destination)
            with pytest.raises(BrokerUnavailable):
                await harness.broker.backlog(destination, GROUP)
            await lost(subscription)
        await harness.start()
        again = await patient(lambda: harness.broker.publish(numbered(destination, 1)))
        assert again == [Confirmed()]

    async def test_an_answer_that_was_not_heard_keeps_no_message_from_coming_again(
        self, harness: RestartableHarness
    ) -> None:
        destination = await declared(harness)
        await confirmed(harness.broker, numbered(destination, 3))
        subscription = await harness.broker.subscribe(destination, GROUP, 3)
        one, two, three = await received(subscription, 3)
        await harness.stop()
        with suppress(BrokerUnavailable):
            await subscription.acknowledge([one])
        with suppress(BrokerUnavailable):
            await subscription.give_back([two])
        with suppress(BrokerUnavailable):
            await subscription.reject([three], "not JSON")
        await harness.start()
        more = [Message(destination, f"new-{number}", b"{}") for number in range(3)]
        assert await patient(lambda: harness.broker.publish(more)) == [Confirmed()] * 3
        wanted = {two.id, three.id, *(message.id for message in more)}
        seen = set[str]()
        async with asyncio.timeout(WAIT_S + harness.redelivered_within_s):
            while not seen >= wanted:
                deliveries = await patient(lambda: subscription.receive(3, 0.5))
                seen |= {delivery.id for delivery in deliveries}
                await patient(partial(subscription.acknowledge, deliveries))

    async def test_who_listens_is_not_forgotten_by_a_restart(self, harness: RestartableHarness) -> None:
        topic, heard = harness.destination(), Heard()
        await harness.broker.listen(topic, heard.note)
        await harness.stop()
        await harness.start()

        async def has_heard() -> bool:
            await patient(lambda: harness.broker.announce(topic, b"again"))
            return bool(heard.bodies)

        await until(has_heard)


class Heard:
    """What a listener was told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self._arrived = asyncio.Event()

    def note(self, body: bytes) -> None:
        self.bodies.append(body)
        self._arrived.set()

    async def first(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            await self._arrived.wait()
        return self.bodies[0]


def numbered(destination: str, count: int) -> list[Message]:
    return [Message(destination, f"id-{number}", b'{"n": %d}' % number) for number in range(count)]


async def declared(harness: BrokerHarness) -> str:
    destination = harness.destination()
    await harness.broker.declare([destination])
    return destination


async def subscribed(harness: BrokerHarness, destination: str) -> Subscription:
    return await harness.broker.subscribe(destination, GROUP, HOLD_MAX)


async def confirmed(broker: Broker, messages: Sequence[Message]) -> None:
    assert await broker.publish(messages) == [Confirmed()] * len(messages)


async def received(
    subscription: Subscription, count: int, wait_s: float = 0.0, limit: int = HOLD_MAX
) -> list[Delivery]:
    """Receive this number of messages, at most `limit` at a time; none is acknowledged."""
    found: list[Delivery] = []
    async with asyncio.timeout(WAIT_S + wait_s):
        while len(found) < count:
            found += await subscription.receive(limit - len(found), 1.0)
    assert len(found) == count
    return found


async def quiet(harness: BrokerHarness, destination: str) -> bool:
    """Whether a new consumer gets nothing."""
    return not await (await subscribed(harness, destination)).receive(1, QUIET_S)


async def unavailable(broker: Broker, destination: str) -> None:
    """Publish until the loss is noticed: what is on its way just then has no answer."""
    while True:
        try:
            answers: Sequence[Publication] = await broker.publish(numbered(destination, 1))
        except BrokerUnavailable:
            return
        assert all(isinstance(one, Unconfirmed) for one in answers)


async def lost(subscription: Subscription) -> None:
    """Receive until the loss is noticed."""
    with suppress(BrokerUnavailable):
        while True:
            await subscription.receive(1, 0.5)


async def patient(call: Callable[[], Awaitable[T]]) -> T:
    """The call's answer, once the server is back."""
    while True:
        try:
            return await call()
        except BrokerUnavailable:
            await asyncio.sleep(LOOK_AGAIN_S)


async def until(call: Callable[[], Awaitable[bool]]) -> None:
    """Return when the call says yes, and fail where it does not for long."""
    async with asyncio.timeout(WAIT_S):
        while not await call():  # noqa: ASYNC110 (a broker has no event for its own backlog)
            await asyncio.sleep(LOOK_AGAIN_S)
