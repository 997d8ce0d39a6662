"""From local wall times to instants: what happens when the clocks are changed.

A cron expression speaks of wall times: 02:30 in Berlin. The ledger knows only instants. On most
days the two go together, one wall time to one instant. Twice a year they do not:

- In a **gap** the clocks jump ahead and some wall times never come. `shift` fires the schedule
  once at the first instant after the gap if any of its wall times fell into it; `skip` lets them
  go.
- In a **fold** the clocks are set back and some wall times come twice. `first` and `last` fire at
  one of the two instants, `both` at each.

Left open, the choice follows Debian's cron. A *fixed-time* job, one whose minute and hour both
name their values, means "once on that day": `shift` and `first`. A job with a minute or an hour
that begins with `*` means a beat: it keeps that beat in elapsed time, which is `skip` and `both`.
Debian's daemon treats a change of three hours or more as a correction of the clock. Here a gap is
a gap: in the zone that left out 30 December 2011, a job for noon of that day fires as the 31st
begins.

**The method.** Cut the UTC axis into segments of constant offset. Inside a segment the wall clock
runs evenly, so the wall times of a segment are one plain range of seconds, and a wall time `w` in
it is the instant `w - offset`. Then each policy is a change to that range:

- `first` drops from the front of a segment the wall times that an earlier segment has shown;
- `last` drops from the end of a segment the wall times that a later segment will show;
- `both` drops nothing;
- `skip` does nothing, since no segment holds a wall time that never comes;
- `shift` puts the segment's own first instant in front if an expected wall time lies in the gap
  before it.

**Why the series rises strictly and repeats nothing.** Segments are disjoint and come in order;
inside one, wall times are visited in order, and the shifted instant is followed only by later
ones. However many wall times a gap swallows, they become one instant, and a wall time that falls
on the gap's end by itself becomes the same one.

**What it rests on.** A wall time is shared by at most two segments, and those are neighbours:
every segment lasts longer than the changes at its two ends together. A test holds the zone data of
our years to this. No state is kept between calls, so that a search can begin anywhere, also inside
a fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted
from fencepost.triggers.offsets import Segment, segments

Gap: TypeAlias = Literal["shift", "skip"]
Fold: TypeAlias = Literal["first", "last", "both"]
Walls: TypeAlias = Callable[[int, int], Iterator[int]]
"""The expected wall seconds in [start, stop), ascending."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do in a gap and in a fold."""

    gap: Gap
    fold: Fold


GAPS: dict[str, Gap] = {"shift": "shift", "skip": "skip"}
FOLDS: dict[str, Fold] = {"first": "first", "last": "last", "both": "both"}
FIXED_TIME = Policy("shift", "first")
BEAT = Policy("skip", "both")


def checked_gap(value: str | None) -> Gap | None:
    """The gap policy of that name; None leaves the choice to the default."""
    if value is None or value in GAPS:
        return GAPS[value] if value else None
    raise InvalidTrigger(f"gap {quoted(value)} is unknown, expected shift or skip")


def checked_fold(value: str | None) -> Fold | None:
    """The fold policy of that name; None leaves the choice to the default."""
    if value is None or value in FOLDS:
        return FOLDS[value] if value else None
    raise InvalidTrigger(f"fold {quoted(value)} is unknown, expected first, last or both")


def instants(walls: Walls, zone: ZoneInfo, policy: Policy, start: int, stop: int) -> Iterator[int]:
    """The UTC seconds in [start, stop) at which the expected wall times fire, strictly rising."""
    for segment in segments(zone, start, stop):
        begin, end = max(start, segment.start), min(stop, segment.end)
        yield from _segment_instants(walls, segment, policy, begin, end)


def _segment_instants(walls: Walls, segment: Segment, policy: Policy, begin: int, end: int) -> Iterator[int]:
    first, last = begin + segment.offset, end + segment.offset
    if begin == segment.start and policy.gap == "shift" and _fell_into_gap(walls, segment):
        yield begin
        first += 1
    if policy.fold == "first":
        first = max(first, segment.repeats_until)
    elif policy.fold == "last":
        last = min(last, segment.recurs_from)
    for wall in walls(first, last):
        yield wall - segment.offset


def _fell_into_gap(walls: Walls, segment: Segment) -> bool:
    resumed = segment.start + segment.offset
    return next(walls(resumed - segment.gap_s, resumed), None) is not None
