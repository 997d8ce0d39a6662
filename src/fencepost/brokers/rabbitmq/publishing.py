"""Publishing: a batch goes out in one piece, and its confirms are waited for together."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import cast

from aiormq.abc import ChannelFrame
from aiormq.channel import Channel
from aiormq.connection import Connection

from fencepost.brokers.rabbitmq.commands import bind_queue, create_queue
from fencepost.brokers.rabbitmq.declaring import arguments_of, check_exchange, major_version
from fencepost.brokers.rabbitmq.faults import bounded, brief
from fencepost.brokers.rabbitmq.frames import content_frames, publish_frame
from fencepost.brokers.rabbitmq.link import Link, close_channel
from fencepost.brokers.rabbitmq.tickets import Batch, Ticket
from fencepost.errors import BrokerRefused, BrokerUnavailable
from fencepost.model.message import Confirmed, Message, Publication, Refused, Unconfirmed
from fencepost.model.quoting import quoted

CONFIRM_TIMEOUT_S = 10.0
BLOCKED_TIMEOUT_S = 5.0
CHANNELS_MAX = 8
DESTINATIONS_MAX = 1_000
SIZE_MAX_BEFORE_4, SIZE_MAX_SINCE_4 = 134_217_728, 16_777_216
"""What RabbitMQ takes by default; it does not tell a client."""

_TOO_LARGE = re.compile(r"larger than (?:configured )?max size (\d+)")
_FORBIDDEN = re.compile(r"access to (?:topic '(.*)' in )?exchange '(.*)' in vhost .* refused")
DEFAULT_EXCHANGE = ("", "amq.default")

Numbered = tuple[int, Message]
"""A message, and its place in the batch."""


class Publisher:
    """Publishes on channels of one connection.

    The broker ends the channel on which it forbids a message, with all that is under way there. So what was
    forbidden once is tried again on channels of its own, a destination at a time."""

    def __init__(self, link: Link) -> None:
        self.message_max: int | None = None
        self._link = link
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None
        self._channels: list[Channel] = []
        self._beginnings: dict[tuple[int, str], bytes] = {}
        self._exchanges: set[str] = set()
        self._forbidden: set[str] = set()
        """Destinations to which we might not publish when that was last tried."""

    async def connect(self) -> Connection:
        connection = await self._link.open()
        if connection is not self._connection:
            self._connection = connection
            self._channels, self._exchanges = [], set()
            if self.message_max is None:
                is_new = major_version(connection) >= 4
                self.message_max = SIZE_MAX_SINCE_4 if is_new else SIZE_MAX_BEFORE_4
        return connection

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        groups: dict[str, list[int]] = {"": []}
        for at, message in enumerate(messages):
            apart = message.destination if message.destination in self._forbidden else ""
            groups.setdefault(apart, []).append(at)
        if len(groups) == 1:
            return await self._publish(messages)
        answers = dict[int, Publication]()
        for destination, places in groups.items():
            batch = [messages[at] for at in places]
            try:
                found = await (self._publish_apart(batch) if destination else self._publish(batch))
            except (BrokerUnavailable, BrokerRefused) as fault:
                if not answers:
                    raise
                found = [Unconfirmed(str(fault))] * len(places)
            answers.update(zip(places, found, strict=True))
        return [answers[at] for at in range(len(messages))]

    async def _publish_apart(self, messages: Sequence[Message]) -> Sequence[Publication]:
        apart = Publisher(self._link)
        apart.message_max = self.message_max
        try:
            answers = await apart._publish(messages)
        finally:
            for channel in apart._channels:
                await close_channel(channel)
        if any(isinstance(one, Confirmed) for one in answers):
            self._forbidden.discard(messages[0].destination)
        return answers

    async def _publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        if not messages:
            return []
        connection = await self.connect()
        await self._wait_until_unblocked(connection)
        batch = Batch(len(messages), partial(self._advice, connection))
        good = await self._check(batch, messages)
        channels = list[Channel]()
        try:
            async with bounded(self._link.address, CONFIRM_TIMEOUT_S):
                await self._send_all(connection, batch, good, channels)
                await batch.ended
            reason = self._why_ended(channels, batch, messages)
        except BrokerUnavailable as fault:
            if not batch.is_sent:
                raise
            if not await _is_blocked(connection):
                self._link.drop()
            reason = str(fault)
        return batch.answers(reason)

    async def _send_all(
        self, connection: Connection, batch: Batch, messages: list[Numbered], channels: list[Channel]
    ) -> None:
        """On the first channel all but the messages whose id is under way there, and so on."""
        for number in range(CHANNELS_MAX):
            if not messages:
                return
            channels.append(await self._channel(connection, number))
            batch.watch(channels[-1])
            messages = await self._send(channels[-1], batch, messages)
        for at, _ in messages:
            batch.answer(at, Refused("earlier publications of this id have no answer yet"))

    async def _check(self, batch: Batch, messages: Sequence[Message]) -> list[Numbered]:
        """Those that can be sent. An exchange that is not there would end the channel, with all that is under
        way there."""
        missing = dict[str, str]()
        for destination in {one.destination for one in messages if "/" in one.destination}:
            exchange = destination.partition("/")[0]
            if exchange not in self._exchanges:
                try:
                    await check_exchange(self._link, exchange)
                    self._exchanges.add(exchange)
                except BrokerRefused as refusal:
                    missing[destination] = str(refusal)
        most, good = self.message_max or SIZE_MAX_BEFORE_4, list[Numbered]()
        for at, message in enumerate(messages):
            if len(message.body) > most:
                batch.answer(at, _too_large(message, most))
            elif missing and message.destination in missing:
                batch.answer(at, Refused(missing[message.destination]))
            else:
                good.append((at, message))
        return good

    async def _send(self, channel: Channel, batch: Batch, messages: list[Numbered]) -> list[Numbered]:
        """Send what can be sent on this channel, and return the messages whose id is under way there."""
        ids, later = channel.message_id_delivery_tag, list[Numbered]()
        pieces, tickets = list[bytes](), list[Ticket]()
        number, body_max = channel.number, channel.max_content_size
        for at, message in messages:
            if message.id in ids:
                later.append((at, message))
                continue
            try:
                pieces += (self._beginning(number, message), content_frames(number, message, body_max))
            except ValueError as error:
                batch.answer(at, Refused(str(error), permanent=True))
                continue
            ticket = Ticket(batch, at, message.id, ids)
            ticket.reserve()
            tickets.append(ticket)
        if not tickets:
            return later
        try:
            await channel.write_queue.put(ChannelFrame(b"".join(pieces), should_close=False))
        except BaseException:
            for ticket in tickets:
                ticket.withdraw()
            raise
        # Nothing may be awaited here: the broker counts in the order of the queue.
        confirmations = cast("dict[int, Ticket]", channel.confirmations)
        for ticket in tickets:
            channel.delivery_tag += 1
            confirmations[channel.delivery_tag] = ticket
            ticket.number(channel.delivery_tag)
        batch.is_sent = True
        return later

    def _beginning(self, channel: int, message: Message) -> bytes:
        key = (channel, message.destination)
        found = self._beginnings.get(key)
        if found is None:
            exchange, slash, routing_key = message.destination.partition("/")
            parts = (exchange, routing_key) if slash else ("", message.destination)
            if len(self._beginnings) >= DESTINATIONS_MAX:
                self._beginnings.clear()
            found = self._beginnings[key] = publish_frame(channel, *parts)
        return found

    async def _channel(self, connection: Connection, number: int) -> Channel:
        async with self._opening:
            if number < len(self._channels) and not self._channels[number].is_closed:
                return self._channels[number]
            channel = cast("Channel", await connection.channel())
            if self._connection is connection:
                self._channels[number : number + 1] = [channel]
            return channel

    async def _wait_until_unblocked(self, connection: Connection) -> None:
        if await _is_blocked(connection):
            try:
                async with asyncio.timeout(BLOCKED_TIMEOUT_S):
                    await connection.ready()
            except TimeoutError:
                text = "it takes no messages while its memory or disk is short; see: rabbitmqctl list_alarms"
                raise BrokerUnavailable(f"broker {quoted(self._link.address.shown)}: {text}") from None

    def _advice(self, connection: Connection, exchange: str, key: str) -> str:
        """How a person makes a queue for what none takes."""
        vhost = self._link.address.vhost
        if exchange:
            return bind_queue(vhost, exchange, key)
        return create_queue(vhost, key, arguments_of(connection, key))

    def _why_ended(self, channels: list[Channel], batch: Batch, messages: Sequence[Message]) -> str:
        """Why the messages without an answer have none, and what is to be learnt from that."""
        reason = next((brief(one.closing.exception()) for one in channels if one.is_closed), "")
        if found := _TOO_LARGE.search(reason):
            self.message_max = most = int(found[1])
            for at in batch.unanswered:
                if len(messages[at].body) > most:
                    batch.answer(at, _too_large(messages[at], most))
        if found := _FORBIDDEN.search(reason):
            topic, exchange = found.groups()
            for at in batch.unanswered:
                if _is_at(messages[at].destination, exchange, topic):
                    self._forbidden.add(messages[at].destination)
                    batch.answer(at, Refused(f"{reason}; grant the user what the guide to RabbitMQ lists"))
        if "no exchange" in reason:
            self._exchanges.clear()
        return f"broker {quoted(self._link.address.shown)}: {reason}"


async def _is_blocked(connection: Connection) -> bool:
    try:
        async with asyncio.timeout(0.0):
            await connection.ready()
    except TimeoutError:
        return True
    return False


def _is_at(destination: str, exchange: str, topic: str | None) -> bool:
    """Whether it is published to this exchange, and under this routing key where one is named."""
    name, slash, key = destination.partition("/")
    mine = exchange == name if slash else exchange in DEFAULT_EXCHANGE
    return mine and topic in (None, key if slash else name)


def _too_large(message: Message, most: int) -> Refused:
    return Refused(f"the body has {len(message.body)} bytes, RabbitMQ takes {most}", permanent=True)
