"""RRule: RFC 5545 recurrence, with what is left out of it and put into it, on the wall of a zone.

A rule speaks of local wall times, and so do its start and the local times that are excluded or included. Our
policy for changes of the clocks makes instants of them. Times with a Z or an offset are instants from the
beginning: an `UNTIL` in UTC, an excluded instant and an included one meet fire times, not the wall.

RFC 5545 leaves some things open, and other libraries read some of them in their own way. Here the start fires
only where it matches the rule, `COUNT` counts only what matches, a week has all its days for `BYSETPOS` also
where the start lies in its midst, and an `UNTIL` or an exclusion that is a date means that whole day.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime
from zoneinfo import ZoneInfo

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime import dst
from fencepost.triggers.localtime.zones import zone
from fencepost.triggers.patience import PRICE_RULE
from fencepost.triggers.rrule.clock import DAY_S
from fencepost.triggers.rrule.instants import Instants, instants
from fencepost.triggers.rrule.lines import Block, from_icalendar, parse_block
from fencepost.triggers.rrule.parts import Frequency, Parts, parse_parts
from fencepost.triggers.rrule.times import (
    LOCAL_EPOCH,
    YEAR_FIRST,
    YEAR_LAST,
    Given,
    parse_moment,
    read_start,
    read_times,
    to_local,
    wall_s,
)
from fencepost.triggers.rrule.walls import Recurrence, recurrence
from fencepost.triggers.rrule.words import describe_rule
from fencepost.triggers.series import TICK

VERSION = 1


@dataclass(frozen=True, init=False)
class RRule(Combinable):
    """A rule such as `FREQ=MONTHLY;BYDAY=-1FR`, or a block of DTSTART, RRULE, EXDATE and RDATE lines.

    `start` is the rule's DTSTART: the local time from which it counts, and which gives what the rule leaves
    open. Without one it is the start of 1970, so that every node counts the same. `exclude` and `include` are
    EXDATE and RDATE. `gap` and `fold` say what a change of the clocks does; None leaves it to the rule of
    Debian's cron (see `fencepost.triggers.localtime.dst`): a rule that names its hours and minutes fires
    once.
    """

    rule: str
    start: str
    tz: str
    exclude: tuple[str, ...]
    include: tuple[str, ...]
    gap: dst.Gap | None
    fold: dst.Fold | None
    _parts: Parts = field(init=False, repr=False, compare=False)
    _instants: Instants = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        rule: str,
        start: Given | None = None,
        tz: str = "UTC",
        exclude: Iterable[Given] = (),
        include: Iterable[Given] = (),
        gap: dst.Gap | None = None,
        fold: dst.Fold | None = None,
    ) -> None:
        block = parse_block(rule)
        parts, tz = parse_parts(block.rule), _one_zone(block, tz)
        local = _start(block, start, parts, zone(tz))
        excluded = read_times("exclude", block.exclude, exclude)
        included = read_times("include", block.include, include)
        end, until = _end(parts, zone(tz))
        found = recurrence(parts, wall_s(local), end)
        policy = dst.policy(gap, fold, fixed_time=parts.fixed_time)
        times = instants(found, zone(tz), policy, until, excluded, included)
        values = (str(parts), local.isoformat(), tz, excluded.texts, included.texts, gap, fold, parts, times)
        for one, value in zip(fields(self), values, strict=True):
            object.__setattr__(self, one.name, value)
        _check_fires(self, found)

    def __reduce__(self) -> tuple[type[RRule], tuple[object, ...]]:
        # A zone loaded from a file cannot be pickled; the seven values say everything.
        return RRule, (self.rule, self.start, self.tz, self.exclude, self.include, self.gap, self.fold)

    @property
    def starts(self) -> datetime | None:
        """The instant before which it never fires."""
        return self._instants.opens

    def zones(self) -> frozenset[str]:
        """The zone whose clocks it follows."""
        return frozenset((self.tz,))

    @property
    def price(self) -> int:
        return PRICE_RULE

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        return self._instants.next_after(after)

    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`, or None when there is none."""
        return self._instants.previous(before)

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        while (moment := self.next_after(after)) is not None and moment <= through:
            yield moment
            after = moment

    def describe(self) -> str:
        """Every month on the last Friday at 09:00, Berlin time."""
        words = describe_rule(self._parts, datetime.fromisoformat(self.start), self.tz)
        times = "1 time" if len(self.exclude) == 1 else f"{len(self.exclude)} times"
        less = f", except at {times}" if self.exclude else ""
        more = f", and at {len(self.include)} more" if self.include else ""
        return f"{words}{less}{more}"

    def to_json(self) -> JsonObject:
        """The stable form: all that the fire times depend on, but for the zone data."""
        return {
            "v": VERSION,
            "kind": "rrule",
            "rule": self.rule,
            "start": self.start,
            "tz": self.tz,
            "exclude": list(self.exclude),
            "include": list(self.include),
            "gap": self.gap,
            "fold": self.fold,
        }


def _one_zone(block: Block, tz: str) -> str:
    """The zone of the lines, or the given one where they name none."""
    if block.tz is None or block.tz == tz:
        return tz
    if tz != "UTC":
        raise InvalidTrigger(
            f"rrule is given tz {quoted(tz)} and names the zone {quoted(block.tz)}, expected one"
        )
    return block.tz


def _start(block: Block, start: Given | None, parts: Parts, zone: ZoneInfo) -> datetime:
    if start is not None and block.start is not None:
        raise InvalidTrigger(
            f"rrule is given start {quoted(str(start))} and has a DTSTART, expected one of them"
        )
    given = start if block.start is None else block.start
    if given is not None:
        return read_start(given, zone)
    if parts.count is not None:
        raise InvalidTrigger(f"rrule {quoted(str(parts))}: COUNT needs a start to count from")
    if parts.frequency == Frequency.WEEKLY and not parts.names_days:
        raise InvalidTrigger(f"rrule {quoted(str(parts))}: expected a day such as BYDAY=MO, or a start on it")
    return LOCAL_EPOCH


def _end(parts: Parts, zone: ZoneInfo) -> tuple[int | None, datetime | None]:
    """The last wall second that may count, and the last instant where `UNTIL` is one."""
    moment = None if parts.until is None else parse_moment("UNTIL", from_icalendar(parts.until))
    if moment is None or moment.year > YEAR_LAST:
        return None, None
    if moment.year < YEAR_FIRST:
        raise InvalidTrigger(f"rrule UNTIL {quoted(parts.until)}: expected a year from {YEAR_FIRST} on")
    local = wall_s(to_local(moment, zone))
    if not isinstance(moment, datetime):
        return local + DAY_S - 1, None
    if moment.tzinfo is None:
        return local, None
    # In a fold an earlier instant can show a later wall time; the instant itself decides.
    return local + DAY_S, moment


def _check_fires(trigger: RRule, rule: Recurrence) -> None:
    if rule.next_wall(rule.start) is None:
        raise InvalidTrigger(
            f"rrule {quoted(trigger.rule)}: never fires in the century after {trigger.start}"
        )
    if trigger.next_after(trigger._instants.opens - TICK) is None:
        raise InvalidTrigger(
            f"rrule {quoted(trigger.rule)}: never fires, its end and its exclusions leave nothing"
        )
