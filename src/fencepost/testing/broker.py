"""A broker in memory: for tests that want to see every message, and for simulated worlds.

It keeps the port's promises, within one process and for as long as that lives. `down` makes it unreachable;
its messages stay.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence

from fencepost.errors import BrokerUnavailable
from fencepost.model.message import Confirmed, Delivery, Message, Publication, Refused
from fencepost.ports.broker import Subscription

MESSAGE_MAX = 1_000_000


class _Waiting:
    """What one group of consumers has not acknowledged of one destination."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.ready = deque((one, 0) for one in messages)
        self.arrived = asyncio.Condition()

    async def put(self, entries: Iterable[tuple[Message, int]]) -> None:
        self.ready.extend(entries)
        async with self.arrived:
            self.arrived.notify_all()


class MemoryBroker:
    """Each destination is declared before it is used; each group gets all messages from then on."""

    name = "memory"
    caveats: Sequence[str] = ("messages are kept in this process only",)
    message_max = MESSAGE_MAX

    def __init__(self) -> None:
        self.down = False
        self.published: list[Message] = []
        """Everything that was confirmed, in order."""
        self.rejected: list[tuple[Message, str]] = []
        self._groups: dict[str, dict[str, _Waiting]] = {}
        self._early: defaultdict[str, list[Message]] = defaultdict(list)
        """Messages that came before a destination had its first group."""
        self._listeners: defaultdict[str, list[Callable[[bytes], None]]] = defaultdict(list)

    async def connect(self) -> None:
        self._check()

    async def declare(self, destinations: Sequence[str]) -> None:
        self._check()
        for one in destinations:
            self._groups.setdefault(one, {})

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        self._check()
        return {one: f"declare([{one!r}])" for one in destinations if one not in self._groups}

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        self._check()
        return [await self._publish(one) for one in messages]

    async def subscribe(self, destination: str, group: str, hold_max: int) -> Subscription:
        self._check()
        waiting = self.waiting(destination, group)
        return MemorySubscription(self, waiting, hold_max)

    async def backlog(self, destination: str, group: str) -> int | None:
        self._check()
        groups = self._groups.get(destination, {})
        return len(groups[group].ready) if group in groups else len(self._early[destination])

    async def announce(self, topic: str, body: bytes) -> None:
        self._check()
        for one in list(self._listeners[topic]):
            asyncio.get_running_loop().call_soon(one, body)

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        self._listeners[topic].append(callback)

        def stop() -> None:
            if callback in self._listeners[topic]:
                self._listeners[topic].remove(callback)

        return stop

    async def close(self) -> None:
        """Everything stays: other users of this object go on."""

    def delete(self, destination: str) -> None:
        """Delete a destination, as an operator may, with all messages that wait there."""
        del self._groups[destination]

    def waiting(self, destination: str, group: str) -> _Waiting:
        """What waits for a group; a new group gets what no group has taken."""
        groups = self._groups.setdefault(destination, {})
        if group not in groups:
            groups[group] = _Waiting(self._early.pop(destination, []))
        return groups[group]

    async def _publish(self, message: Message) -> Publication:
        groups = self._groups.get(message.destination)
        if groups is None:
            where = message.destination
            return Refused(f"destination {where} is not there; create it: declare([{where!r}])")
        if len(message.body) > MESSAGE_MAX:
            size = len(message.body)
            return Refused(f"the body has {size} bytes, the broker takes {MESSAGE_MAX}", permanent=True)
        self.published.append(message)
        if not groups:
            self._early[message.destination].append(message)
        for one in groups.values():
            await one.put([(message, 0)])
        return Confirmed()

    def _check(self) -> None:
        if self.down:
            raise BrokerUnavailable("broker memory: is down")


class MemorySubscription:
    """See `ports.broker.Subscription`."""

    def __init__(self, broker: MemoryBroker, waiting: _Waiting, hold_max: int) -> None:
        self._broker = broker
        self._waiting = waiting
        self._hold_max = hold_max
        self._held: dict[int, tuple[Message, int]] = {}
        self._number = 0

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        self._check()
        async with self._waiting.arrived:
            try:
                async with asyncio.timeout(wait_s):
                    await self._waiting.arrived.wait_for(lambda: self._waiting.ready and self._room > 0)
            except TimeoutError:
                return []
            self._check()
            most = min(limit, self._room, len(self._waiting.ready))
            return [self._take() for _ in range(most)]

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        await self._answered(deliveries)

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        await self._waiting.put(await self._answered(deliveries))

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        self._broker.rejected += [(message, reason) for message, _ in await self._answered(deliveries)]

    async def close(self) -> None:
        held, self._held = list(self._held.values()), {}
        await self._waiting.put(held)

    @property
    def _room(self) -> int:
        return self._hold_max - len(self._held)

    def _take(self) -> Delivery:
        message, before = self._waiting.ready.popleft()
        self._number += 1
        self._held[self._number] = message, before + 1
        return Delivery(message.id, message.body, message.headers, before + 1, self._number)

    async def _answered(self, deliveries: Sequence[Delivery]) -> list[tuple[Message, int]]:
        """Those that were still held; there is room for others. The broker delivers an unanswered message
        again."""
        numbers = [one.handle for one in deliveries if isinstance(one.handle, int)]
        found = [self._held.pop(one) for one in numbers if one in self._held]
        await self._waiting.put(found if self._broker.down else [])
        self._check()
        return found

    def _check(self) -> None:
        if self._broker.down:
            raise BrokerUnavailable("broker memory: is down")
