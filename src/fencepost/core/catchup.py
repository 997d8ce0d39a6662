"""Catch-up: which ticks still run although their time has passed.

Lateness counts from when a tick became due. That is its fire time, unless its schedule spreads its load. A
tick is *on time* while it is at most `ON_TIME_MAX` late (or `max_lateness`, where that is shorter); catch-up
does not concern such a tick. With mode `none`, the whole of `max_lateness` counts as on time
and anything older is missed.

With the other modes a late tick within `max_lateness` is *admitted*: it becomes a catch-up run and is not
judged for lateness again, however long it then waits for its turn, for room or for the gate. With `latest`
it runs only while no newer tick of its schedule is due; otherwise it is missed, coalesced into the newer
one. With `sequential` all of them run, one after the other; with `parallel(n)` at most n run at a time.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from fencepost.model.claiming import DueTick
from fencepost.model.clocks import StoreTime, since
from fencepost.model.policies import CatchUp, CatchUpMode
from fencepost.model.times import to_utc_text

ON_TIME_MAX = timedelta(seconds=10)
TOO_LATE = "too late"


def is_on_time(catch_up: CatchUp, due_since: datetime, now: StoreTime) -> bool:
    """Whether a tick is young enough that catch-up does not concern it."""
    return since(due_since, now) <= _tolerance(catch_up)


def why_too_late(catch_up: CatchUp, due_since: datetime, now: StoreTime) -> str | None:
    """The reason for which a tick does not run any more, or None where it still may."""
    if since(due_since, now) <= catch_up.max_lateness:
        return None
    return f"{TOO_LATE}: max_lateness is {catch_up.max_lateness.total_seconds():g}s"


def why_coalesced(catch_up: CatchUp, fire_time: datetime, newest_due: datetime) -> str | None:
    """The reason for which a late tick gives way to a newer one, or None where it does not."""
    if catch_up.mode is not CatchUpMode.LATEST or newest_due <= fire_time:
        return None
    return f"coalesced into the tick of {to_utc_text(newest_due)}"


def queues(tick: DueTick) -> bool:
    """Whether late ticks line up and run one by one, rather than being judged as if they had just come."""
    return tick.catch_up.mode in (CatchUpMode.SEQUENTIAL, CatchUpMode.PARALLEL)


def _tolerance(catch_up: CatchUp) -> timedelta:
    if catch_up.mode is CatchUpMode.NONE:
        return catch_up.max_lateness
    return min(ON_TIME_MAX, catch_up.max_lateness)
