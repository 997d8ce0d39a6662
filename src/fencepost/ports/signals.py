"""Hints that wake a sleeper early. They may be lost, repeated or late; no loop needs one to be correct.

Every loop also wakes by itself to poll, so a lost hint costs latency and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol


class Topic(StrEnum):
    """What may have changed."""

    RUNS = "runs"
    SCHEDULES = "schedules"
    CALENDARS = "calendars"
    LEASES = "leases"
    ENDED = "ended"
    """A run ended whose end a caller waits for (`Ledger.await_end`)."""


class Signals(Protocol):
    """The hints of a store, from this process and from others."""

    @property
    def are_connected(self) -> bool:
        """Whether the hints of all processes arrive at this moment, as far as can be known, so that a loop
        with nothing to do may poll less often. Always false where only polling sees other processes."""
        ...

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on this loop at each hint (and after each reconnection) until the returned function
        is called."""
        ...
