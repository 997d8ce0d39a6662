"""Messages over NATS JetStream. Needs a server of 2.9 or newer with JetStream, and the extra `nats`.

**Streams.** A destination is a subject, and a stream keeps what is published to it. `declare` uses the stream
that has the subject, and creates one with work-queue retention where there is none: a message stays until it
is acknowledged. A stream that loses messages before that, in memory or only for consumers that are there, is
refused. A work queue has one consumer for each subject, so all groups share the messages.

**Confirms.** Each publication carries a reply subject, and the server answers there with the sequence number
in the stream, or with an error. Many wait for their answers together (`session.py`). The message id is sent
as `Nats-Msg-Id`: within the stream's window the server drops a second message of the same id and confirms it.
The server answers before it has called fsync, unless `sync_interval` is `always`.

**Deliveries.** A durable pull consumer with explicit acknowledgements is shared by all subscriptions of a
destination. What a subscription holds is kept by telling the server at a third of `ack_wait` that the work is
in progress. A consumer that died is silent, and after `ack_wait` its messages are delivered to others. An
acknowledgement is itself confirmed by the server.

**What happens on failure.** The driver never repairs a lost connection: the connection ends, every call that
waits on it is told, and the next call connects anew, at most once a second. The driver's own reconnection
would keep old commands and send them later, when their caller has given up.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.brokers.nats.broker import NatsBroker, open_broker
except ModuleNotFoundError as error:
    if error.name not in ("nats", "nkeys"):
        raise
    raise MissingExtra("NATS needs a driver; run: pip install 'fencepost[nats]'") from error

__all__ = ["NatsBroker", "open_broker"]
