"""Two kinds of time, two types.

Store time is read from the store, is one for all nodes, and decides what is due and which lease has
expired. Monotonic time belongs to one process and decides how long it may trust what it holds. A
comparison across the two, or with another node's wall clock, is a bug that the types show.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NewType

StoreTime = NewType("StoreTime", datetime)
Monotonic = NewType("Monotonic", float)


STEP_MIN_S = 1.0
"""A clock that is set back by less than this goes unnoticed."""


def later(moment: StoreTime, seconds: float) -> StoreTime:
    """A store time moved by some seconds, which stays a store time."""
    return StoreTime(moment + timedelta(seconds=seconds))


def elapsed_s(since: Monotonic, until: Monotonic) -> float:
    """Seconds between two readings of one process's monotonic clock."""
    return until - since


def since(moment: datetime, now: StoreTime) -> timedelta:
    """How long ago a moment was, by the store's clock."""
    present: datetime = now
    return present - moment


def is_from_the_future(moment: datetime, now: StoreTime) -> bool:
    """Whether a moment that the store wrote as its present lies ahead: its clock was set back since."""
    return moment > now + timedelta(seconds=STEP_MIN_S)
