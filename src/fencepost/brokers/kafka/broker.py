"""The port of message brokers, over one Kafka cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from aiokafka import TopicPartition, errors

from fencepost.brokers.kafka.address import KafkaAddress, read_address
from fencepost.brokers.kafka.announcements import SUBJECT, Announcements
from fencepost.brokers.kafka.connection import Connection
from fencepost.brokers.kafka.faults import RIGHTS, brief, silence
from fencepost.brokers.kafka.offsets import finished_beyond
from fencepost.brokers.kafka.records import headers_of, key_of
from fencepost.brokers.kafka.subscription import KafkaSubscription
from fencepost.brokers.kafka.topics import ANNOUNCEMENTS, Topics, topic_of
from fencepost.errors import BrokerRefused
from fencepost.model.message import Confirmed, Message, Publication, Refused, Unconfirmed
from fencepost.ports.broker import Subscription

PUBLISH_TIMEOUT_S = 6.0
TOO_LARGE = errors.MessageSizeTooLargeError


async def open_broker(url: str) -> KafkaBroker:
    """A client of the cluster at the URL. It connects when it is first used."""
    silence()
    return KafkaBroker(read_address(url))


class KafkaBroker:
    """See `ports.broker.Broker`."""

    name = "kafka"
    caveats: Sequence[str] = (
        "only messages with one order key are kept in order",
        "after a rebalance the messages that were held of a partition that moved come again",
        "the backlog counts the messages that consumers hold",
    )

    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._connection = Connection(address)
        self._topics = Topics(self._connection)
        self._announcements = Announcements(self._connection, self._topics)
        self._subscriptions: list[KafkaSubscription] = []

    @property
    def message_max(self) -> int | None:
        return self._address.body_max

    async def connect(self) -> None:
        await self._connection.open()

    async def declare(self, destinations: Sequence[str]) -> None:
        await self._topics.declare(destinations)

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        topics = [topic_of(one) for one in destinations]
        for topic in topics:
            self._topics.forget(topic)
        absent = await self._topics.missing(topics)
        return {one: self._topics.advice(one) for one in topics if one in absent}

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        missing = await self._topics.missing(
            {one.destination for one in messages if "/" not in one.destination}
        )
        producer = await self._connection.producer()
        answers = [self._refusal(one, missing) for one in messages]
        sent: dict[int, asyncio.Future[Any]] = {}
        try:
            async with asyncio.timeout(PUBLISH_TIMEOUT_S):
                for number, message in enumerate(messages):
                    if answers[number] is None:
                        answers[number] = await self._send(producer, message, number, sent)
                if sent:
                    await asyncio.wait(sent.values())
        except TimeoutError:
            self._connection.doubt()
        for number, future in sent.items():
            answers[number] = await self._answer(messages[number], future)
        if not all(_is_well(one) for one in sent.values()) or any(one is None for one in answers):
            self._connection.replace(producer)
        return [one or Unconfirmed("it was not sent in time") for one in answers]

    async def subscribe(self, destination: str, group: str, hold_max: int) -> Subscription:
        topic = topic_of(destination)
        await self._connection.open()
        if await self._topics.missing([topic]):
            raise BrokerRefused(self._not_there(topic))
        found = KafkaSubscription(self._connection, self.publish, topic, group, hold_max)
        await found.open()
        self._subscriptions.append(found)
        return found

    async def backlog(self, destination: str, group: str) -> int | None:
        topic = topic_of(destination)
        self._topics.forget(topic)
        if await self._topics.missing([topic]):
            return 0
        places = [TopicPartition(topic, one) for one in await self._topics.partitions(topic)]
        committed = await self._connection.committed(group, places)
        ends = await self._connection.inspect(lambda consumer: consumer.end_offsets(places))
        first = await self._connection.inspect(lambda consumer: consumer.beginning_offsets(places))
        waiting = 0
        for place in places:
            offset, note = committed[place]
            begin = max(offset, first[place])
            waiting += max(0, ends[place] - begin - finished_beyond(offset, note))
        return waiting

    async def announce(self, topic: str, body: bytes) -> None:
        await self._topics.declare_announcements()
        (answer,) = await self.publish([Message(ANNOUNCEMENTS, uuid4().hex, body, {SUBJECT: topic})])
        if isinstance(answer, Refused):
            raise BrokerRefused(f"announcement: {answer.reason}")

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        return await self._announcements.listen(topic, callback)

    async def close(self) -> None:
        await self._announcements.close()
        await asyncio.gather(*(one.close() for one in self._subscriptions))
        self._subscriptions.clear()
        await self._connection.close()

    def _refusal(self, message: Message, missing: set[str]) -> Publication | None:
        """What is known without sending it."""
        if "/" in message.destination:
            return Refused(f"destination {message.destination}: the name of a topic has no /", permanent=True)
        if message.destination in missing:
            return Refused(self._not_there(message.destination))
        size, most = len(message.body), self._address.body_max
        if size > most:
            reason = f"the body has {size} bytes, at most {most} are sent; raise max_request_size in the URL"
            return Refused(reason, permanent=True)
        return None

    async def _send(
        self, producer: Any, message: Message, number: int, sent: dict[int, asyncio.Future[Any]]
    ) -> Publication | None:
        """Hand it to the producer, whose answer comes later."""
        headers = headers_of(message)
        try:
            sent[number] = await producer.send(
                message.destination, message.body, key_of(message), headers=headers
            )
        except TOO_LARGE as error:
            return Refused(f"{brief(error)}; raise max_request_size in the URL", permanent=True)
        except errors.KafkaError as error:
            return Unconfirmed(brief(error))
        # If the caller is cancelled, no other code reads the result.
        sent[number].add_done_callback(lambda done: done.cancelled() or done.exception())
        return None

    async def _answer(self, message: Message, future: asyncio.Future[Any]) -> Publication:
        if not future.done():
            return Unconfirmed("no confirm came in time")
        match future.exception():
            case None:
                return Confirmed()
            case errors.MessageSizeTooLargeError() | errors.InvalidMessageError():
                return await self._too_large(message)
            case errors.TopicAuthorizationFailedError():
                return Refused(f"topic {message.destination}: not allowed to write; {RIGHTS}")
            case error:
                self._topics.forget(message.destination)
                return Unconfirmed(brief(error))

    async def _too_large(self, message: Message) -> Refused:
        """The server has refused what was sent together; alone, a smaller one would be taken."""
        limit = await self._topics.setting(message.destination, "max.message.bytes")
        reason = f"topic {message.destination} takes {limit or 'fewer'} bytes (max.message.bytes)"
        fits = limit is not None and len(message.body) < int(limit) // 2
        return Refused(f"{reason}, the body has {len(message.body)}", permanent=not fits)

    def _not_there(self, topic: str) -> str:
        return f"topic {topic} is not there, or not to be seen; create it: {self._topics.advice(topic)}"


def _is_well(future: asyncio.Future[Any]) -> bool:
    return future.done() and future.exception() is None
