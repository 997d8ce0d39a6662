"""See `ports.broker.Broker`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec
import nats.errors

from fencepost.brokers.nats.address import NatsAddress, read_address
from fencepost.brokers.nats.link import HEADERS_MAX, ApiAnswer, Link
from fencepost.brokers.nats.session import Answer, Forbidden, NoAnswer, NoResponders, Request, Session
from fencepost.brokers.nats.streams import MESSAGE_ID, Streams, command, is_subject
from fencepost.brokers.nats.subscription import NatsSubscription
from fencepost.model.message import Confirmed, Message, Publication, Refused, Unconfirmed
from fencepost.ports.broker import Subscription

IN_FLIGHT_MAX = 1_000
"""How many publications of one call wait for their answers together."""
PUBLISH_TIMEOUT_S = 10.0
TOO_LARGE = 10054
"""The stream's own limit."""
ANNOUNCEMENTS = "fencepost.announcements."
CAVEATS = (
    (
        "NATS confirms a message before it has called fsync: a power failure may lose messages of the last "
        "two minutes, unless the server is set to sync_interval: always or the stream has replicas"
    ),
    (
        "NATS drops a message that is published again under its id only within the stream's duplicate "
        "window, two minutes by default"
    ),
    "all groups of consumers share the messages of a destination: its stream is a work queue",
)


class _PubAck(ApiAnswer):
    """The answer to a publication."""

    stream: str = ""


_read_ack = msgspec.json.Decoder(_PubAck).decode


async def open_broker(url: str) -> NatsBroker:
    """The broker at the URL; it connects when it is first used."""
    return NatsBroker(read_address(url))


class NatsBroker:
    """JetStream of one server or cluster."""

    name = "nats"
    caveats: Sequence[str] = CAVEATS

    def __init__(self, address: NatsAddress) -> None:
        self._link = Link(address)
        self._streams = Streams(self._link)
        self._subscriptions: set[NatsSubscription] = set()

    @property
    def message_max(self) -> int | None:
        return self._link.message_max

    async def connect(self) -> None:
        await self._link.session()

    async def declare(self, destinations: Sequence[str]) -> None:
        for one in destinations:
            await self._streams.declare(one)

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        return {one: command(one) for one in destinations if await self._streams.find(one, anew=True) is None}

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        session = await self._link.session()
        answers: list[Publication] = []
        for start in range(0, len(messages), IN_FLIGHT_MAX):
            answers += await self._publish(session, messages[start : start + IN_FLIGHT_MAX])
        return answers

    async def subscribe(self, destination: str, group: str, hold_max: int) -> Subscription:
        stream = await self._streams.find(destination)
        if stream is None:
            stream = await self._streams.declare(destination)
        subscription = NatsSubscription(
            self._link, self._streams, destination, stream, hold_max, on_close=self._subscriptions.discard
        )
        await subscription.open()
        self._subscriptions.add(subscription)
        return subscription

    async def backlog(self, destination: str, group: str) -> int | None:
        return await self._streams.backlog(destination)

    async def announce(self, topic: str, body: bytes) -> None:
        session = await self._link.session()
        try:
            await session.client.publish(ANNOUNCEMENTS + topic, body)
        except (nats.errors.Error, OSError) as error:
            raise self._link.unavailable(session) from error

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        return await self._link.listen(ANNOUNCEMENTS + topic, callback)

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in list(self._subscriptions)))
        await self._link.close()

    async def _publish(self, session: Session, messages: Sequence[Message]) -> list[Publication]:
        answers: list[Publication] = [_CONFIRMED] * len(messages)
        sent: list[int] = []
        requests: list[Request] = []
        for place, message in enumerate(messages):
            complaint = self._complaint(message)
            if complaint is None:
                headers = {**message.headers, MESSAGE_ID: message.id}
                requests.append((message.destination, message.body, headers))
                sent.append(place)
            else:
                answers[place] = Refused(complaint, permanent=True)
        if requests:
            found = await session.exchange(requests, PUBLISH_TIMEOUT_S)
            for place, answer in zip(sent, found, strict=True):
                answers[place] = self._judged(session, messages[place], answer)
        return answers

    def _complaint(self, message: Message) -> str | None:
        """Why the message cannot be sent at all."""
        most = self._link.message_max
        assert most is not None
        if len(message.body) > most:
            return f"the body has {len(message.body)} bytes, the broker takes {most}"
        if not is_subject(message.destination):
            return f"destination {message.destination} is no subject of NATS: a part between dots is empty"
        size = len(message.id)
        for name, value in (*message.headers.items(), (MESSAGE_ID, message.id)):
            size += len(name) + 4 * len(value)
            if not value.isprintable() or value != value.strip():
                return (
                    f"header {name}: NATS takes no control characters, and no spaces at the ends; remove them"
                )
        return None if size <= HEADERS_MAX else f"the headers have more than {HEADERS_MAX // 4} characters"

    def _judged(self, session: Session, message: Message, answer: Answer) -> Publication:
        match answer:
            case bytes():
                return _read(message, answer)
            case NoResponders():
                how = command(message.destination)
                return Refused(f"no stream of NATS takes {message.destination}; create one: {how}")
            case Forbidden():
                return Refused(f"destination {message.destination}: {answer}", permanent=True)
            case NoAnswer():
                return Unconfirmed(str(self._link.unavailable(session)))


_CONFIRMED = Confirmed()


def _read(message: Message, data: bytes) -> Publication:
    try:
        ack = _read_ack(data)
    except msgspec.DecodeError:
        return Unconfirmed(f"destination {message.destination}: the answer is not JetStream's")
    if ack.error is not None:
        reason = f"destination {message.destination}: {ack.error.description}"
        return Refused(reason, permanent=ack.error.err_code == TOO_LARGE)
    if not ack.stream:
        return Unconfirmed(f"destination {message.destination}: the answer is not JetStream's")
    return _CONFIRMED
