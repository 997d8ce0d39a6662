"""Progress: when a job that is alive counts as stuck.

A heartbeat from a thread of its own says that the process lives. It says nothing of the job in it: a job that
waits for ever looks alive for ever. A job with a progress deadline therefore marks its progress now and then.
The watcher counts these marks and looks from time to time whether there are more. The time since the last
look that found more is the job's silence.

Time in which the watcher itself stood still does not count against the job: another job that blocked the
event loop has kept this one from marking its progress too.
"""

from __future__ import annotations

from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.model.dataclasses import dataclass

LOOKS_PER_DEADLINE = 8


@dataclass(frozen=True, slots=True)
class Silence:
    """How many marks there were at the last look, since when, and when to look again."""

    marks: int
    since: Monotonic
    look_at: Monotonic


def begin_watch(marks: int, now: Monotonic, deadline_s: float) -> Silence:
    """The first look."""
    return Silence(marks, now, _next_look(now, deadline_s))


def look(before: Silence, marks: int, now: Monotonic, deadline_s: float) -> Silence:
    """One look more. A look that comes later than the next one should have means that the watcher stood
    still."""
    late_s = max(elapsed_s(before.look_at, now), 0.0)
    stood_still_s = late_s if late_s > deadline_s / LOOKS_PER_DEADLINE else 0.0
    since = now if marks != before.marks else Monotonic(before.since + stood_still_s)
    return Silence(marks, since, _next_look(now, deadline_s))


def is_stuck(silence: Silence, now: Monotonic, deadline_s: float) -> bool:
    """Whether the job has been silent for longer than it may."""
    return elapsed_s(silence.since, now) >= deadline_s


def _next_look(now: Monotonic, deadline_s: float) -> Monotonic:
    return Monotonic(now + deadline_s / LOOKS_PER_DEADLINE)
