"""See `ports.broker.Subscription`: a share of a durable pull consumer.

Messages are asked for only while a caller waits for them, and only as many as there is room for. Messages for
a caller that has gone are handed to the next one.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import nats.errors
from nats.aio.msg import Msg

from fencepost.brokers.nats.link import API, Link
from fencepost.brokers.nats.session import FAULTS, NoAnswer, Request, Session, status_of
from fencepost.brokers.nats.streams import MESSAGE_ID, NS, Streams
from fencepost.errors import BrokerUnavailable, FencepostError
from fencepost.model.message import Delivery

ACK, NAK, TERM, IN_PROGRESS = b"+ACK", b"-NAK", b"+TERM", b"+WPI"
ANSWER_TIMEOUT_S = 5.0
REASON = "fencepost-reason"
REASON_LENGTH_MAX = 1_000
DEAD = ".dead"
HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""What the driver sends; others may have sent more."""
NOTHING = ("404", "408")
"""No messages now, or none in the time that was asked for."""


class NatsSubscription:
    """Holds each message that it was given until it is answered, and keeps the server informed."""

    def __init__(
        self,
        link: Link,
        streams: Streams,
        destination: str,
        stream: str,
        hold_max: int,
        *,
        on_close: Callable[[NatsSubscription], None],
    ) -> None:
        self._link = link
        self._streams = streams
        self._destination = destination
        self._stream = stream
        self._hold_max = hold_max
        self._on_close = on_close
        self._session: Session | None = None
        self._stop: Callable[[], Any] | None = None
        self._consumer = self._inbox = ""
        self._number = 0
        self._status: dict[str, str] = {}
        """How the server has ended a request for messages."""
        self._ready: deque[Msg] = deque()
        self._held: dict[int, str] = {}
        """The reply subjects of what was received, handed out or not, by the sequence in the stream."""
        self._news = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        await self._attach()
        self._keeper = asyncio.create_task(self._keep())

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while not (count := min(limit, self._room, len(self._ready))):
            left_s = until - loop.time()
            if left_s <= 0:
                return []
            if self._room and not self._ready:
                await self._pull(min(limit, self._room), left_s)
            else:
                await self._next_news(left_s)
        return [_delivery(self._ready.popleft()) for _ in range(count)]

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        await self._answer(deliveries, ACK)

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        await self._answer(deliveries, NAK)

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """First they are kept aside; then the server is told to deliver them no more."""
        try:
            if deliveries:
                await self._keep_aside(deliveries, reason)
        except BaseException:
            self._forget(deliveries)
            raise
        await self._answer(deliveries, TERM)

    async def close(self) -> None:
        self._on_close(self)
        if self._keeper is not None:
            self._keeper.cancel()
            self._keeper = None
            with suppress(FencepostError):
                if self._stop is not None:
                    await self._stop()
                await self._send(list(self._held), NAK)
            self._held.clear()
            self._ready.clear()

    @property
    def _room(self) -> int:
        """How many more the caller may have in hand."""
        return self._hold_max - (len(self._held) - len(self._ready))

    async def _pull(self, limit: int, wait_s: float) -> None:
        """Ask for what is there, and where that is nothing wait for one message."""
        session = await self._attach()
        await self._request(session, {"batch": limit, "no_wait": True}, limit, ANSWER_TIMEOUT_S)
        if not self._ready:
            request = {"batch": 1, "expires": int(wait_s * NS)}
            await self._request(session, request, 1, wait_s + ANSWER_TIMEOUT_S)

    async def _request(self, session: Session, request: object, count: int, timeout_s: float) -> None:
        """Until `count` messages have come, or the server says that there are no more."""
        self._number += 1
        inbox = f"{self._inbox}{self._number}"
        self._status = {}
        subject = f"{API}CONSUMER.MSG.NEXT.{self._stream}.{self._consumer}"
        try:
            async with asyncio.timeout(timeout_s):
                await session.client.publish(subject, msgspec.json.encode(request), reply=inbox)
                while len(self._ready) < count and inbox not in self._status and not session.lost.is_set():
                    await self._next_news()
        except FAULTS as error:
            self._session = None
            raise self._link.unavailable(session) from error
        if session.lost.is_set() and not self._ready:
            raise self._link.unavailable(session)
        status = self._status.get(inbox, NOTHING[0])
        if status not in NOTHING and not self._ready:
            self._session = None
            raise BrokerUnavailable(
                f"broker {self._link.address.shown}: the consumer is not there ({status})"
            )

    async def _next_news(self, wait_s: float | None = None) -> None:
        """Until something has come, room was made or the session was lost."""
        self._news.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._news.wait()

    async def _attach(self) -> Session:
        """The session, with our inbox and the consumer on it."""
        session = await self._link.session()
        if session is not self._session:
            self._consumer = await self._streams.consumer(self._destination, self._stream)
            if self._stop is not None:
                await self._stop()
            self._inbox = f"{session.client.new_inbox()}."
            try:
                self._stop = await session.listen(f"{self._inbox}*", self._arrived)
            except FAULTS as error:
                raise self._link.unavailable(session) from error
            session.on_lost(self._news.set)
            self._session = session
        return session

    def _arrived(self, message: Msg) -> None:
        if message.reply.startswith("$JS.ACK."):
            sequence, _ = _place(message.reply)
            if sequence not in self._held:
                self._ready.append(message)
            self._held[sequence] = message.reply
        elif status := status_of(message):
            self._status[message.subject] = status
        self._news.set()

    async def _answer(self, deliveries: Sequence[Delivery], word: bytes) -> None:
        """Tell the server of those that are still held, and see that it has heard."""
        sequences = [_place(str(one.handle))[0] for one in deliveries]
        try:
            await self._send([one for one in sequences if one in self._held], word)
        finally:
            self._forget(deliveries)

    def _forget(self, deliveries: Sequence[Delivery]) -> None:
        """Of what the server has not heard it must not go on to hear that it is in progress."""
        for one in deliveries:
            self._held.pop(_place(str(one.handle))[0], None)
        self._news.set()

    async def _keep_aside(self, deliveries: Sequence[Delivery], reason: str) -> None:
        dead = self._destination + DEAD
        stream = await self._streams.find(dead) or await self._streams.declare(dead)
        shown = "".join(one if one.isprintable() else " " for one in reason)[:REASON_LENGTH_MAX].strip()
        session = await self._link.session()
        most = session.client.max_payload
        # Within one stream a copy under the same id would be dropped as a repetition.
        mark = DEAD if stream == self._stream else ""
        requests: list[Request] = []
        for one in deliveries:
            headers = _kept(one, mark) | {REASON: shown}
            fits = len(one.body) + _size(headers) <= most
            requests.append((dead, one.body, headers if fits else None))
        for answer in await session.exchange(requests, ANSWER_TIMEOUT_S):
            if isinstance(answer, NoAnswer):
                raise self._link.unavailable(session)
            if not isinstance(answer, bytes) or b'"error":' in answer:
                said = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
                raise self._link.refused(f"the stream {stream} does not take what was rejected: {said}")

    async def _send(self, sequences: Sequence[int], word: bytes) -> None:
        if not sequences:
            return
        session = await self._link.session()
        requests: list[Request] = [(self._held[one], word, None) for one in sequences]
        answers = await session.exchange(requests, ANSWER_TIMEOUT_S)
        if any(isinstance(one, NoAnswer) for one in answers) and not await session.is_alive():
            raise self._link.unavailable(session)

    async def _keep(self) -> None:
        """Say of what is held that the work is in progress, before the server gives it to another."""
        while True:
            await asyncio.sleep(self._link.address.redeliver_after_s / 3)
            with suppress(FencepostError, nats.errors.Error, OSError):
                session = await self._link.session()
                for reply in list(self._held.values()):
                    await session.client.publish(reply, IN_PROGRESS)


def _kept(delivery: Delivery, mark: str) -> dict[str, str]:
    """The headers of a copy: without those that are orders to the server, such as which stream to expect."""
    headers = {
        name: value
        for name, value in delivery.headers.items()
        if HEADER_NAME.fullmatch(name) and not name.lower().startswith("nats-")
    }
    return headers | ({MESSAGE_ID: delivery.id + mark} if delivery.id else {})


def _size(headers: Mapping[str, str]) -> int:
    """An upper bound of the size in bytes."""
    return 16 + sum(len(name.encode()) + len(value.encode()) + 4 for name, value in headers.items())


def _place(reply: str) -> tuple[int, int]:
    """The sequence in the stream and how often it was delivered, out of a reply subject. Servers that know
    domains write two parts more in front."""
    parts = reply.split(".")
    first = 4 if len(parts) == 9 else 6
    return int(parts[first + 1]), int(parts[first])


def _delivery(message: Msg) -> Delivery:
    headers = dict(message.headers or ())
    identity = headers.pop(MESSAGE_ID, "")
    return Delivery(identity, message.data, headers, _place(message.reply)[1], message.reply)
