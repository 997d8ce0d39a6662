"""Planning: from a cursor and a trigger to the next ticks.

Ticks are found by walking the trigger on from `planned_through`, never by asking what time it is. So a
planner that was away for a month walks through that month, in passes of at most `ticks_max`, and the
cursor only ever moves to where everything behind it has been written.

Each version of a schedule has a cursor of its own and is planned over its own time in force. A version that
was edited away while no planner was there is planned to its end when one is back: its ticks were expected.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from fencepost.model.identifiers import Epoch
from fencepost.model.plan import Cursor, Plan
from fencepost.model.trigger import Trigger


def plan(cursor: Cursor, trigger: Trigger, through: datetime, epoch: Epoch, ticks_max: int) -> Plan:
    """The ticks in (planned_through, through], the first `ticks_max` of them, and the cursor after them."""
    assert ticks_max > 0
    through = through if cursor.until is None else min(through, cursor.until)
    found = tuple(islice(trigger.fire_times(cursor.planned_through, through), ticks_max))
    cut = len(found) == ticks_max
    reached = found[-1] if cut else max(through, cursor.planned_through)
    return Plan(
        cursor=cursor,
        epoch=epoch,
        fire_times=found,
        planned_through=reached,
        next_fire_at=_next_look(trigger, reached, cursor.until),
    )


def _next_look(trigger: Trigger, reached: datetime, until: datetime | None) -> datetime | None:
    upcoming = trigger.next_after(reached)
    if upcoming is None or (until is not None and upcoming > until):
        return None
    return upcoming
