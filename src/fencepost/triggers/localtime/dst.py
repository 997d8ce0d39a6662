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
that begins with `*`, or steps on to the field's end (`0/15`), means a beat: it keeps that beat in
elapsed time, which is `skip` and `both`.
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

**Why a search may leap.** A wall time that matches nothing for months is not looked for segment by
segment. Once a stretch longer than any change of the clocks has shown that the next expected wall
time is `w`, nothing fires before an instant two days ahead of `w`: all wall times between lie
unexpected, whether the clocks show, repeat or skip them.

**What it rests on.** A wall time is shared by at most two segments, and those are neighbours:
every segment lasts longer than the changes at its two ends together. A test holds the zone data of
our years to this. No state is kept between calls, so that a search can begin anywhere, also inside
a fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias
from zoneinfo import ZoneInfo

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted
from fencepost.triggers.localtime.offsets import MARGIN_S, Segment, segment_at

Gap: TypeAlias = Literal["shift", "skip"]
Fold: TypeAlias = Literal["first", "last", "both"]


class Walls(Protocol):
    """The expected wall seconds, as a wall clock counts from 1970."""

    def next_wall(self, at: int) -> int | None:
        """The first expected wall second from `at` on, None where none comes within a century."""
        ...

    def previous_wall(self, before: int) -> int | None:
        """The last expected wall second earlier than `before`, None where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do in a gap and in a fold."""

    gap: Gap
    fold: Fold


GAPS: dict[str, Gap] = {"shift": "shift", "skip": "skip"}
FOLDS: dict[str, Fold] = {"first": "first", "last": "last", "both": "both"}
FIXED_TIME = Policy("shift", "first")
BEAT = Policy("skip", "both")


def checked_gap(value: object) -> Gap | None:
    """The gap policy of that name; None leaves the choice to the default."""
    if value is None or (isinstance(value, str) and value in GAPS):
        return GAPS[value] if value else None
    raise InvalidTrigger(f"gap {quoted(value)} is unknown, expected shift or skip")


def checked_fold(value: object) -> Fold | None:
    """The fold policy of that name; None leaves the choice to the default."""
    if value is None or (isinstance(value, str) and value in FOLDS):
        return FOLDS[value] if value else None
    raise InvalidTrigger(f"fold {quoted(value)} is unknown, expected first, last or both")


def policy(gap: str | None, fold: str | None, *, fixed_time: bool) -> Policy:
    """What was chosen, and for what was not the rule of Debian's cron."""
    default = FIXED_TIME if fixed_time else BEAT
    return Policy(checked_gap(gap) or default.gap, checked_fold(fold) or default.fold)


def first_instant(walls: Walls, zone: ZoneInfo, policy: Policy, start: int, stop: int) -> int | None:
    """The first UTC second in [start, stop) at which an expected wall time fires."""
    while start < stop:
        segment = segment_at(zone, start)
        end = min(stop, segment.end)
        if start == segment.start and policy.gap == "shift" and _fell_into_gap(walls, segment):
            return start
        first, last = _wall_range(segment, policy, start, end)
        wall = walls.next_wall(first)
        if wall is not None and wall < last:
            return wall - segment.offset
        if end - start < MARGIN_S:
            start = end
        elif wall is None:
            return None
        else:
            start = max(end, wall - MARGIN_S)
    return None


def last_instant(walls: Walls, zone: ZoneInfo, policy: Policy, start: int, stop: int) -> int | None:
    """The last UTC second in [start, stop) at which an expected wall time fires."""
    while start < stop:
        segment = segment_at(zone, stop - 1)
        begin = max(start, segment.start)
        first, last = _wall_range(segment, policy, begin, stop)
        wall = walls.previous_wall(last)
        if wall is not None and wall >= first:
            return wall - segment.offset
        if begin == segment.start and policy.gap == "shift" and _fell_into_gap(walls, segment):
            return begin
        if stop - begin < MARGIN_S:
            stop = begin
        elif wall is None:
            return None
        else:
            stop = min(begin, wall + MARGIN_S)
    return None


def instants(walls: Walls, zone: ZoneInfo, policy: Policy, start: int, stop: int) -> Iterator[int]:
    """The UTC seconds in [start, stop) at which the expected wall times fire, strictly rising."""
    while (found := first_instant(walls, zone, policy, start, stop)) is not None:
        yield found
        start = found + 1


def _wall_range(segment: Segment, policy: Policy, begin: int, end: int) -> tuple[int, int]:
    """The wall seconds that count in the instants [begin, end) of a segment."""
    first, last = begin + segment.offset, end + segment.offset
    if policy.fold == "first":
        first = max(first, segment.repeats_until)
    elif policy.fold == "last":
        last = min(last, segment.recurs_from)
    return first, last


def _fell_into_gap(walls: Walls, segment: Segment) -> bool:
    if not segment.gap_s:
        return False
    resumed = segment.start + segment.offset
    wall = walls.next_wall(resumed - segment.gap_s)
    return wall is not None and wall < resumed
