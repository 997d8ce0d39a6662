"""A message broker at the end of the lines: it loses, repeats, delays and reorders as far as a broker may.

What it has confirmed it keeps. What it has not confirmed it may have or not; a confirm may get lost; the
network repeats publications as it does all requests. A message that was given to somebody comes again when it
is not acknowledged in time, and after a restart at once. No message has a fixed place.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.core.messages import PREFIX, read_reply
from fencepost.errors import BrokerUnavailable, StoreUnavailable
from fencepost.model.message import Confirmed, Delivery, Message, Publication, Unconfirmed
from fencepost.ports.broker import Subscription
from tests.simulation.loop import LIFE
from tests.simulation.network import Line, Network, Server
from tests.simulation.recording import Recorder

LOST_SHARE = 0.02
"""Of what is published: it is not there, and not confirmed."""
UNCONFIRMED_SHARE = 0.02
"""Of what is published: it is there, and not confirmed."""
REPEATED_SHARE = 0.02
LATE_SHARE = 0.03
HINT_LOST_SHARE = 0.2
LOOK_AGAIN_S = 2.0

BROKER_MISHAPS = (
    "message lost",
    "confirm lost",
    "message repeated",
    "message late",
    "message given again",
)


@dataclass(eq=False)
class Entry:
    """A message as it waits, from when on it can be had, and how often it has been given."""

    message: Message
    ready_at: float
    delivered: int = 0


class SimulatedBroker:
    """What is common to all who are connected."""

    def __init__(
        self,
        network: Network,
        server: Server,
        recorder: Recorder,
        dice: random.Random,
        given_again_after_s: float,
        late_s: float,
        key_of: Callable[[Message], str],
    ) -> None:
        self.network = network
        self.server = server
        self._recorder = recorder
        self._dice = dice
        self._given_again_after_s = given_again_after_s
        self._late_s = late_s
        self._key_of = key_of
        self.storm = 1.0
        """By how much mishaps are more frequent."""
        self._waiting: defaultdict[str, list[Entry]] = defaultdict(list)
        self._given: defaultdict[str, dict[int, tuple[Entry, float]]] = defaultdict(dict)
        self._number = 0
        self._listeners: defaultdict[str, list[Callable[[bytes], None]]] = defaultdict(list)

    def restart(self) -> None:
        """Whatever was given and not acknowledged is given again."""
        self.server.restart()
        for destination, given in self._given.items():
            self._waiting[destination] += [entry for entry, _ in given.values()]
            given.clear()

    def waits(self, destination: str) -> int:
        return len(self._waiting[destination]) + len(self._given[destination])

    async def publish(self, messages: Sequence[Message]) -> list[Publication]:
        return [self._publish(one) for one in messages]

    async def receive(self, destination: str, limit: int) -> list[Delivery]:
        now = self.network.loop.time()
        self._take_back(destination, now)
        waiting = self._waiting[destination]
        ready = [one for one in waiting if one.ready_at <= now]
        if self._dice.random() < 0.3:
            self._dice.shuffle(ready)
        return [self._give(destination, one, now) for one in ready[:limit]]

    async def acknowledge(self, destination: str, numbers: Sequence[int]) -> None:
        for one in numbers:
            self._given[destination].pop(one, None)

    async def give_back(self, destination: str, numbers: Sequence[int]) -> None:
        for one in numbers:
            found = self._given[destination].pop(one, None)
            if found is not None:
                self._waiting[destination].append(found[0])

    async def backlog(self, destination: str) -> int:
        return len(self._waiting[destination])

    async def connect(self) -> None:
        return None

    async def announce(self, topic: str, body: bytes) -> None:
        for one in self._listeners[topic]:
            if self._dice.random() >= HINT_LOST_SHARE:
                self.network.later(self.network.latency_s(), one, body)

    def listen(self, topic: str, callback: Callable[[bytes], None]) -> None:
        self._listeners[topic].append(callback)

    def _publish(self, message: Message) -> Publication:
        if self._happens("message lost", LOST_SHARE):
            return Unconfirmed("the connection broke")
        self._keep(message)
        if self._happens("message repeated", REPEATED_SHARE):
            self._keep(message)
        if self._happens("confirm lost", UNCONFIRMED_SHARE):
            return Unconfirmed("the connection broke")
        return Confirmed()

    def _keep(self, message: Message) -> None:
        self._tell(message)
        late = self._happens("message late", LATE_SHARE)
        delay_s = self._dice.random() * self._late_s if late else 0.0
        self._waiting[message.destination].append(Entry(message, self.network.loop.time() + delay_s))

    def _tell(self, message: Message) -> None:
        key = message.headers.get(f"{PREFIX}run-key")
        if key is not None:
            self._recorder.saw_published(key, message.id)
        elif message.destination.startswith("fencepost.replies."):
            reply = read_reply(message.body)
            self._recorder.saw_reply(reply.run_key, reply.attempt, reply.fence, str(reply.outcome))
        else:
            self._recorder.saw_arrival(message.id, self._key_of(message))

    def _take_back(self, destination: str, now: float) -> None:
        given = self._given[destination]
        for number in [one for one, (_, until) in given.items() if until <= now]:
            self.network.counted["message given again"] += 1
            self._waiting[destination].append(given.pop(number)[0])

    def _give(self, destination: str, entry: Entry, now: float) -> Delivery:
        self._waiting[destination].remove(entry)
        self._number += 1
        entry.delivered += 1
        self._given[destination][self._number] = entry, now + self._given_again_after_s
        message = entry.message
        return Delivery(message.id, message.body, message.headers, entry.delivered, self._number)

    def _happens(self, name: str, share: float) -> bool:
        if self._dice.random() >= share * self.storm:
            return False
        self.network.counted[name] += 1
        return True


class FarBroker:
    """The broker as one process sees it: the port, over a line."""

    name = "simulated"
    caveats: Sequence[str] = ()
    message_max = None
    has_groups = False

    def __init__(self, broker: SimulatedBroker, line: Line) -> None:
        self.broker = broker
        self._line = line

    async def connect(self) -> None:
        await self.call("connect", self.broker.connect)

    async def declare(self, destinations: Sequence[str]) -> None:
        await self.call("connect", self.broker.connect)

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        try:
            found: Sequence[Publication] = await self.call("publish", lambda: self.broker.publish(messages))
        except BrokerUnavailable as error:
            if "refused" in str(error):
                raise
            return [Unconfirmed(str(error))] * len(messages)
        return found

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        return {}

    async def subscribe(self, destination: str, group: str, hold_max: int) -> Subscription:
        await self.call("connect", self.broker.connect)
        return FarSubscription(self, destination)

    async def backlog(self, destination: str, group: str) -> int | None:
        found: int = await self.call("backlog", lambda: self.broker.backlog(destination))
        return found

    async def announce(self, topic: str, body: bytes) -> None:
        await self.call("announce", lambda: self.broker.announce(topic, body))

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        life, heard = LIFE.get(), True

        def tell(body: bytes) -> None:
            if heard and life is not None and not life.frozen:
                callback(body)

        def stop() -> None:
            nonlocal heard
            heard = False

        self.broker.listen(topic, tell)
        return stop

    async def close(self) -> None:
        return None

    async def call(self, name: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        try:
            return await self._line.call(name, work)
        except StoreUnavailable as error:
            raise BrokerUnavailable(f"broker simulated: {error}") from None


class FarSubscription:
    """See `ports.broker.Subscription`. What nobody answers the broker gives again by itself."""

    def __init__(self, far: FarBroker, destination: str) -> None:
        self._far = far
        self._destination = destination

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        broker, loop = self._far.broker, self._far.broker.network.loop
        until = loop.time() + wait_s
        while True:
            found = await self._far.call("receive", lambda: broker.receive(self._destination, limit))
            assert isinstance(found, list)
            if found or loop.time() >= until:
                return found
            await asyncio.sleep(min(LOOK_AGAIN_S, max(until - loop.time(), 0.01)))

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        await self._answer("acknowledge", deliveries)

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        await self._answer("give_back", deliveries)

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        await self._answer("acknowledge", deliveries)

    async def close(self) -> None:
        return None

    async def _answer(self, name: str, deliveries: Sequence[Delivery]) -> None:
        numbers = [one.handle for one in deliveries]
        if numbers:
            answer = getattr(self._far.broker, name)
            await self._far.call(name, lambda: answer(self._destination, numbers))
