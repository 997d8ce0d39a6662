"""The waiters for the confirms of a batch: an object for each message, and one future for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from aiormq.abc import AbstractChannel
from aiormq.exceptions import DeliveryError, PublishError

from fencepost.model.message import Confirmed, Publication, Refused, Unconfirmed

CONFIRMED = Confirmed()

Advise = Callable[[str, str], str]
"""The command that makes a queue take what is published to an exchange under a routing key."""


class Batch:
    """The answers to the messages of one call, each given once."""

    def __init__(self, count: int, advise: Advise) -> None:
        self.advise = advise
        self.ended = asyncio.get_running_loop().create_future()
        self.is_sent = False
        self._answers: list[Publication | None] = [None] * count
        self._left = count

    def answer(self, at: int, publication: Publication) -> None:
        if self._answers[at] is None:
            self._answers[at] = publication
            self._left -= 1
            if not self._left:
                self._end()

    def watch(self, channel: AbstractChannel) -> None:
        """Wait no longer than the channel lives."""
        closing = channel.closing
        closing.add_done_callback(self._end)
        self.ended.add_done_callback(lambda _: closing.cancel())

    def answers(self, reason: str) -> Sequence[Publication]:
        """One for each message, with this reason where none came."""
        missing = Unconfirmed(reason)
        return [one or missing for one in self._answers]

    @property
    def unanswered(self) -> list[int]:
        return [at for at, one in enumerate(self._answers) if one is None]

    def _end(self, _: object = None) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class Ticket:
    """Stands where aiormq keeps a future for each number that the broker has not confirmed."""

    __slots__ = ("_at", "_batch", "_id", "_ids")

    def __init__(self, batch: Batch, at: int, id_: str, ids: dict[str, int]) -> None:
        self._batch, self._at, self._id, self._ids = batch, at, id_, ids

    def reserve(self) -> None:
        """Nothing else with this id is published on the channel until the answer is there."""
        self._ids[self._id] = 0

    def number(self, delivery_tag: int) -> None:
        self._ids[self._id] = delivery_tag

    def withdraw(self) -> None:
        """The message was not sent."""
        del self._ids[self._id]

    def done(self) -> bool:
        return False

    def set_result(self, _: object) -> None:
        self._ids.pop(self._id, None)
        self._batch.answer(self._at, CONFIRMED)

    def set_exception(self, error: Exception) -> None:
        self._ids.pop(self._id, None)
        self._batch.answer(self._at, _refused(error, self._batch.advise))


def _refused(error: Exception, advise: Advise) -> Refused:
    if isinstance(error, PublishError) and error.message is not None:
        returned = error.message.delivery
        code, text = getattr(returned, "reply_code", ""), getattr(returned, "reply_text", "")
        exchange, key = error.message.exchange or "", error.message.routing_key or ""
        where = f"{exchange}/{key}" if exchange else key
        return Refused(f"{where}: no queue takes it ({code} {text}); run: {advise(exchange, key)}")
    assert isinstance(error, DeliveryError)
    return Refused("RabbitMQ did not take it (nack): the queue is full, or has lost its leader")
