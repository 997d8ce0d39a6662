"""See `ports.broker.Broker`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import redis

from fencepost.brokers.redis import streams
from fencepost.brokers.redis.address import RedisAddress, read_address
from fencepost.brokers.redis.listener import Listener
from fencepost.brokers.redis.pool import Command, NoAnswer, Pool, brief
from fencepost.brokers.redis.streams import GROUP
from fencepost.brokers.redis.subscription import RETURNED, RedisSubscription, fields
from fencepost.errors import BrokerUnavailable
from fencepost.model.message import Confirmed, Message, Publication, Refused, Unconfirmed
from fencepost.ports.broker import Subscription

IN_FLIGHT_MAX = 1_000
"""How many publications go in one pipeline."""
PUBLISH_TIMEOUT_S = 10.0
WAIT_TIMEOUT_MS = 5_000
MESSAGE_MAX = 16 * 1024 * 1024
"""Redis itself takes 512 MB, and stands still for all others while it does."""
ANNOUNCEMENTS = "fencepost.announcements."

NOT_NOW = (
    redis.exceptions.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
    redis.exceptions.MasterDownError,
)
NOT_NOW_CODES = ("MISCONF", "NOREPLICAS")
"""Refusals that say nothing of the message: the server takes no writes until it has recovered."""

_CONFIRMED = Confirmed()


async def open_broker(url: str) -> RedisBroker:
    """The broker at the URL; it connects when it is first used."""
    return RedisBroker(read_address(url))


class RedisBroker:
    """Streams of one server."""

    name = "redis"
    message_max: int | None = MESSAGE_MAX

    def __init__(self, address: RedisAddress) -> None:
        self._address = address
        self._pool = Pool(address)
        self._listener = Listener(self._pool)
        self._lengths: dict[str, int] = {}
        """How long each stream was when we last published to it."""
        self._subscriptions: set[RedisSubscription] = set()

    @property
    def caveats(self) -> Sequence[str]:
        return list(_caveats(self._pool, self._address))

    async def connect(self) -> None:
        async with self._pool.connection():
            pass

    async def declare(self, destinations: Sequence[str]) -> None:
        await streams.declare(self._pool, destinations)

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        return await streams.missing(self._pool, destinations)

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        await self.connect()
        answers: list[Publication] = []
        for start in range(0, len(messages), IN_FLIGHT_MAX):
            try:
                answers += await self._publish(messages[start : start + IN_FLIGHT_MAX])
            except BrokerUnavailable as fault:
                if not start:
                    raise
                answers += [Unconfirmed(str(fault))] * (len(messages) - len(answers))
                break
        return answers

    async def subscribe(self, destination: str, group: str, hold_max: int) -> Subscription:
        await self.declare([destination])
        subscription = RedisSubscription(
            self._pool, destination, hold_max, on_close=self._subscriptions.discard
        )
        self._subscriptions.add(subscription)
        return subscription

    async def backlog(self, destination: str, group: str) -> int | None:
        """What is done is deleted, so a stream holds what waits and what is held."""
        length, pending = await self._pool.calls(
            [("XLEN", destination), ("XPENDING", destination, GROUP)], PUBLISH_TIMEOUT_S
        )
        self._pool.checked(length)
        if isinstance(pending, redis.ResponseError) and "NOGROUP" in str(pending):
            return int(length)
        count, _, _, consumers = self._pool.checked(pending)
        returned = sum(int(held) for name, held in consumers or () if name == RETURNED.encode())
        return max(int(length) - int(count) + returned, 0)

    async def announce(self, topic: str, body: bytes) -> None:
        await self._pool.call("PUBLISH", ANNOUNCEMENTS + topic, body)

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        return await self._listener.listen((ANNOUNCEMENTS + topic).encode(), callback)

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in list(self._subscriptions)))
        await self._listener.close()
        await self._pool.close()

    async def _publish(self, messages: Sequence[Message]) -> list[Publication]:
        answers: list[Publication] = [_CONFIRMED] * len(messages)
        room = await self._room({one.destination for one in messages})
        places: list[int] = []
        commands: list[Command] = []
        for place, message in enumerate(messages):
            size, destination = len(message.body), message.destination
            if size > MESSAGE_MAX:
                reason = f"the body has {size} bytes, the broker takes {MESSAGE_MAX}"
                answers[place] = Refused(reason, permanent=True)
            elif room[destination] <= 0:
                most = self._address.length_max
                answers[place] = Refused(f"destination {destination} is full: it holds {most} messages")
            else:
                room[destination] -= 1
                places.append(place)
                commands.append(("XADD", destination, "NOMKSTREAM", "*", *fields(message)))
        if commands:
            found = await self._send(commands, sorted({messages[place].destination for place in places}))
            await self._see_whether_it_takes_writes(found)
            for place, answer in zip(places, found, strict=True):
                answers[place] = self._judged(messages[place].destination, answer)
        return answers

    async def _see_whether_it_takes_writes(self, answers: Sequence[Any]) -> None:
        """A server that has become a replica, or is short of memory, counts as away for publishers."""
        refusal = next(filter(_takes_no_writes, answers), None)
        if refusal is None:
            return
        await self._pool.forget()
        if not any(isinstance(one, bytes) for one in answers):
            raise BrokerUnavailable(f"broker {self._address.shown} takes no messages now: {brief(refusal)}")

    async def _send(self, commands: Sequence[Command], destinations: Sequence[str]) -> list[Any]:
        """The answers to the publications; what replicas have not taken in time has none."""
        replicas, count = self._address.replicas, len(commands)
        lengths = [("XLEN", one) for one in destinations]
        waits = [("WAIT", replicas, WAIT_TIMEOUT_MS)] if replicas else []
        answers = await self._pool.calls([*commands, *lengths, *waits], PUBLISH_TIMEOUT_S)
        for one, length in zip(destinations, answers[count:], strict=False):
            self._lengths[one] = length if isinstance(length, int) else 0
        if not replicas or (isinstance(answers[-1], int) and answers[-1] >= replicas):
            return answers[:count]
        reason = (
            f"{answers[-1]} of {replicas} replicas have it" if isinstance(answers[-1], int) else "no WAIT"
        )
        return [NoAnswer(reason) if isinstance(one, bytes) else one for one in answers[:count]]

    def _judged(self, destination: str, answer: Any) -> Publication:
        match answer:
            case bytes():
                return _CONFIRMED
            case None:
                how = streams.command(self._address, destination)
                return Refused(
                    f"destination {destination} is not there: no stream has that key; create it: {how}"
                )
            case NoAnswer():
                return Unconfirmed(f"Redis did not answer: {answer}")
        if _takes_no_writes(answer):
            return Unconfirmed(f"Redis takes no messages now: {brief(answer)}")
        text = brief(answer)
        is_forbidden = isinstance(answer, redis.exceptions.NoPermissionError)
        return Refused(
            f"destination {destination}: {text}", permanent=is_forbidden or "wrong kind of value" in text
        )

    async def _room(self, destinations: set[str]) -> dict[str, int]:
        """How many more messages each stream takes. One that was full is looked at again."""
        most = self._address.length_max
        full = sorted(one for one in destinations if self._lengths.get(one, 0) >= most)
        if full:
            for one, length in zip(
                full, await self._pool.calls([("XLEN", one) for one in full]), strict=True
            ):
                self._lengths[one] = self._pool.checked(length)
        return {one: most - self._lengths.get(one, 0) for one in destinations}


def _takes_no_writes(answer: Any) -> bool:
    return isinstance(answer, NOT_NOW) or str(answer).startswith(NOT_NOW_CODES)


def _caveats(pool: Pool, address: RedisAddress) -> Iterator[str]:
    yield "all groups of consumers share the messages of a destination: what is acknowledged is deleted"
    yield "a message that is published again is kept twice: consumers tell copies by the message id"
    if not address.replicas:
        yield "a failover of Redis may lose confirmed messages; add replicas=1 to the URL to wait for one"
    about = pool.about
    if about.get("aof_enabled") == "0":
        yield "a restart of Redis loses messages: set appendonly yes and appendfsync always"
    elif about and pool.flushes != "always":
        shown = pool.flushes or "unknown"
        yield f"a power failure may lose confirmed messages: appendfsync is {shown}, set it to always"
    policy = about.get("maxmemory_policy", "noeviction")
    if about.get("maxmemory", "0") != "0" and policy.startswith("allkeys"):
        yield f"a full server may drop whole streams: maxmemory-policy is {policy}, set it to noeviction"
