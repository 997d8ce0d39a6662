"""Schedules as people see them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import click

from fencepost.cli.output import brief, print_fields, print_table, shown_time
from fencepost.cli.trigger_views import described, print_changes
from fencepost.core.masking import masked
from fencepost.model.calendar import calendar_revisions
from fencepost.model.durations import format_duration
from fencepost.model.plan import Tick
from fencepost.model.policies import CatchUp, CatchUpMode
from fencepost.model.schedule import Schedule, ScheduleVersion
from fencepost.triggers.preview import ChangePreview


@dataclass(frozen=True)
class Outlook:
    """A schedule and what is to come: its next ticks, and what changes of the clocks do to them.

    `trouble` says why there are no ticks to show where that is not the schedule's own will.
    """

    schedule: Schedule
    tzdata: str
    ticks: tuple[Tick, ...] = ()
    changes: tuple[ChangePreview, ...] = ()
    trouble: str | None = None


def print_schedules(found: Sequence[Schedule], tz: str | None) -> None:
    """One line a schedule."""
    print_table(
        ("SCHEDULE", "STATE", "JOB", "TRIGGER", "OVERLAP", "VERSION", "PLANNED THROUGH"),
        [
            (
                one.schedule_id,
                f"{one.state}, frozen" if one.frozen else one.state,
                one.spec.job,
                brief(described(one.spec, one.schedule_id)),
                one.spec.overlap,
                one.version,
                shown_time(one.planned_through, tz),
            )
            for one in found
        ],
    )


def print_outlook(outlook: Outlook, tz: str | None) -> None:
    """All that a schedule says, when it fires next, and what the clocks do to it."""
    print_fields([*_facts(outlook.schedule), ("zone rules", outlook.tzdata)])
    for tick in outlook.ticks:
        click.echo(f"  next  {shown_time(tick.fire_time, tz)}{_due(tick, tz)}")
    if outlook.trouble is not None:
        click.echo(f"  next  {outlook.trouble}")
    print_changes(outlook.changes)


def print_version(schedule_id: str, version: ScheduleVersion, changed: Sequence[str], tz: str | None) -> None:
    """One version and what it changed."""
    until = version.in_force_until
    span = f"from {shown_time(version.in_force_from, tz)}" + (f" to {shown_time(until, tz)}" if until else "")
    click.echo(f"version {version.version}  {span}  {described(version.spec, schedule_id)}")
    for line in changed:
        click.echo(f"  {line}")


def _facts(schedule: Schedule) -> list[tuple[str, Any]]:
    spec = schedule.spec
    calendars = [f"{name} (revision {number})" for name, number in calendar_revisions(spec).items()]
    return [
        ("schedule", schedule.schedule_id),
        ("state", f"{schedule.state}, frozen" if schedule.frozen else schedule.state),
        ("version", schedule.version),
        ("job", spec.job),
        ("fires", described(spec, schedule.schedule_id)),
        ("calendars", ", ".join(calendars)),
        ("spread", spec.spread),
        ("jitter", spec.jitter),
        ("payload", json.dumps(masked(spec.payload))),
        ("overlap", spec.overlap),
        ("catch-up", f"{spec.catch_up.words}, at most {format_duration(spec.catch_up.max_lateness)} late"),
        ("gate", _gate(spec.catch_up)),
        ("queue", spec.queue),
        ("priority", spec.priority),
        ("labels", ", ".join(f"{key}={value}" for key, value in spec.labels.items())),
        ("shard", schedule.shard),
    ]


def _gate(catch_up: CatchUp) -> str | None:
    """When catch-up is held back for a person; nothing to say where there is none to hold back."""
    if catch_up.mode in (CatchUpMode.NONE, CatchUpMode.LATEST):
        return None
    terms = catch_up.gate
    failed = f"more than {terms.failed_share:.0%} of the last {terms.of_last} failed"
    return f"closes when more than {terms.waiting_max} wait, or {failed}"


def _due(tick: Tick, tz: str | None) -> str:
    """When the run may begin, where a spread or a jitter holds it back."""
    if tick.run_at == tick.fire_time:
        return ""
    later_ms = round((tick.run_at - tick.fire_time) / timedelta(milliseconds=1))
    return f"  due {shown_time(tick.run_at, tz)}, {format_duration(timedelta(milliseconds=later_ms))} later"
