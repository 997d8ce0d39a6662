"""The broker RabbitMQ, 3.10 or newer. Needs the extra `rabbitmq`.

**Who is authoritative.** RabbitMQ, by its confirms. A message is `Confirmed` when the broker has acknowledged
it and has not returned it before. Every message is `mandatory`: one that no queue takes is returned with the
broker's reason, and that is `Refused`. A quorum queue confirms after a majority of its members has the
message on disk.

**Two connections.** One publishes, one receives, declares and listens. RabbitMQ stops reading from a
connection that publishes while memory or disk is short, and acknowledgements must get through all the same.

**Connecting again.** This package does it, not aio-pika's robust connection. That one repeats declarations
and waits without a limit while the broker is away, and a call of ours must come back. A connection is opened
when a call needs it, at most once a second; calls in between raise the last complaint. Only announcements
have a task that connects by itself.

**The lower layer.** aio-pika stands on aiormq, which is used here directly: a future, a task and several
objects for each message cost more than the message itself. A batch is encoded into one piece of bytes
(`frames.py`) and handed to the connection's queue of frames. In the same step a `Ticket` for each message is
put where aiormq keeps the waiters for confirms. Nothing else runs between the two, so the numbers that the
broker counts and those that aiormq counts stay the same.

**Returns name a message by its id**, not by its number. So two messages with one id are never under way on
one channel: the second one takes another channel.

**What happens on failure.** A batch is answered when each of its tickets is, when its channel ends, or when
the time is over. Messages without an answer by then are `Unconfirmed`. Nothing is published twice. A call
that is cancelled leaves its tickets behind, which take their answers and pass them on to no caller. A batch
that is not answered in time ends the connection, except while the broker blocks it: then the next batch is
not sent at all.

**Deliveries** belong to a channel. When that ends RabbitMQ gives them to the next consumer, and an answer to
one of them is no longer sent.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.brokers.rabbitmq.broker import RabbitBroker, open_broker
except ModuleNotFoundError as error:
    if error.name not in ("aiormq", "pamqp"):
        raise
    raise MissingExtra(
        "the broker RabbitMQ needs a driver; run: pip install 'fencepost[rabbitmq]'"
    ) from error

__all__ = ["RabbitBroker", "open_broker"]
