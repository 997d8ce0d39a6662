"""Receiving from one queue, on a channel of its own."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from aiormq.abc import AbstractChannel, ArgumentsType, DeliveredMessage
from aiormq.exceptions import ChannelNotFoundEntity

from fencepost.brokers.rabbitmq.commands import create_queue
from fencepost.brokers.rabbitmq.declaring import arguments_of, dead_letters_of
from fencepost.brokers.rabbitmq.faults import bounded
from fencepost.brokers.rabbitmq.link import Link, close_channel
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.dataclasses import dataclass
from fencepost.model.message import Confirmed, Delivery, Message, Publication, Refused, Unconfirmed
from fencepost.model.quoting import quoted

PREFETCH_MAX = 65_535
HELD_FOR_LONG: ArgumentsType = {"x-consumer-timeout": 2**31 - 1}
"""In milliseconds. Without it RabbitMQ takes back what is held for half an hour, although its consumer lives.
Heartbeats tell whether it does. Servers before 3.11.15 do not know the argument."""
REASON_HEADER = "fencepost-reject-reason"
REASON_LENGTH_MAX = 1_000
COUNT_HEADER = "x-delivery-count"

Publish = Callable[[Sequence[Message]], Awaitable[Sequence[Publication]]]
Send = Callable[[AbstractChannel, int, bool], Awaitable[None]]
"""Sends an answer to the delivery of that number, or to all up to that number."""


@dataclass(frozen=True, slots=True)
class _Handle:
    channel: AbstractChannel
    tag: int


class RabbitSubscription:
    """See `ports.broker.Subscription`. The broker sends as many messages ahead as may be held."""

    def __init__(self, link: Link, queue: str, hold_max: int, publish: Publish) -> None:
        self._link = link
        self._queue = queue
        self._prefetch = min(hold_max, PREFETCH_MAX)
        self._publish = publish
        self._channel: AbstractChannel | None = None
        self._waiting = deque[DeliveredMessage]()
        self._held = set[int]()
        """The numbers of what was received and not answered."""
        self._arrived = asyncio.Event()
        self._is_cancelled = False
        """The broker has ended the consumer, for example because the queue was deleted."""
        self._is_closed = False

    async def open(self) -> AbstractChannel:
        """See that messages come. What an earlier channel brought is the broker's again."""
        if self._channel is not None and not self._channel.is_closed and not self._is_cancelled:
            return self._channel
        if self._is_closed:
            raise BrokerUnavailable(f"the subscription to {self._queue} was closed")
        await self._abandon()
        connection = await self._link.open()
        async with bounded(self._link.address):
            channel = await connection.channel(publisher_confirms=False)
            try:
                await channel.basic_qos(prefetch_count=self._prefetch)
                channel.closing.add_done_callback(lambda _: self._arrived.set())
                channel.on_consumer_cancel_callbacks.add(self._end)
                self._channel = channel
                take_in = partial(self._take_in, channel)
                await channel.basic_consume(self._queue, take_in, arguments=HELD_FOR_LONG)
            except ChannelNotFoundEntity:
                address = self._link.address
                how = create_queue(address.vhost, self._queue, arguments_of(connection, self._queue))
                text = f"there is no queue {self._queue}; create it: {how}"
                raise BrokerRefused(f"broker {quoted(address.shown)}: {text}") from None
            except BaseException:
                await self._abandon()
                await close_channel(channel)
                raise
        return channel

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        end = asyncio.get_running_loop().time() + wait_s
        while True:
            channel = await self.open()
            if self._waiting:
                return [self._hand_out(channel) for _ in range(min(limit, len(self._waiting)))]
            self._arrived.clear()
            try:
                async with asyncio.timeout_at(end):
                    await self._arrived.wait()
            except TimeoutError:
                return []

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """RabbitMQ does not answer an acknowledgement. It takes what comes on a channel in order, so its
        answer to a question after them tells that it has them."""
        await self._settle(deliveries, _acknowledge, is_heard=True)

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        await self._settle(deliveries, _give_back)

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """Copies with the reason go to the queue for rejected messages. Where there is none the broker does
        with the messages what the arguments of their queue say."""
        mine = [one for one in deliveries if self._holds(one)]
        dead, extra = dead_letters_of(self._queue), {REASON_HEADER: reason[:REASON_LENGTH_MAX]}
        letters = [Message(dead, one.id, one.body, {**one.headers, **extra}) for one in mine]
        try:
            answers = await self._publish(letters)
        except BaseException:
            await self._settle(mine, _give_back)
            raise
        for kind, send in _FATES:
            fits = [one for one, answer in zip(mine, answers, strict=True) if isinstance(answer, kind)]
            await self._settle(fits, send)
        for answer in answers:
            if isinstance(answer, Unconfirmed):
                raise BrokerUnavailable(answer.reason)

    async def close(self) -> None:
        self._is_closed = True
        await self._abandon()
        self._arrived.set()

    async def _abandon(self) -> None:
        channel, self._channel = self._channel, None
        self._waiting.clear()
        self._held.clear()
        self._is_cancelled = False
        if channel is not None:
            await close_channel(channel)

    async def _take_in(self, channel: AbstractChannel, message: DeliveredMessage) -> None:
        if channel is self._channel:
            self._waiting.append(message)
            self._arrived.set()

    def _end(self, _: object) -> None:
        self._is_cancelled = True
        self._arrived.set()

    def _hand_out(self, channel: AbstractChannel) -> Delivery:
        message = self._waiting.popleft()
        properties, tag = message.header.properties, message.delivery_tag or 0
        headers: Mapping[str, object] = properties.headers or {}
        self._held.add(tag)
        return Delivery(
            id=properties.message_id or "",
            body=message.body,
            headers={name: _text(value) for name, value in headers.items() if _is_shown(name, value)},
            delivered=1 + _earlier(headers, bool(message.redelivered)),
            handle=_Handle(channel, tag),
        )

    def _holds(self, delivery: Delivery) -> bool:
        handle = delivery.handle
        return isinstance(handle, _Handle) and handle.channel is self._channel and handle.tag in self._held

    async def _settle(self, deliveries: Sequence[Delivery], send: Send, is_heard: bool = False) -> None:
        """Answer those that are still held, all of them by one number where that is possible. What the broker
        did not hear is its own again; with `is_heard` that is raised."""
        tags = {one.handle.tag for one in deliveries if isinstance(one.handle, _Handle) and self._holds(one)}
        channel = self._channel
        if channel is None or not tags:
            return
        is_all = tags == self._held
        try:
            async with bounded(self._link.address):
                for tag in [max(tags)] if is_all else sorted(tags):
                    await send(channel, tag, is_all)
                    self._held -= tags if is_all else {tag}
                if is_heard:
                    await channel.basic_qos(prefetch_count=self._prefetch)
        except BrokerUnavailable:
            if is_heard:
                if channel is self._channel:
                    await self._abandon()
                raise


async def _acknowledge(channel: AbstractChannel, tag: int, is_all: bool) -> None:
    await channel.basic_ack(tag, multiple=is_all, wait=False)


async def _give_back(channel: AbstractChannel, tag: int, is_all: bool) -> None:
    await channel.basic_nack(tag, multiple=is_all, requeue=True, wait=False)


async def _reject(channel: AbstractChannel, tag: int, is_all: bool) -> None:
    await channel.basic_nack(tag, multiple=is_all, requeue=False, wait=False)


_FATES: Sequence[tuple[type[Publication], Send]] = (
    (Confirmed, _acknowledge),
    (Refused, _reject),
    (Unconfirmed, _give_back),
)
"""What becomes of a message that is rejected, by the answer to its copy."""


def _earlier(headers: Mapping[str, object], is_redelivered: bool) -> int:
    """How often it was delivered before. A classic queue only says that it was."""
    count = headers.get(COUNT_HEADER)
    return count if isinstance(count, int) else int(is_redelivered)


def _is_shown(name: str, value: object) -> bool:
    """Whether it is a header of the publisher's, with one value."""
    return name != COUNT_HEADER and value is not None and not isinstance(value, (dict, list))


def _text(value: object) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, (bytes, bytearray)) else str(value)
