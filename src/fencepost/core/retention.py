"""Retention: what may be removed, and what must never be forgotten.

May go: ended ticks older than the retention, with their attempts, because `planned_through` of their
schedule stands for ever and no planner can write their key again. Must stay: cursors, versions, epochs,
fences, and the key of every run enqueued by hand, because its row is the only memory of that key.

A tick may only go once no cursor can reach it any more. Where a tick was called off ahead of time and its
schedule was edited since, it lies before the next version's cursor. So do the ticks that follow a pause. And
a tick may only go once overlap and audit no longer need it, hence a floor.
"""

from __future__ import annotations

from fencepost.errors import InvalidSettings

RETENTION_MIN_S = 3600.0
NODE_MEMORY_S = 3600.0
TERMS_MAX = 10_000
REFUSALS_MAX = 1_000
"""What is remembered of leaders, for people: a fleet that changes hands all day must not fill a disk."""


def checked_retention_s(retention_s: float) -> float:
    """The retention itself, or a refusal where it would forget what overlap and audit still ask about."""
    if retention_s < RETENTION_MIN_S:
        raise InvalidSettings(
            f"retention_s {retention_s:g} is too short: keep runs for at least {RETENTION_MIN_S:g} s"
        )
    return retention_s
