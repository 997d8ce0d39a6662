"""`fencepost simulate`: what a schedule would have done, with an outage in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.local import ask
from fencepost.cli.options import Place, in_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.reading import read_duration, read_time
from fencepost.cli.target import load_target
from fencepost.errors import UnknownSchedule, UsageError
from fencepost.model.identifiers import ScheduleId
from fencepost.testing.simulating import simulate as run_through
from fencepost.triggers import zone

if TYPE_CHECKING:
    from datetime import datetime

    from fencepost.model.job import JobSpec
    from fencepost.model.json import JsonObject
    from fencepost.model.schedule import ScheduleSpec
    from fencepost.operations.control import Control
    from fencepost.testing.simulation import Simulation

    Found = tuple[ScheduleSpec, JobSpec | None, dict[str, JsonObject]]

AWAY = ("all", "workers", "planners")


@click.command()
@click.argument("schedule_id", metavar="ID")
@click.argument("target", metavar="[TARGET]", required=False)
@click.option("--from", "since", metavar="TIME", required=True, help="The first fire time that counts.")
@click.option("--to", "until", metavar="TIME", required=True, help="The last fire time that counts.")
@click.option("--outage", metavar="TIME/TIME", multiple=True, help="When nobody was there; may come again.")
@click.option("--away", type=click.Choice(AWAY), default="all", show_default=True, help="Who was away then.")
@click.option("--duration", metavar="LENGTH", default="0s", show_default=True, help="How long a run takes.")
@tz_option
@in_store
@json_option
def simulate(
    schedule_id: str,
    target: str | None,
    since: str,
    until: str,
    outage: tuple[str, ...],
    away: str,
    duration: str,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Show every tick of a stretch of time and what would have become of it, without running anything.

    The schedule is that of the store as it stands now, or that of TARGET, module:app or a fencepost.toml.
    The real planner and the real policies decide, over a ledger in memory.

    \b
    Example:
      fencepost simulate nightly --from 2026-03-01 --to 2026-03-02 --outage 2026-03-01T02:00/2026-03-01T05:30
      fencepost simulate nightly fencepost.toml --from 2026-03-01 --to 2026-03-08 --duration 90m
    """
    found = _in_target(target, schedule_id) if target else ask(place, lambda one: _in_store(one, schedule_id))
    shown = _simulated(
        schedule_id,
        found,
        (read_time("--from", since, tz), read_time("--to", until, tz)),
        [_outage(one, tz) for one in outage],
        away,
        read_duration("--duration", duration).total_seconds(),
    )
    if as_json:
        print_json(shown.to_json())
    else:
        click.echo(shown.table(None if tz is None else zone(tz)))


def _outage(text: str, tz: str | None) -> tuple[datetime, datetime]:
    first, slash, last = text.partition("/")
    if not slash:
        raise UsageError(f"--outage {text}: expected two times with a / between them")
    return read_time("--outage", first, tz), read_time("--outage", last, tz)


async def _in_store(control: Control, schedule_id: str) -> Found:
    schedule = await control.schedule(schedule_id)
    jobs = await control.store.jobs.all(control.namespace)
    return schedule.spec, jobs.get(schedule.spec.job), {}


def _in_target(target: str, schedule_id: str) -> Found:
    app = load_target(target)
    spec = app.code_schedules.get(ScheduleId(schedule_id))
    if spec is None:
        known = ", ".join(app.code_schedules) or "none"
        raise UnknownSchedule(f"schedule {schedule_id}: not in {target}; it has: {known}")
    return spec, app.jobs[spec.job].spec, app.code_calendars


def _simulated(
    schedule_id: str,
    found: Found,
    span: tuple[datetime, datetime],
    outages: list[tuple[datetime, datetime]],
    away: str,
    duration_s: float,
) -> Simulation:
    spec, job, calendars = found
    return run_through(
        spec,
        *span,
        outage=outages,
        away=away,
        duration=duration_s,
        schedule_id=schedule_id,
        job=job,
        calendars=calendars,
    )
