"""The fire times of a recurrence rule: its wall times as instants, some more, and some fewer."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from fencepost.triggers.localtime.dst import Policy
from fencepost.triggers.localtime.times import WallTimes
from fencepost.triggers.rrule.clock import DAY_S
from fencepost.triggers.rrule.times import Times, to_first_instant, to_local, wall_s
from fencepost.triggers.rrule.walls import Listed, Pruned, Recurrence
from fencepost.triggers.series import TICK

# No change of the clocks moves a wall time further than this.
MARGIN = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Instants:
    """What a rule, its `UNTIL`, its exclusions and its inclusions come to.

    `until` ends the rule and not what is included. Nothing fires before `opens`, nor after `closes` where the
    rule has an end.
    """

    rule: WallTimes
    until: datetime | None
    included: tuple[datetime, ...]
    excluded: frozenset[datetime]
    opens: datetime
    closes: datetime | None

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`; each look that fails uses up one exclusion."""
        after = max(after, self.opens - TICK)
        while (found := self._next(after)) is not None and found in self.excluded:
            after = found
        return found

    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`."""
        if self.closes is not None:
            before = min(before, self.closes + TICK)
        while (found := self._previous(before)) is not None and found in self.excluded:
            before = found
        return found

    def _next(self, after: datetime) -> datetime | None:
        found = self.rule.next_after(after)
        if found is not None and self.until is not None and found > self.until:
            found = None
        index = bisect_right(self.included, after)
        if index == len(self.included):
            return found
        return self.included[index] if found is None else min(found, self.included[index])

    def _previous(self, before: datetime) -> datetime | None:
        found = self.rule.previous(before if self.until is None else min(before, self.until + TICK))
        index = bisect_left(self.included, before)
        if index == 0:
            return found
        return self.included[index - 1] if found is None else max(found, self.included[index - 1])


def instants(
    rule: Recurrence,
    zone: ZoneInfo,
    policy: Policy,
    until: datetime | None,
    exclude: Times,
    include: Times,
) -> Instants:
    """The fire times of a rule on the clocks of a zone."""
    walls, days = frozenset(exclude.walls), frozenset(exclude.days)
    pruned = Pruned(rule, walls, days) if walls or days else rule
    included = tuple(sorted(_included(include, walls, days, zone, policy)))
    begins = to_first_instant(rule.start, zone)
    ends = None if rule.end is None else to_first_instant(rule.end, zone) + MARGIN
    return Instants(
        rule=WallTimes(pruned, zone, policy),
        until=until,
        included=included,
        excluded=frozenset(exclude.instants),
        opens=min(begins, *included[:1]) if included else begins,
        closes=max(ends, *included[-1:]) if ends is not None and included else ends,
    )


def _included(
    include: Times, walls: frozenset[int], days: frozenset[int], zone: ZoneInfo, policy: Policy
) -> set[datetime]:
    """What is included and not taken out again as a local time."""

    def stays(wall: int) -> bool:
        return wall not in walls and wall // DAY_S not in days

    given = {one for one in include.instants if stays(wall_s(to_local(one, zone)))}
    local = sorted({*include.walls, *(day * DAY_S for day in include.days)})
    local = [wall for wall in local if stays(wall)]
    if local:
        first, last = (to_first_instant(wall, zone) for wall in (local[0], local[-1]))
        given.update(WallTimes(Listed(tuple(local)), zone, policy).fire_times(first - MARGIN, last + MARGIN))
    return given
