"""Planning: from a cursor and a trigger to the next ticks.

Ticks are found by walking the trigger on from `planned_through`, never by asking what time it is. So a
planner that was away for a month walks through that month, in passes of at most `ticks_max`, and the
cursor only ever moves to where everything behind it has been written.

Each version of a schedule has a cursor of its own and is planned over its own time in force. A version that
was edited away while no planner was there is planned to its end when one is back: its ticks were expected.

A combination of triggers may cut a long search. What it has looked through by then counts as planned, and the
next pass goes on from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import islice, pairwise

from fencepost.core.spreading import due_at
from fencepost.errors import SearchExhausted
from fencepost.model.identifiers import Epoch
from fencepost.model.plan import Cursor, Plan, Tick
from fencepost.model.stretch import Stretch
from fencepost.model.trigger import Trigger


@dataclass(frozen=True, slots=True)
class Rules:
    """The release of the zone rules that a planner has, and the store's time at which it plans."""

    tzdata: str
    now: datetime

    def of(self, cursor: Cursor) -> str:
        """What the cursor is noted to be planned by.

        While older rules have planned ticks ahead it stays theirs, so that the refresher still looks at them.
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
    upcoming = next_look(trigger, reached)
    return Plan(
        cursor=cursor,
        epoch=epoch,
        ticks=_ticks(cursor, trigger, found, upcoming),
        planned_through=reached,
        next_fire_at=None if upcoming is None or _is_over(cursor, upcoming) else upcoming,
        tzdata=rules.of(cursor),
    )


def next_look(trigger: Trigger, reached: datetime) -> datetime | None:
    """When the planner needs to look again: at the next fire time, or where a search was cut."""
    try:
        return trigger.next_after(reached)
    except SearchExhausted as cut:
        return cut.searched_through


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


def _is_over(cursor: Cursor, upcoming: datetime) -> bool:
    return cursor.until is not None and upcoming > cursor.until
