"""Schedules as people see them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from fencepost.cli.output import print_fields, print_table, shown_time
from fencepost.cli.specs import describe
from fencepost.model.durations import format_duration
from fencepost.model.schedule import Schedule, ScheduleVersion


def print_schedules(found: Sequence[Schedule], tz: str | None) -> None:
    """One line a schedule."""
    print_table(
        ("SCHEDULE", "STATE", "JOB", "TRIGGER", "OVERLAP", "VERSION", "PLANNED THROUGH"),
        [
            (
                one.schedule_id,
                one.state,
                one.spec.job,
                describe(one.spec.trigger),
                one.spec.overlap,
                one.version,
                shown_time(one.planned_through, tz),
            )
            for one in found
        ],
    )


def print_schedule(schedule: Schedule, times: Sequence[datetime], tz: str | None) -> None:
    """All that a schedule says, and when it fires next."""
    print_fields([*_facts(schedule), ("trigger", describe(schedule.spec.trigger))])
    for one in times:
        click.echo(f"  next  {shown_time(one, tz)}")


def _facts(schedule: Schedule) -> list[tuple[str, Any]]:
    spec = schedule.spec
    return [
        ("schedule", schedule.schedule_id),
        ("state", schedule.state),
        ("version", schedule.version),
        ("job", spec.job),
        ("payload", json.dumps(spec.payload)),
        ("overlap", spec.overlap),
        ("catch-up", f"{spec.catch_up.mode}, at most {format_duration(spec.catch_up.max_lateness)} late"),
        ("queue", spec.queue),
        ("priority", spec.priority),
        ("labels", ", ".join(f"{key}={value}" for key, value in spec.labels.items())),
        ("shard", schedule.shard),
    ]


def print_version(version: ScheduleVersion, changed: Sequence[str], tz: str | None) -> None:
    """One version and what it changed."""
    until = version.in_force_until
    span = f"from {shown_time(version.in_force_from, tz)}" + (f" to {shown_time(until, tz)}" if until else "")
    click.echo(f"version {version.version}  {span}  {describe(version.spec.trigger)}")
    for line in changed:
        click.echo(f"  {line}")
