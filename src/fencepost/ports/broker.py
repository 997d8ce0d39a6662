"""Brokers: how a run reaches a processor, and how a message becomes a run.

The ledger is the truth and a broker is transport. A message that is lost, repeated, reordered or late changes
nothing but latency. So an adapter promises little, and must keep it:

- **Confirmed means durable.** `Confirmed` is answered only after the broker has said that it keeps the
  message and that there is a destination for it: a message that reached no queue, stream or topic is
  `Refused` with the broker's own reason, and with the command that creates what is missing.
- **Answers do not lie.** Where no answer came the publication is `Unconfirmed`, never `Refused`. An adapter
  does not publish a second time by itself.
- **A message that is not acknowledged comes again**, to this subscription or to another one of the same
  group, also after a crash of the consumer or a restart of the broker. One that is acknowledged does not come
  again, but for faults of the broker. Two subscriptions of one group share the messages, two groups each get
  all of them, where the broker knows groups.
- **An answer that was not heard is none.** Where `acknowledge`, `give_back` or `reject` raises, the
  subscription holds these messages no longer, and does not keep the broker from delivering them again.
- **Poison does not block.** What is `reject`ed is not delivered again, and is kept aside where the broker can
  keep it, for people to look at.

**Names.** A destination is where a message is published to. By default it is the name of a durable queue
(RabbitMQ), subject with a stream (NATS), topic (Kafka) or stream (Redis). An adapter says in its own guide
what other forms it takes.

**Announcements** are hints to whoever listens at this moment: not durable, not confirmed, possibly lost,
late or repeated. Nothing is decided by one that did not come.

**Waits.** Each call comes back: an adapter bounds every wait, and raises `BrokerUnavailable` where the broker
cannot be reached. It connects when it is first used, connects again by itself after a loss, and does not try
so more often than once a second. A call may be cancelled at any moment; nothing of it may reach the next
caller. An adapter is used from one event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fencepost.model.message import Delivery, Message, Publication


class Subscription(Protocol):
    """Messages of one destination, for one group of consumers."""

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        """At least one message and at most `limit`, as soon as there are any; none after `wait_s`.

        At most as many are in the caller's hands, received and not yet answered, as the subscription was
        opened for."""
        ...

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """These are done. One whose delivery the broker has given up by now may come again; that is no
        error."""
        ...

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Deliver these again, to whoever is next; soon, and not necessarily in their old order."""
        ...

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """Deliver these no more. A broker that can keeps them aside, with the reason."""
        ...

    async def close(self) -> None:
        """Take no more. What was received and not answered is delivered again."""
        ...


class Broker(Protocol):
    """One broker, at one URL."""

    @property
    def name(self) -> str:
        """What kind it is, in one word for people and metrics: "rabbitmq"."""
        ...

    @property
    def caveats(self) -> Sequence[str]:
        """What this broker cannot promise as it is used, in sentences for people."""
        ...

    @property
    def message_max(self) -> int | None:
        """How many bytes a body may have; None where that is not known. Known after `connect`."""
        ...

    async def connect(self) -> None:
        """Connect where that has not been done. Raises `BrokerUnavailable`; wrong credentials and the like
        are `BrokerRefused`, because waiting does not mend them."""
        ...

    async def declare(self, destinations: Sequence[str]) -> None:
        """See that each destination is there: create what is missing, where that is allowed. Raises
        `BrokerRefused` with the command that creates it where it is not, or where what is there does not fit.
        """
        ...

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        """Those that are not there, each with the command that creates it. Nothing is created by looking."""
        ...

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        """Publish all, confirms in flight together, and answer for each. Raises `BrokerUnavailable` only
        where nothing at all was sent. A body larger than `message_max` is `Refused` for good without being
        sent."""
        ...

    async def subscribe(self, destination: str, group: str, hold_max: int) -> Subscription:
        """Begin to receive; at most `hold_max` messages at a time in the subscriber's hands. The destination
        is declared."""
        ...

    async def backlog(self, destination: str, group: str) -> int | None:
        """How many messages wait there that no consumer of the group has been given; None where the broker
        does not say. A destination that nobody has made yet has 0."""
        ...

    async def announce(self, topic: str, body: bytes) -> None:
        """Tell everybody who listens to the topic at this moment; a hint."""
        ...

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        """Call back on this loop with each announcement, until the returned function is called. After a lost
        connection the adapter listens again by itself."""
        ...

    async def close(self) -> None:
        """Give back what was opened. Closing twice is fine."""
        ...
