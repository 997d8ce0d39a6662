"""Messages over Redis streams: one server, 6.2 or newer. Needs the extra `redis`.

**Streams.** A destination is the key of a stream with one consumer group, `fencepost`. `declare` creates
both. `XADD NOMKSTREAM` answers nothing where there is no stream, so such a message is refused. An entry has
the fields `id` and `body`, then the headers.

**Confirms.** A batch is one pipeline, and each answer in it is looked at. With `replicas=n` a `WAIT` follows,
and messages that fewer replicas have are unconfirmed. A stream is never trimmed: that would lose messages
without an acknowledgement. Instead the length is read with each batch, and a stream that has reached
`length_max` refuses. Only the stream of rejected messages is trimmed, to the same length.

**Deliveries.** An acknowledged message is also deleted, in one transaction, so a stream holds only unfinished
ones. That is why all groups share the messages. Each subscription is a consumer of its own name. It claims
the messages that it holds again at a third of `redeliver_after`. With XAUTOCLAIM it takes over those that
another consumer has left for that long. Messages that are given back go to the consumer `returned`, aged so
that the next claim finds them.

**What happens on failure.** A connection serves one call at a time. Where a call fails or is cancelled, its
connection is closed. A read that was cut off may have been given entries; the next one first reads what the
server says that the consumer has.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.brokers.redis.broker import RedisBroker, open_broker
except ModuleNotFoundError as error:
    if error.name != "redis":
        raise
    raise MissingExtra("Redis needs a driver; run: pip install 'fencepost[redis]'") from error

__all__ = ["RedisBroker", "open_broker"]
