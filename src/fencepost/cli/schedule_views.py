"""Schedules as people see them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import click

from fencepost.cli.output import brief, print_fields, print_table, shown_moment
from fencepost.cli.trigger_views import print_changes
from fencepost.model.calendar import calendar_revisions
from fencepost.model.durations import format_duration
from fencepost.model.policies import CatchUp, CatchUpMode
from fencepost.model.times import from_utc_text
from fencepost.operations.responses.schedules import (
    EditPreview,
    OutlookResponse,
    ScheduleResponse,
    VersionResponse,
    spec_behind,
)


def print_schedules(found: Sequence[ScheduleResponse], tz: str | None) -> None:
    """One line a schedule."""
    print_table(
        ("SCHEDULE", "STATE", "JOB", "TRIGGER", "OVERLAP", "VERSION", "PLANNED THROUGH"),
        [
            (
                one.schedule_id,
                _state(one),
                one.job,
                brief(one.description),
                one.overlap,
                one.version,
                shown_moment(one.planned_through, tz),
            )
            for one in found
        ],
    )


def print_outlook(outlook: OutlookResponse, tz: str | None) -> None:
    """All that a schedule says, when it fires next, and what the clocks do to it."""
    print_fields([*_facts(outlook), ("zone rules", outlook.tzdata)])
    for fire_time, run_at in zip(outlook.next, outlook.next_run_at, strict=True):
        click.echo(f"  next  {shown_moment(fire_time, tz)}{_due(fire_time, run_at, tz)}")
    if outlook.trouble is not None:
        click.echo(f"  next  {outlook.trouble}")
    print_changes(outlook.changes)


def print_version(version: VersionResponse, tz: str | None) -> None:
    """One version and what it changed."""
    until = shown_moment(version.in_force_until, tz)
    span = f"from {shown_moment(version.in_force_from, tz)}" + (f" to {until}" if until else "")
    click.echo(f"version {version.version}  {span}  {version.description}")
    for line in version.changes:
        click.echo(f"  {line}")


def print_preview(preview: EditPreview, tz: str | None) -> None:
    """What an edit would change, and when it fires next before and after it."""
    for line in preview.changes:
        click.echo(f"  {line}")
    for title, times in (("now", preview.next_before), ("then", preview.next_after)):
        for one in times:
            click.echo(f"  {title.ljust(4)}  {shown_moment(one, tz)}")


def _state(schedule: ScheduleResponse) -> str:
    return f"{schedule.state}, frozen" if schedule.frozen else schedule.state


def _facts(schedule: ScheduleResponse) -> list[tuple[str, Any]]:
    spec = spec_behind(schedule)
    calendars = [f"{name} (revision {number})" for name, number in calendar_revisions(spec).items()]
    catch_up, lateness = spec.catch_up, format_duration(spec.catch_up.max_lateness)
    return [
        ("schedule", schedule.schedule_id),
        ("state", _state(schedule)),
        ("version", schedule.version),
        ("job", schedule.job),
        ("fires", schedule.description),
        ("calendars", ", ".join(calendars)),
        ("spread", spec.spread),
        ("jitter", spec.jitter),
        ("payload", json.dumps(schedule.payload)),
        ("overlap", schedule.overlap),
        ("catch-up", f"{catch_up.words}, at most {lateness} late"),
        ("gate", _gate(catch_up)),
        ("queue", schedule.queue),
        ("priority", schedule.priority),
        ("labels", ", ".join(f"{key}={value}" for key, value in schedule.labels.items())),
        ("shard", schedule.shard),
    ]


def _gate(catch_up: CatchUp) -> str | None:
    """When catch-up is held back for a person; nothing to say where there is none to hold back."""
    if catch_up.mode in (CatchUpMode.NONE, CatchUpMode.LATEST):
        return None
    terms = catch_up.gate
    failed = f"more than {terms.failed_share:.0%} of the last {terms.of_last} failed"
    return f"closes when more than {terms.waiting_max} wait, or {failed}"


def _due(fire_time: str, run_at: str, tz: str | None) -> str:
    """When the run may begin, where a spread or a jitter holds it back."""
    if run_at == fire_time:
        return ""
    later = from_utc_text(run_at) - from_utc_text(fire_time)
    later_ms = round(later / timedelta(milliseconds=1))
    return f"  due {shown_moment(run_at, tz)}, {format_duration(timedelta(milliseconds=later_ms))} later"
