"""Brokers: how a run reaches a processor, and how a message becomes a run.

The ledger is the truth and a broker is transport. A message that is lost, repeated, reordered or late changes
nothing but latency. So an adapter promises little, and must keep it:

- **Confirmed means durable.** `Confirmed` is answered only after the broker has said that it keeps the
  message and that there is a destination for it: a message that reached no queue, stream or topic is
- **Confirmed means durable.** `Confirmed` is answered only after the broker has said that it keeps the
  message and that there is a destination for it. A message that reached no queue, stream or topic is
  `Refused`, with the broker's own reason and the command that creates what is missing.
- **A message that is not acknowledged comes again**, to this subscription or to another one of the same
  group, also after a crash of the consumer or a restart of the broker. An acknowledged message does not come
  again, except through faults of the broker. Where the broker knows groups, two subscriptions of one group
  share the messages, and two groups each get all of them.
- **An acknowledgement that was not heard is none.** Where `acknowledge`, `give_back` or `reject` raises, the
  subscription holds these messages no longer, and does not keep the broker from delivering them again.
- **Poison does not block.** The broker does not deliver a `reject`ed message again, and keeps it aside where
  it can, for people to look at.

**Names.** A message is published to a destination. By default that is the name of a durable queue (RabbitMQ),
subject with a stream (NATS), topic (Kafka) or stream (Redis). The guide of each broker lists the other forms
that it takes.

**Announcements** are hints to those who listen at this moment: not durable, not confirmed, possibly lost,
late or repeated. Nothing is decided by an announcement that did not come.

**Waits.** Each call returns: an adapter bounds every wait, and raises `BrokerUnavailable` where the broker
cannot be reached. It connects when it is first used, connects again by itself after a loss, and tries at most
once a second. A call may be cancelled at any moment; nothing of it may reach the next caller. An adapter is
used from one event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fencepost.model.message import Delivery, Message, Publication


class Subscription(Protocol):
    """Messages of one destination, for one group of consumers."""

    async def receive(self, limit: int, wait_s: float) -> Sequence[Delivery]:
        """At least one message and at most `limit`, as soon as there are any; none after `wait_s`.

        The caller never has more messages received and not yet answered than the subscription was opened
        for."""
        ...

    async def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        """These are done. A message whose delivery the broker has given up by now may come again; that is no
        error."""
        ...

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Deliver these again, to any consumer of the group; soon, and not necessarily in their old order."""
        ...

    async def reject(self, deliveries: Sequence[Delivery], reason: str) -> None:
        """Deliver these no more. A broker that can keeps them aside, with the reason."""
        ...

    async def close(self) -> None:
        """Take no more. Messages that were received and not answered are delivered again."""
        ...


class Broker(Protocol):
    """One broker, at one URL."""

    @property
    def name(self) -> str:
        """The kind of broker, in one word for people and metrics: "rabbitmq"."""
        ...

    @property
    def caveats(self) -> Sequence[str]:
        """What this broker, as it is set up, cannot promise, in sentences for people."""
        ...

    @property
    def message_max(self) -> int | None:
        """How many bytes a body may have; None where that is not known. Known after `connect`."""
        ...

    async def connect(self) -> None:
        """Connect, unless it is connected. Raises `BrokerUnavailable`; wrong credentials and other errors
        that waiting does not end are `BrokerRefused`."""
        ...

    async def declare(self, destinations: Sequence[str]) -> None:
        """Check that each destination is there; create those that are missing, where that is allowed. Raises
        `BrokerRefused`, with the command that creates it, where one is missing or does not fit.
        """
        ...

    async def missing(self, destinations: Sequence[str]) -> Mapping[str, str]:
        """The destinations that are not there, each with the command that creates it. This call creates
        none."""
        ...

    async def publish(self, messages: Sequence[Message]) -> Sequence[Publication]:
        """Publish all, confirms in flight together, and answer for each. Raises `BrokerUnavailable` only
        where nothing at all was sent. A body larger than `message_max` is `Refused` for good without being
        sent."""
        ...

    async def subscribe(self, destination: str, group: str, hold_max: int) -> Subscription:
        """Begin to receive; the subscriber holds at most `hold_max` messages at a time. The destination is
        declared."""
        ...

    async def backlog(self, destination: str, group: str) -> int | None:
        """How many messages wait there that no consumer of the group has been given; None where the broker
        does not say. A destination that does not exist yet has 0."""
        ...

    async def announce(self, topic: str, body: bytes) -> None:
        """Send a hint to all who listen to the topic at this moment."""
        ...

    async def listen(self, topic: str, callback: Callable[[bytes], None]) -> Callable[[], None]:
        """Call back on this loop with each announcement, until the returned function is called. After a lost
        connection the adapter listens again by itself."""
        ...

    async def close(self) -> None:
        """Give back what was opened. Closing twice is fine."""
        ...
