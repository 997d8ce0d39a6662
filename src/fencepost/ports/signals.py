"""Hints that wake a sleeper early. They may be lost, repeated or late; nobody's correctness hangs on one.

Every loop also wakes by itself (the poll is the net), so a lost hint costs latency and nothing else.
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
    """A run ended that somebody waits for (`Ledger.await_end`)."""


class Signals(Protocol):
    """The hints of a store, from this process and from others."""

    @property
    def are_connected(self) -> bool:
        """Whether the hints of all processes arrive at this moment, as far as can be told, so that a loop
        with nothing to do may poll less often. Never where other processes are noticed by polling only."""
        ...

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on this loop at each hint (and after each reconnection) until the returned function
        is called."""
        ...
