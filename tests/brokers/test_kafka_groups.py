"""Consumer groups of Kafka: members come and go while messages are held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

import pytest
from aiokafka import AIOKafkaProducer

from fencepost.model.message import Delivery, Message
from fencepost.ports.broker import Subscription
from fencepost.testing.conformance.brokers import GROUP, confirmed, declared, numbered, patient, received
from tests.brokers.kafka_harness import KafkaHarness
from tests.servers.kafka import KafkaAddress

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

BOUND_S = 30.0
QUIET_S = 0.5


@pytest.fixture
async def harness(kafka_server: KafkaAddress) -> AsyncIterator[KafkaHarness]:
    async with AsyncExitStack() as stack:
        yield await KafkaHarness.opened(kafka_server.url, stack)


def spread(destination: str, count: int) -> list[Message]:
    """Messages in all partitions."""
    return [Message(destination, f"id-{one}", b"{}", order_key=f"key-{one % 12}") for one in range(count)]


def ids(deliveries: Sequence[Delivery]) -> set[str]:
    return {one.id for one in deliveries}


async def in_turn(mine: Subscription, theirs: Subscription, wanted: int) -> tuple[list[str], list[str]]:
    """What each gets, and acknowledges, until all that is wanted was seen."""
    got: tuple[list[str], list[str]] = [], []
    async with asyncio.timeout(BOUND_S):
        while len({*got[0], *got[1]}) < wanted:
            for one, seen in zip((mine, theirs), got, strict=True):
                deliveries = await one.receive(100, 0.1)
                seen += [delivery.id for delivery in deliveries]
                await one.acknowledge(deliveries)
    return got


async def test_a_member_that_joins_while_messages_are_held_loses_and_repeats_none_that_are_done(
    harness: KafkaHarness,
) -> None:
    destination = await declared(harness)
    await confirmed(harness.broker, spread(destination, 60))
    mine = await harness.broker.subscribe(destination, GROUP, 100)
    held = await received(mine, 60)
    done, open_ = held[::2], held[1::2]
    await mine.acknowledge(done)
    theirs = await (await harness.another()).subscribe(destination, GROUP, 100)
    moved: list[Delivery] = []
    async with asyncio.timeout(BOUND_S):
        while not moved:
            moved += await theirs.receive(100, 0.2)
            assert await mine.receive(100, 0.1) == []
    moved += await theirs.receive(100, QUIET_S)
    assert ids(moved) < ids(open_), "done, or held by a member that kept its partition"
    assert len(moved) == len(ids(moved))
    await mine.acknowledge(held)
    await theirs.acknowledge(moved)
    await confirmed(
        harness.broker, [Message(destination, f"new-{n}", b"", {}, f"key-{n}") for n in range(12)]
    )
    first, second = await in_turn(mine, theirs, 12)
    assert sorted(first + second) == sorted(f"new-{n}" for n in range(12))
    assert first
    assert second


async def test_a_late_acknowledgement_of_a_lost_partition_does_not_finish_it_for_its_owner(
    harness: KafkaHarness,
) -> None:
    destination = await declared(harness)
    await confirmed(harness.broker, spread(destination, 24))
    mine = await harness.broker.subscribe(destination, GROUP, 100)
    held = await received(mine, 24)
    theirs = await (await harness.another()).subscribe(destination, GROUP, 100)
    async with asyncio.timeout(BOUND_S):
        while not (moved := await theirs.receive(100, 0.2)):
            assert await mine.receive(100, 0.1) == []
    moved = [*moved, *await theirs.receive(100, QUIET_S)]
    await mine.acknowledge(held)
    await theirs.close()
    again = await received(mine, len(moved), BOUND_S)
    assert ids(again) == ids(moved)


async def test_what_is_acknowledged_out_of_order_does_not_come_again(harness: KafkaHarness) -> None:
    destination = await declared(harness)
    await confirmed(
        harness.broker, [Message(destination, f"id-{n}", b"", order_key="one") for n in range(10)]
    )
    subscription = await harness.broker.subscribe(destination, GROUP, 100)
    deliveries = await received(subscription, 10)
    assert [one.id for one in deliveries] == [f"id-{n}" for n in range(10)]
    await subscription.acknowledge([deliveries[n] for n in (7, 0, 3, 4)])
    assert await harness.broker.backlog(destination, GROUP) == 6
    await subscription.close()
    again = await received(await harness.broker.subscribe(destination, GROUP, 100), 6)
    assert [one.id for one in again] == [f"id-{n}" for n in (1, 2, 5, 6, 8, 9)]


async def test_what_was_done_before_it_was_read_again_does_not_come_again(harness: KafkaHarness) -> None:
    destination = await declared(harness)
    await confirmed(harness.broker, [Message(destination, f"id-{n}", b"", order_key="one") for n in range(4)])
    first = await harness.broker.subscribe(destination, GROUP, 100)
    deliveries = await received(first, 4)
    await first.acknowledge(deliveries[1:])
    await first.close()
    second = await harness.broker.subscribe(destination, GROUP, 100)
    (left,) = await received(second, 1, limit=1)
    assert left.id == "id-0"
    await second.acknowledge([left])
    assert await second.receive(100, QUIET_S) == []
    assert await harness.broker.backlog(destination, GROUP) == 0


async def test_what_is_held_for_longer_than_a_session_does_not_go_to_another(
    harness: KafkaHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session of the group has to pass."""
    monkeypatch.setattr("fencepost.brokers.kafka.subscription.SESSION_TIMEOUT_S", 6.0)
    destination = await declared(harness)
    await confirmed(harness.broker, numbered(destination, 3))
    mine = await harness.broker.subscribe(destination, GROUP, 3)
    held = await received(mine, 3)
    await asyncio.sleep(8.0)
    await mine.acknowledge(held)
    assert await patient(lambda: harness.broker.backlog(destination, GROUP)) == 0


async def test_a_rejected_message_is_kept_with_its_reason(harness: KafkaHarness) -> None:
    destination = await declared(harness)
    await confirmed(harness.broker, [Message(destination, "id", b"{", {"a": "b"}, "key")])
    subscription = await harness.broker.subscribe(destination, GROUP, 1)
    await subscription.reject(await received(subscription, 1), "not JSON")
    (kept,) = await received(await harness.broker.subscribe(f"{destination}.dead", GROUP, 1), 1)
    assert (kept.id, kept.body) == ("id", b"{")
    assert dict(kept.headers) == {"a": "b", "fencepost-reject-reason": "not JSON"}


async def test_a_message_that_is_too_large_for_a_copy_can_be_rejected(
    harness: KafkaHarness, kafka_server: KafkaAddress
) -> None:
    destination = await declared(harness)
    others = AIOKafkaProducer(bootstrap_servers=kafka_server.url.removeprefix("kafka://"))
    await others.start()
    place = await others.send_and_wait(destination, b"x" * 1_040_000)
    await others.stop()
    subscription = await harness.broker.subscribe(destination, GROUP, 1)
    await subscription.reject(await received(subscription, 1), "not JSON")
    (kept,) = await received(await harness.broker.subscribe(f"{destination}.dead", GROUP, 1), 1)
    at = f"{destination}/{place.partition}/{place.offset}"
    assert (kept.id, kept.body) == (at, b"")
    why = f"not JSON; too large to be copied, it is at {at}"
    assert dict(kept.headers) == {"fencepost-reject-reason": why}
    assert await harness.broker.backlog(destination, GROUP) == 0


async def test_a_message_that_was_given_back_is_counted(harness: KafkaHarness) -> None:
    destination = await declared(harness)
    await confirmed(harness.broker, numbered(destination, 1))
    subscription = await harness.broker.subscribe(destination, GROUP, 1)
    for delivered in (1, 2, 3):
        (one,) = await received(subscription, 1)
        assert one.delivered == delivered
        await subscription.give_back([one])
