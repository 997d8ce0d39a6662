"""Load shaping: when a tick's run becomes due, at or after its fire time.

Ten thousand schedules at midnight need not start in one second. With a *spread*, a schedule starts at an
offset of its own within the stretch, the same at every tick. With a *jitter*, each tick starts at an offset
of its own. Both come from a hash of the identity, not from chance: every planner finds the same instant,
however often it plans the tick. The fire time, and with it the run key, stays as the trigger says.

A run is never due as late as the next fire time of its schedule: a stretch is cut to the period, the jitter
to what the spread leaves of it, and a hash is always smaller than its range.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from fencepost.model.stretch import Stretch
from fencepost.model.times import to_utc_text

MICROSECOND = timedelta(microseconds=1)
HASH_BITS = 64


def due_at(
    identity: str,
    fire_time: datetime,
    upcoming: datetime | None,
    spread: Stretch | None,
    jitter: Stretch | None,
) -> datetime:
    """When the run of a tick is due, given the fire time that comes after it.

    The identity is the schedule's, with its namespace.
    """
    period = None if upcoming is None else upcoming - fire_time
    offset = timedelta(0)
    if spread is not None:
        offset = _part(spread.of(period), identity)
    if jitter is not None:
        room = jitter.of(period) if period is None else min(jitter.of(period), period - offset)
        offset += _part(room, f"{identity}\n{to_utc_text(fire_time)}")
    return fire_time + offset


def _part(stretch: timedelta, identity: str) -> timedelta:
    """A part of the stretch, from nothing to just less than all of it."""
    digest = hashlib.blake2b(identity.encode(), digest_size=HASH_BITS // 8).digest()
    return timedelta(microseconds=stretch // MICROSECOND * int.from_bytes(digest, "big") >> HASH_BITS)
