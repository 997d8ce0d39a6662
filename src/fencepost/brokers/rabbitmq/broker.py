"""The broker as the port wants it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from weakref import WeakSet

from aiormq.exceptions import ChannelNotFoundEntity

from fencepost.brokers.quiet import silence_driver
from fencepost.brokers.rabbitmq.address import RabbitAddress, read_address
from fencepost.brokers.rabbitmq.announcements import Announcements
from fencepost.brokers.rabbitmq.declaring import declare, missing
from fencepost.brokers.rabbitmq.link import Link
from fencepost.brokers.rabbitmq.publishing import Publisher
from fencepost.brokers.rabbitmq.subscription import RabbitSubscription
from fencepost.errors import BrokerRefused
from fencepost.model.message import Message, Publication
from fencepost.model.quoting import quoted

CAVEATS = (
    "RabbitMQ drops no copies: a message that is published again arrives again, under the same message id.",
    "A queue that exists already is used as it is: a classic one keeps messages on one node only.",
)


async def open_broker(url: str) -> RabbitBroker:
    """The broker at this URL. It connects when it is first used."""
    silence_driver("aiormq")
    return RabbitBroker(read_address(url))


class RabbitBroker:
    """See `ports.broker.Broker`."""

    name = "rabbitmq"
    caveats: Sequence[str] = CAVEATS

    def __init__(self, address: RabbitAddress) -> None:
        self._address = address
        self._sending, self._receiving = Link(address), Link(address)
        self._publisher = Publisher(self._sending)
        self._announcements = Announcements(self._sending, self._receiving)
        self._subscriptions = WeakSet[RabbitSubscription]()

    @property
    def message_max(self) -> int | None:
        return self._publisher.message_max

    async def connect(self) -> None:
        await self._publisher.connect()

    async def declare(self, destinations: Sequence[str]) -> None:
        for one in destinations:
            await declare(self._receiving, one)

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        return await missing(self._receiving, destinations)

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        return await self._publisher.publish(messages)

    async def subscribe(self, destination: str, group: str, hold_max: int) -> RabbitSubscription:
        """All consumers of a queue share its messages, whatever their group."""
        if "/" in destination:
            text = f"{destination} is an exchange; bind a queue to it, and subscribe to the queue"
            raise BrokerRefused(f"broker {quoted(self._address.shown)}: {text}")
        subscription = RabbitSubscription(self._receiving, destination, hold_max, self.publish)
        await subscription.open()
        self._subscriptions.add(subscription)
        return subscription

    async def backlog(self, destination: str, group: str) -> int | None:
        """What waits in the queue; None for an exchange, which keeps nothing."""
        if "/" in destination:
            return None
        async with self._receiving.channel() as channel:
            try:
                return (await channel.queue_declare(destination, passive=True)).message_count
            except ChannelNotFoundEntity:
                return 0

    async def announce(self, topic: str, body: bytes) -> None:
        await self._announcements.announce(topic, body)

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        return await self._announcements.listen(topic, callback)

    async def close(self) -> None:
        await self._announcements.close()
        for one in tuple(self._subscriptions):
            await one.close()
        await self._sending.close()
        await self._receiving.close()
