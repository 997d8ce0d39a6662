"""Catch-up: which ticks still run although their time has passed.

How late a tick is counts from when it became due, which is its fire time unless its schedule spreads its
load. A tick is *on time* while it is at most `ON_TIME_MAX` late (or `max_lateness`, where that is shorter);
such a tick is none of catch-up's business. With mode `none`, the whole of `max_lateness` counts as on time
and anything older is missed. With mode `latest`, a late tick within `max_lateness` still runs if no newer
tick of its schedule is due; otherwise it is missed, coalesced into the newer one.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import assert_never

from fencepost.model.claiming import DueTick
from fencepost.model.clocks import StoreTime, since
from fencepost.model.schedule import CatchUp, CatchUpMode
from fencepost.model.times import to_utc_text

ON_TIME_MAX = timedelta(seconds=10)


def is_on_time(tick: DueTick, now: StoreTime) -> bool:
    """Whether the tick is young enough that catch-up does not concern it."""
    return since(tick.run_at, now) <= _tolerance(tick.catch_up)


def why_missed(tick: DueTick, newest_due: datetime, now: StoreTime) -> str | None:
    """The reason for which the tick is missed, or None where it still runs."""
    lateness = since(tick.run_at, now)
    if lateness > tick.catch_up.max_lateness:
        return f"too late: max_lateness is {tick.catch_up.max_lateness.total_seconds():g}s"
    if is_on_time(tick, now) or newest_due <= tick.fire_time:
        return None
    match tick.catch_up.mode:
        case CatchUpMode.NONE:
            return None
        case CatchUpMode.LATEST:
            return f"coalesced into the tick of {to_utc_text(newest_due)}"
        case _ as never:
            assert_never(never)


def _tolerance(catch_up: CatchUp) -> timedelta:
    if catch_up.mode is CatchUpMode.NONE:
        return catch_up.max_lateness
    return min(ON_TIME_MAX, catch_up.max_lateness)
