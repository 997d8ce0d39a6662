"""Deployment: whether an application's own schedule is written over the one in the store.

Old and new replicas run side by side for a while, and each of them brings the schedules of its own code.
A spec that the schedule's history does not know comes from new code: it is applied at once. A spec from the
history belongs to older code. It is applied only when no live node runs the code whose spec is in force,
that is after a rollback; so an old replica that restarts in the middle of a deploy changes nothing. A spec
that code has applied already is left alone, so that an operator's later edit stays.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from fencepost.model.codec import schedule_to_text
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState


def should_apply(
    wanted: ScheduleSpec,
    current: Schedule | None,
    history: Collection[ScheduleSpec],
    live_digests: Collection[str],
) -> bool:
    """True where the wanted spec becomes the next version."""
    if current is None or (current.state is ScheduleState.REMOVED and current.code_spec is None):
        return True
    if current.code_spec is not None and same_words(current.code_spec, wanted):
        return False
    if not any(same_words(past, wanted) for past in history):
        return True
    return current.code_digest not in live_digests


def same_words(one: ScheduleSpec, other: ScheduleSpec) -> bool:
    """Whether code would have written both alike. Code does not set the days of the calendars."""
    return _words(one) == _words(other)


def _words(spec: ScheduleSpec) -> str:
    return schedule_to_text(replace(spec, calendars={}) if spec.calendars else spec)
