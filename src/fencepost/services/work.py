"""The orders that a processor has in progress, and how its latest attempts ended."""

from __future__ import annotations

import asyncio
from itertools import count

import msgspec

from fencepost.core.messages import Order, Outcome, ReplyForm
from fencepost.model.identifiers import Fence, Namespace, RunKey
from fencepost.model.message import Delivery
from fencepost.ports.run import Run

ENDED_MAX = 1_000
ENDED_BYTES_MAX = 16 * 1024 * 1024
"""How many endings are kept for messages that are delivered again, and how large their replies may be."""

Key = tuple[Namespace, RunKey, int, Fence]
"""The identity of an attempt."""


def key_of(order: Order) -> Key:
    claim = order.claim
    return claim.namespace, claim.run_key, claim.attempt, claim.fence


class Work:
    """One order in progress."""

    def __init__(self, order: Order, delivery: Delivery, run: Run) -> None:
        self.order = order
        self.deliveries = [delivery]
        """All deliveries of the message; those that the broker has given up by now do no harm."""
        self.run = run
        self.is_over = False
        self.form: ReplyForm | None = None
        """How it ended, once it is over; None where nothing is to be replied."""
        self.task: asyncio.Future[str | None] | None = None
        self.stopped_why: str | None = None
        self.replies = count(1)

    def stop(self, why: str) -> None:
        if self.stopped_why is None:
            self.stopped_why = why
            self.run.ask_to_stop()
            if self.task is not None:
                self.task.cancel()

    @property
    def is_final(self) -> bool:
        """Whether it is over for good: a failure that is not reported is tried again."""
        if self.form is None:
            return self.stopped_why != "shutdown"
        is_told = self.order.reply_to is not None
        return is_told or self.form.permanent or self.form.outcome is Outcome.SUCCEEDED


class Endings:
    """How the latest attempts ended."""

    def __init__(self, ended_max: int = ENDED_MAX, bytes_max: int = ENDED_BYTES_MAX) -> None:
        self._ended_max = ended_max
        self._bytes_max = bytes_max
        self._forms: dict[Key, tuple[ReplyForm | None, int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._forms)

    def __contains__(self, key: Key) -> bool:
        return key in self._forms

    def __getitem__(self, key: Key) -> ReplyForm | None:
        return self._forms[key][0]

    def add(self, key: Key, form: ReplyForm | None) -> None:
        """Keep it, and drop the oldest beyond the bound."""
        size = 0 if form is None else len(msgspec.json.encode(form))
        _, size_before = self._forms.pop(key, (None, 0))
        self._forms[key] = form, size
        self._bytes += size - size_before
        while len(self._forms) > self._ended_max or self._bytes > self._bytes_max:
            _, size = self._forms.pop(next(iter(self._forms)))
            self._bytes -= size
