"""What the next change of the clocks does to a trigger, before it happens.

The stretch that a change touches reaches from its own length before the change to its own length after it.
In a fold these are the two showings of the repeated wall times. In a gap they are what lies on its two sides:
none of the skipped wall times is in there, but what a policy puts in their place is, at the change itself.

For a trigger that speaks of wall times, the expected ones inside the gap or the fold are looked up, and a
sentence tells what becomes of them. A combination of triggers has no wall times of its own to expect; then
the sentence tells how often it fires before and after. Instants that a sentence names are read off the
trigger's fire times, not worked out a second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Literal, TypeAlias

from fencepost.errors import SearchExhausted
from fencepost.model.times import from_epoch_s, to_epoch_s, to_utc_text
from fencepost.triggers.calendar_steps import CalendarStep, step_walls
from fencepost.triggers.combine import LOOKS_MAX, Combinable
from fencepost.triggers.every import Every
from fencepost.triggers.localtime import dst
from fencepost.triggers.localtime.offsets import segment_at
from fencepost.triggers.localtime.times import FIRST_S, LAST_S, WallTimes, WallTrigger
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.patience import keep_on
from fencepost.triggers.series import TICK, Series
from fencepost.triggers.words import clocks, duration_words, listed, wall_words

LOOKAHEAD_S = 2 * 366 * 86_400
FIRE_TIMES_MAX = 10
COUNT_MAX = 10_000
EFFORT_MAX = 300_000
WALLS_NAMED_MAX = 3
KEEPS_BEAT = "it keeps its beat: no fire time is lost or doubled in elapsed time"
SHOWINGS = {"first": "the first", "last": "the second", "both": "both"}
UNTOUCHED = "nothing it does is touched"

Kind: TypeAlias = Literal["gap", "fold"]


@dataclass(frozen=True)
class ChangePreview:
    """One change of the clocks and what it does to a trigger.

    `wall_from` and `wall_to` are what the clocks show at the change, before and after they are set. Of the
    fire times in the stretch from `since` to `until`, `fire_times` holds the first few, and `count` is the
    number, or COUNT_MAX where there are more.
    """

    tz: str
    at: datetime
    kind: Kind
    length: timedelta
    wall_from: datetime
    wall_to: datetime
    fire_times: tuple[datetime, ...]
    count: int
    sentence: str

    @property
    def since(self) -> datetime:
        """The first instant of the stretch."""
        return self.at - self.length

    @property
    def until(self) -> datetime:
        """The first instant after the stretch."""
        return self.at + self.length


@dataclass(frozen=True)
class Change:
    """The clocks of a zone go from one offset to another at the UTC second `at`."""

    tz: str
    at: int
    before: int
    after: int

    @property
    def kind(self) -> Kind:
        """Whether wall times are left out or come twice."""
        return "gap" if self.after > self.before else "fold"

    @property
    def length(self) -> int:
        """By how many seconds the clocks are set."""
        return abs(self.after - self.before)

    @property
    def walls(self) -> tuple[int, int]:
        """The wall seconds that are left out or come twice: the first, and the first after them."""
        low, high = sorted((self.at + self.before, self.at + self.after))
        return low, high

    @property
    def is_within_day(self) -> bool:
        """Whether the clocks show the same date before and after."""
        return _wall(self.at + self.before).date() == _wall(self.at + self.after).date()

    def shown(self, wall: int) -> str:
        """A wall time near the change, with its date where that is not clear."""
        words = wall_words(_wall(wall))
        return words.partition(" ")[2] if self.is_within_day else words


def preview(trigger: Combinable, after: datetime) -> list[ChangePreview]:
    """The next change of the clocks in each zone of the trigger, within two years, and what it does.

    Where there is too much to look at, in many zones, it is given up with SearchExhausted."""
    found = (_next_change(tz, after) for tz in trigger.zones())
    changes = sorted((change for change in found if change is not None), key=lambda one: (one.at, one.tz))
    effort = _Effort()
    return [_preview(trigger, change, effort) for change in changes]


def _next_change(tz: str, after: datetime) -> Change | None:
    local = zone(tz)
    start = min(max(to_epoch_s(after), FIRST_S), LAST_S)
    segment = segment_at(local, start)
    while segment.end <= min(start + LOOKAHEAD_S, LAST_S):
        following = segment_at(local, segment.end)
        if following.offset != segment.offset:
            return Change(tz, following.start, segment.offset, following.offset)
        segment = following
    return None


def _preview(trigger: Combinable, change: Change, effort: _Effort) -> ChangePreview:
    fires = _fires(trigger, change, effort)
    return ChangePreview(
        tz=change.tz,
        at=from_epoch_s(change.at),
        kind=change.kind,
        length=timedelta(seconds=change.length),
        wall_from=_wall(change.at + change.before),
        wall_to=_wall(change.at + change.after),
        fire_times=tuple(fires[:FIRE_TIMES_MAX]),
        count=len(fires),
        sentence=f"{_opening(change)}: {_effect(trigger, change, fires)}.",
    )


class _Effort:
    """What may be spent on all changes together: a fire time costs a look at every part."""

    def __init__(self) -> None:
        self._left = EFFORT_MAX

    def spend(self, looks: int, moment: datetime) -> None:
        """Give up where it is too much."""
        keep_on()
        self._left -= looks
        if self._left < 0:
            raise SearchExhausted("there is too much to look at around the changes of the clocks", moment)


def _fires(trigger: Combinable, change: Change, effort: _Effort) -> list[datetime]:
    """The fire times of the stretch."""
    since, until = change.at - change.length, change.at + change.length
    stretch = from_epoch_s(since) - TICK, from_epoch_s(until) - TICK
    found: list[datetime] = []
    for moment in islice(_patient(trigger, *stretch, effort), COUNT_MAX):
        effort.spend(trigger.price, moment)
        found.append(moment)
    return found


def _patient(trigger: Combinable, after: datetime, through: datetime, effort: _Effort) -> Iterator[datetime]:
    """The fire times; a search that was cut is taken up again."""
    while after < through:
        try:
            yield from trigger.fire_times(after, through)
        except SearchExhausted as cut:
            after = cut.searched_through
            effort.spend(LOOKS_MAX, after)
        else:
            return


def _opening(change: Change) -> str:
    """On 2027-03-28 the clocks in Berlin go from 02:00 to 03:00."""
    old, new = change.at + change.before, change.at + change.after
    back = "back " if change.kind == "fold" else ""
    who = clocks(change.tz)
    start = f"On {_wall(old).date()} {who}" if change.is_within_day else f"{who[0].upper()}{who[1:]}"
    return f"{start} go {back}from {change.shown(old)} to {change.shown(new)}"


def _effect(trigger: Series, change: Change, fires: Sequence[datetime]) -> str:
    times = _wall_times(trigger)
    if times is None:
        return _comparison(change, fires)
    if times.zone.key != change.tz:
        return f"it counts elapsed time, {UNTOUCHED}"
    walls = _expected(times.walls, *change.walls)
    if not walls:
        return UNTOUCHED
    subject = _subject(change, walls)
    if _keeps_beat(trigger, change, fires):
        return f"{subject}; {KEEPS_BEAT}"
    fate = _gap_fate(times, change, walls, fires) if change.kind == "gap" else _fold_fate(times, walls, fires)
    return f"{subject}; {fate}"


def _wall_times(trigger: Series) -> WallTimes | None:
    """The wall times that a trigger expects, where it speaks of nothing else."""
    if isinstance(trigger, WallTrigger):
        return trigger.times
    if isinstance(trigger, Every) and isinstance(trigger.interval, CalendarStep):
        policy = dst.policy(trigger.gap, trigger.fold, fixed_time=True)
        return WallTimes(step_walls(trigger.interval, trigger.anchor), zone(trigger.tz), policy)
    return None


def _expected(walls: dst.Walls, low: int, high: int) -> list[int]:
    """The expected wall seconds in [low, high), no more than COUNT_MAX."""
    found: list[int] = []
    while len(found) < COUNT_MAX and (wall := walls.next_wall(low)) is not None and wall < high:
        found.append(wall)
        low = wall + 1
    return found


def _keeps_beat(trigger: Series, change: Change, fires: Sequence[datetime]) -> bool:
    """Whether the distances are even from the last fire time before the stretch to the first after it."""
    if not 2 <= len(fires) < COUNT_MAX:
        return False
    before = trigger.previous(from_epoch_s(change.at - change.length))
    behind = trigger.next_after(from_epoch_s(change.at + change.length) - TICK)
    moments = [moment for moment in (before, *fires, behind) if moment is not None]
    return len({later - earlier for earlier, later in pairwise(moments)}) == 1


def _subject(change: Change, walls: Sequence[int]) -> str:
    """02:30 does not exist that day; 02:30 comes twice."""
    names = listed([change.shown(wall) for wall in walls[:WALLS_NAMED_MAX]])
    if len(walls) == COUNT_MAX:
        names = f"{COUNT_MAX} or more of its wall times from {change.shown(walls[0])} on"
    elif len(walls) > WALLS_NAMED_MAX:
        span = f"{change.shown(walls[0])} to {change.shown(walls[-1])}"
        names = f"{len(walls)} of its wall times, {span},"
    if change.kind == "fold":
        return f"{names} {'comes' if len(walls) == 1 else 'come'} twice"
    day = " that day" if change.is_within_day else ""
    return f"{names} {'does' if len(walls) == 1 else 'do'} not exist{day}"


def _gap_fate(times: WallTimes, change: Change, walls: Sequence[int], fires: Sequence[datetime]) -> str:
    resumed = change.at + change.after
    them = "it" if len(walls) == 1 else "them"
    if times.policy.gap == "skip" or from_epoch_s(change.at) not in fires:
        return f"it does not fire for {them}"
    moment = f"{change.shown(resumed)} ({to_utc_text(from_epoch_s(change.at))})"
    if times.walls.next_wall(resumed) == resumed:
        return f"the fire time at {moment} stands for {them} too"
    every = {1: "", 2: " for both"}.get(len(walls), " for all of them")
    return f"it fires once{every} at {moment}"


def _fold_fate(times: WallTimes, walls: Sequence[int], fires: Sequence[datetime]) -> str:
    showing = SHOWINGS[times.policy.fold]
    if len(walls) == 1:
        return f"it fires at {showing} ({listed([to_utc_text(fire) for fire in fires])})"
    return f"it fires at {showing} of each, from {to_utc_text(fires[0])} on"


def _comparison(change: Change, fires: Sequence[datetime]) -> str:
    """It fires once in the hour before and 3 times in the hour after, first at 2027-03-28T00:30:00Z."""
    length = duration_words(timedelta(seconds=change.length)).removeprefix("1 ")
    if not fires:
        return f"it fires neither in the {length} before nor in the {length} after"
    after = sum(fire >= from_epoch_s(change.at) for fire in fires)
    before = len(fires) - after
    counts = f"{_often(before)} in the {length} before and {_often(after)} in the {length} after"
    return f"it fires {counts}, first at {to_utc_text(fires[0])}"


def _often(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _wall(wall: int) -> datetime:
    """What a wall clock shows."""
    return from_epoch_s(wall).replace(tzinfo=None)
