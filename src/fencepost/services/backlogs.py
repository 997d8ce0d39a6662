"""How many messages wait for processors at each destination: the broker's last number, and what was sent
since.

The broker is asked again when its last answer is old, or when there might not be room for a batch. Several
processes that send may exceed the bound by what each of them sends between two answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from fencepost.core.messages import PROCESSORS
from fencepost.ports.broker import Broker
from fencepost.telemetry.events import emit
from fencepost.telemetry.message_events import BacklogSeen

FRESH_S = 1.0


class Backlogs:
    """The backlogs as one process sees them. `waiting` is their sum, for reports."""

    def __init__(self, waiting: dict[str, int], batch_max: int) -> None:
        self._waiting = waiting
        self._batch_max = batch_max
        self._asked_at_s: dict[str, float] = {}

    async def room(self, broker: Broker, destination: str, ahead_max: int) -> int:
        """How many more runs may be sent there, `ahead_max` being how many may wait."""
        now_s = asyncio.get_running_loop().time()
        is_young = now_s < self._asked_at_s.get(destination, float("-inf")) + FRESH_S
        if not is_young or self._waiting[destination] + self._batch_max > ahead_max:
            self._waiting[destination] = await broker.backlog(destination, PROCESSORS) or 0
            self._asked_at_s[destination] = now_s
            emit(BacklogSeen(destination, self._waiting[destination]))
        return max(0, ahead_max - self._waiting[destination])

    def note_sent(self, destinations: Iterable[str]) -> None:
        """One more message waits at each of them, until the broker's next answer."""
        for one in destinations:
            if one in self._asked_at_s:
                self._waiting[one] += 1
