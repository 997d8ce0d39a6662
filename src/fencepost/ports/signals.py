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


class Signals(Protocol):
    """The hints of a store, from this process and from others."""

    async def listen(self, topic: Topic, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on this loop at each hint (and after each reconnection) until the returned function
        is called."""
        ...
