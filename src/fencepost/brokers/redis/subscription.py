"""See `ports.broker.Subscription`: one consumer of the group of a stream."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Any

import redis

from fencepost.brokers.redis import streams
from fencepost.brokers.redis.pool import CALL_TIMEOUT_S, Command, Pool
from fencepost.brokers.redis.streams import GROUP
from fencepost.errors import BrokerUnavailable, FencepostError
from fencepost.model.message import Delivery, Message

RETURNED = "returned"
"""The consumer that has what was given back, until another claims it."""
AGED_MS = 2_000_000_000
DEAD = ".dead"
REASON = "fencepost-reason"
REASON_LENGTH_MAX = 1_000
CLAIM_EVERY_S = 0.5
PENDING_MAX = 10_000
FORGET = """
if #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2]) == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
"""
"""A consumer that is deleted takes what it has with it, so it must have nothing."""


class RedisSubscription:
    """Holds each message that it was given until it is answered, and keeps it from being claimed."""

    def __init__(
        self, pool: Pool, destination: str, hold_max: int, *, on_close: Callable[[RedisSubscription], None]
    ) -> None:
        self._pool = pool
        self._key = destination
        self._hold_max = hold_max
        self._on_close = on_close
        self._me = token_hex(8)
        self._idle_ms = int(pool.address.redeliver_after_s * 1000)
        self._ready: deque[Delivery] = deque()
        self._held: set[bytes] = set()
        """Handed out or ready, by the id of the entry."""
        self._in_doubt = False
        """Whether a read was cut off, and may have been given something."""
        self._cursor: bytes = b"0-0"
        self._room_made = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = asyncio.create_task(self._keep())

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while not (count := min(limit, self._room, len(self._ready))):
            left_s = min(until - loop.time(), CLAIM_EVERY_S)
            if left_s <= 0:
                return []
            if self._room and not self._ready:
                await self._fetch(min(limit, self._room), left_s)
            else:
                self._room_made.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(left_s):
                        await self._room_made.wait()
        return [self._ready.popleft() for _ in range(count)]

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        await self._answer(deliveries, [])

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        try:
            await self._return([entry for one in deliveries if (entry := _entry(one)) in self._held])
        finally:
            self._forget(deliveries)

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """They go to a stream of their own. Where that is full the oldest go: poison must not fill the
        server."""
        shown = " ".join(reason.split())[:REASON_LENGTH_MAX]
        letters: list[Command] = []
        bound = "MAXLEN", self._pool.address.length_max
        for one in deliveries:
            if _entry(one) in self._held:
                message = Message(self._key + DEAD, one.id, one.body, {**one.headers, REASON: shown})
                letters.append(("XADD", self._key + DEAD, *bound, "*", *fields(message)))
        await self._answer(deliveries, letters)

    async def close(self) -> None:
        self._on_close(self)
        if self._keeper is not None:
            self._keeper.cancel()
            self._keeper = None
            with suppress(FencepostError):
                await self._return([entry for entry, _ in await self._pending()])
                await self._pool.call("EVAL", FORGET, 1, self._key, GROUP, self._me)
            self._held.clear()
            self._ready.clear()

    @property
    def _room(self) -> int:
        """How many more the caller may have in hand."""
        return self._hold_max - (len(self._held) - len(self._ready))

    async def _fetch(self, limit: int, wait_s: float) -> None:
        """What others have left, and what is new; where that is nothing, wait."""
        doubtful, self._in_doubt = self._in_doubt, True
        read = ("XREADGROUP", "GROUP", GROUP, self._me, "COUNT")
        if doubtful:
            (found,) = await self._ask([(*read, PENDING_MAX, "STREAMS", self._key, "0")])
            await self._keep_again(_entries(found))
        if not self._ready:
            claim = ("XAUTOCLAIM", self._key, GROUP, self._me, self._idle_ms, self._cursor, "COUNT", limit)
            (claimed,) = await self._ask([claim])
            self._cursor = claimed[0]
            await self._keep_again(claimed[1])
        if not self._ready:
            block_ms = max(int(wait_s * 1000), 1)
            new = (*read, limit, "BLOCK", block_ms, "STREAMS", self._key, ">")
            (found,) = await self._ask([new], CALL_TIMEOUT_S + wait_s)
            self._take([(entry, values, 1) for entry, values in _entries(found)])
        self._in_doubt = False

    async def _ask(self, commands: Sequence[Command], timeout_s: float = CALL_TIMEOUT_S) -> list[Any]:
        answers = await self._pool.calls(commands, timeout_s)
        for one in answers:
            if isinstance(one, redis.ResponseError) and "NOGROUP" in str(one):
                await streams.declare(self._pool, [self._key])
                raise BrokerUnavailable(f"broker {self._pool.address.shown}: {self._key} was not there")
            self._pool.checked(one)
        return answers

    async def _keep_again(self, entries: Sequence[Any]) -> None:
        """Take entries that have been delivered before, with how often that was."""
        there = [one for one in entries if one and one[1]]
        new = [(entry, values) for entry, values in there if entry not in self._held]
        if new:
            asked = [("XPENDING", self._key, GROUP, entry, entry, 1) for entry, _ in new]
            counts = await self._ask(asked)
            self._take(
                [
                    (entry, values, int(count[0][3]))
                    for (entry, values), count in zip(new, counts, strict=True)
                    if count
                ]
            )

    def _take(self, entries: Sequence[tuple[bytes, list[bytes], int]]) -> None:
        for entry, values, delivered in entries:
            if entry not in self._held:
                self._held.add(entry)
                self._ready.append(_delivery(entry, values, delivered))

    async def _answer(self, deliveries: Sequence[Delivery], letters: Sequence[Command]) -> None:
        entries = [entry for one in deliveries if (entry := _entry(one)) in self._held]
        try:
            if entries:
                await self._finish(entries, letters)
        finally:
            self._forget(deliveries)

    async def _finish(self, entries: Sequence[bytes], letters: Sequence[Command]) -> None:
        """In one transaction: keep letters aside, and be done with the messages."""
        done: list[Command] = [("XACK", self._key, GROUP, *entries), ("XDEL", self._key, *entries)]
        answers = await self._pool.calls([("MULTI",), *letters, *done, ("EXEC",)])
        for one in answers:
            self._pool.checked(one)
        for one in answers[-1]:
            self._pool.checked(one)

    async def _return(self, entries: Sequence[bytes]) -> None:
        if entries:
            claim: Command = ("XCLAIM", self._key, GROUP, RETURNED, 0, *entries, "IDLE", AGED_MS, "JUSTID")
            await self._pool.call(*claim)

    def _forget(self, deliveries: Sequence[Delivery]) -> None:
        """Keep these no longer. What the server has not heard is claimed again when it has been idle."""
        self._held.difference_update(_entry(one) for one in deliveries)
        self._room_made.set()

    async def _pending(self) -> list[tuple[bytes, int]]:
        """What the server says that this consumer has, and how often it was delivered."""
        found = await self._pool.call("XPENDING", self._key, GROUP, "-", "+", PENDING_MAX, self._me)
        return [(entry, int(count)) for entry, _, _, count in found]

    async def _keep(self) -> None:
        """Claim what is held again, so that it does not look left. What another has claimed is theirs."""
        while True:
            await asyncio.sleep(self._pool.address.redeliver_after_s / 3)
            with suppress(FencepostError):
                mine = [entry for entry, _ in await self._pending() if entry in self._held]
                if mine:
                    await self._pool.call("XCLAIM", self._key, GROUP, self._me, 0, *mine, "JUSTID")


def fields(message: Message) -> tuple[str | bytes, ...]:
    """A message as the fields of an entry."""
    flat: list[str | bytes] = ["id", message.id, "body", message.body]
    for pair in message.headers.items():
        flat += pair
    return tuple(flat)


def _entries(found: Any) -> list[Any]:
    """The entries of the one stream that was read."""
    return found[0][1] if found else []


def _entry(delivery: Delivery) -> bytes:
    assert isinstance(delivery.handle, bytes)
    return delivery.handle


def _delivery(entry: bytes, values: Sequence[bytes], delivered: int) -> Delivery:
    """The first `id` and `body` are ours; another publisher may have left them out."""
    identity, body = entry, b""
    headers: dict[str, str] = {}
    missing = {b"id", b"body"}
    for name, value in zip(values[::2], values[1::2], strict=True):
        if name not in missing:
            headers[name.decode(errors="replace")] = value.decode(errors="replace")
        elif name == b"id":
            identity = value
        else:
            body = value
        missing.discard(name)
    return Delivery(identity.decode(errors="replace"), body, headers, delivered, entry)
