"""Planning: from a cursor and a trigger to the next ticks.

Ticks are found by walking the trigger on from `planned_through`, never by asking what time it is. So a
planner that was away for a month walks through that month, in passes of at most `ticks_max`. The
cursor only ever moves to where everything behind it has been written.

Each version of a schedule has a cursor of its own and is planned over its own time in force. A planner that
comes back plans a version that was edited away meanwhile to its end: its ticks were expected.

A tick that is found late is judged as far as the planner can: ticks that are too late already, or give way to
a newer tick of the same plan, are counted as a range of missed ticks where there are many of them. A tick
that is late and still runs is a catch-up run from the start. So a month without planners costs a few rows and
not a million. Under a policy by which ticks wait for others a tick may not be late at all: there the claim
judges, which knows the runs in its way.

A combination of triggers may cut a long search. The time that it has searched by then counts as planned, and
the next pass goes on from there.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from itertools import islice, pairwise, takewhile

from fencepost.core.catchup import is_on_time, why_coalesced, why_too_late
from fencepost.core.overlap import WAITING_KINDS
from fencepost.core.spreading import due_at
from fencepost.errors import SearchExhausted
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch
from fencepost.model.missed import MissedTicks
from fencepost.model.plan import Cursor, Plan, Tick
from fencepost.model.policies import CatchUp
from fencepost.model.stretch import Stretch
from fencepost.model.trigger import Trigger

RANGE_MIN = 20
"""From this number on, missed ticks are counted as a range; fewer are rows that people can look at."""
IDLE_SHARE = 1 / 3


def idle_rest_s(horizon_s: float, takeover_s: float) -> float:
    """How long a planner may rest that found nothing to plan and hears of changes: a share of the part of the
    horizon beyond a takeover. So a leader that is lost during the rest makes no tick late."""
    return (horizon_s - takeover_s) * IDLE_SHARE


@dataclass(frozen=True, slots=True)
class Rules:
    """The release of the zone rules that a planner has, and the store's time at which it plans."""

    tzdata: str
    now: datetime

    def of(self, cursor: Cursor) -> str:
        """The zone rules that the cursor is noted to be planned by.

        While ticks that older rules planned lie ahead, it stays the older rules, so that the rules refresher
        still looks at them.
        """
        return min(cursor.tzdata, self.tzdata) if cursor.planned_through > self.now else self.tzdata


def plan(
    cursor: Cursor,
    trigger: Trigger,
    through: datetime,
    epoch: Epoch,
    ticks_max: int,
    rules: Rules,
) -> Plan:
    """The ticks in (planned_through, through], the first `ticks_max` of them, and the cursor after them."""
    assert ticks_max > 0
    through = through if cursor.until is None else min(through, cursor.until)
    found, reached = _walk(trigger, cursor.planned_through, through, ticks_max)
    upcoming, fires = _look_ahead(trigger, reached)
    if upcoming is not None and _is_over(cursor, upcoming):
        fires = False
    ticks = _ticks(cursor, trigger, found, upcoming)
    missed, ticks = _sort_out(cursor, ticks, upcoming if fires else None, StoreTime(rules.now))
    return Plan(
        cursor=cursor,
        epoch=epoch,
        ticks=ticks,
        missed=missed,
        planned_through=reached,
        next_fire_at=None if upcoming is None or _is_over(cursor, upcoming) else upcoming,
        tzdata=rules.of(cursor),
    )


def next_look(trigger: Trigger, reached: datetime) -> datetime | None:
    """When the planner needs to look again: at the next fire time, or where a search was cut."""
    return _look_ahead(trigger, reached)[0]


def _look_ahead(trigger: Trigger, reached: datetime) -> tuple[datetime | None, bool]:
    """When to look again, and whether the trigger fires then."""
    try:
        return trigger.next_after(reached), True
    except SearchExhausted as cut:
        return cut.searched_through, False


def _walk(
    trigger: Trigger, after: datetime, through: datetime, ticks_max: int
) -> tuple[list[datetime], datetime]:
    """The first fire times, and the instant up to which there are no others."""
    found: list[datetime] = []
    try:
        # What was found before a cut stays in the list.
        found.extend(islice(trigger.fire_times(after, through), ticks_max))
    except SearchExhausted as cut:
        return found, max(after, min(cut.searched_through, through))
    return found, found[-1] if len(found) == ticks_max else max(through, after)


def _ticks(
    cursor: Cursor, trigger: Trigger, found: list[datetime], upcoming: datetime | None
) -> tuple[Tick, ...]:
    spec = cursor.spec
    assert spec is not None
    jitter = spec.jitter or (None if trigger.jitter is None else Stretch(length=trigger.jitter))
    identity = f"{cursor.namespace}\n{cursor.schedule_id}"
    if spec.spread is None and jitter is None:
        return tuple(Tick(moment, moment) for moment in found)
    return tuple(
        Tick(moment, due_at(identity, moment, following, spec.spread, jitter))
        for moment, following in pairwise([*found, upcoming])
        if moment is not None
    )


def _sort_out(
    cursor: Cursor, ticks: tuple[Tick, ...], upcoming: datetime | None, now: StoreTime
) -> tuple[tuple[MissedTicks, ...], tuple[Tick, ...]]:
    """The ticks that are missed already, as ranges where there are many, and the ticks to be written.
    `upcoming` is the fire time after them."""
    assert cursor.spec is not None
    catch_up = cursor.spec.catch_up
    missed: list[MissedTicks] = []
    newest_due = _newest_due(ticks, upcoming, now)
    if newest_due is None or cursor.spec.overlap.kind in WAITING_KINDS:
        return (), ticks
    for why in (partial(_why_too_late, catch_up, now), partial(_why_coalesced, catch_up, now, newest_due)):
        gone = tuple(takewhile(lambda tick: why(tick) is not None, ticks))  # noqa: B023
        if len(gone) >= RANGE_MIN:
            missed.append(MissedTicks(tuple(tick.fire_time for tick in gone), str(why(gone[0]))))
            ticks = ticks[len(gone) :]
    return tuple(missed), tuple(_marked(catch_up, tick, now) for tick in ticks)


def _newest_due(ticks: tuple[Tick, ...], upcoming: datetime | None, now: StoreTime) -> datetime | None:
    """The newest fire time that is due: one of these ticks, or the first of the next pass. That one is taken
    to be due as long after its fire time as the last of these."""
    newest = max((tick.fire_time for tick in ticks if tick.run_at <= now), default=None)
    if newest is None or upcoming is None:
        return newest
    delay = ticks[-1].run_at - ticks[-1].fire_time
    return upcoming if upcoming + delay <= now else newest


def _why_too_late(catch_up: CatchUp, now: StoreTime, tick: Tick) -> str | None:
    return why_too_late(catch_up, tick.run_at, now)


def _why_coalesced(catch_up: CatchUp, now: StoreTime, newest_due: datetime, tick: Tick) -> str | None:
    if is_on_time(catch_up, tick.run_at, now):
        return None
    return why_coalesced(catch_up, tick.fire_time, newest_due)


def _marked(catch_up: CatchUp, tick: Tick, now: StoreTime) -> Tick:
    """The tick, as a catch-up run where it is late and not too late."""
    late = not is_on_time(catch_up, tick.run_at, now) and why_too_late(catch_up, tick.run_at, now) is None
    return tick._replace(catches_up=True) if late else tick


def _is_over(cursor: Cursor, upcoming: datetime) -> bool:
    return cursor.until is not None and upcoming > cursor.until
