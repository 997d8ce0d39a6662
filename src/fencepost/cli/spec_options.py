"""The options that say what a schedule is, shared by `schedules add` and `schedules edit`."""

from __future__ import annotations

import functools
from dataclasses import fields
from typing import Any

import click

from fencepost.cli.options import Command
from fencepost.model.dataclasses import dataclass

OPTIONS = (
    click.option("--job", metavar="JOB", help="What runs: a job that some process has registered."),
    click.option("--cron", metavar="EXPR", help="Fire by a cron expression; an H is hashed by the id."),
    click.option(
        "--every", metavar="INTERVAL", help="Fire at an exact interval (15m), or by the calendar (1 month)."
    ),
    click.option("--at", metavar="TIME", multiple=True, help="Fire at this time; may be repeated."),
    click.option(
        "--rrule", metavar="TEXT", help="Fire by an iCalendar rule, such as FREQ=MONTHLY;BYDAY=-1FR."
    ),
    click.option(
        "--business-day", metavar="N", help="Fire on the nth business day of a month, -1 the last, or every."
    ),
    click.option(
        "--at-time", metavar="HH:MM", multiple=True, help="The time of --business-day; may be repeated."
    ),
    click.option(
        "--trigger", metavar="JSON", help="All of the trigger in its stable form, in place of all of these."
    ),
    click.option("--tz", metavar="ZONE", help="The zone of wall times; UTC unless given."),
    click.option("--gap", type=click.Choice(["shift", "skip"]), help="When the clocks skip the time."),
    click.option("--fold", type=click.Choice(["first", "last", "both"]), help="When they show it twice."),
    click.option(
        "--anchor", metavar="TIME", help="Where --every or --rrule begins to count; 1970 unless given."
    ),
    click.option("--start", metavar="TIME", help="Fire from this time on; `none` takes it away."),
    click.option("--end", metavar="TIME", help="Fire before this time; `none` takes it away."),
    click.option(
        "--max-runs", metavar="N", help="Fire so many times from --start or now on; `none` takes it away."
    ),
    click.option(
        "--calendar", metavar="NAME", help="The business days that count; see: fencepost calendars."
    ),
    click.option(
        "--on-business-days",
        type=click.Choice(["next", "previous", "skip", "none"]),
        help="Move times on other days to the next or previous business day, or skip them.",
    ),
    click.option(
        "--spread",
        metavar="WINDOW",
        help="Start within 10m or 50% of the period, by the id; `none`: at once.",
    ),
    click.option(
        "--jitter",
        metavar="WINDOW",
        help="Start each tick within 30s or 10%, by a hash of it; `none`: at once.",
    ),
    click.option(
        "--overlap",
        metavar="POLICY",
        help="While an earlier run is unfinished: skip, buffer_one, buffer_all, buffer_all(n), cancel_other, "
        "terminate_other, allow or allow(n).",
    ),
    click.option(
        "--catch-up",
        metavar="MODE",
        help="Of ticks that are late, run: none, latest, sequential (one by one) or parallel(n).",
    ),
    click.option(
        "--gate",
        metavar="TERMS",
        help="When catch-up is held back for a person: waiting_max=500,failed_share=0.3,of_last=20; or none "
        "for the usual terms.",
    ),
    click.option("--max-lateness", metavar="DURATION", help="How late a tick may start."),
    click.option("--payload", metavar="JSON", help="What the job is given: a JSON object."),
    click.option("--queue", metavar="NAME", help="Another queue than the job's own."),
    click.option("--priority", type=int, help="1 (first) to 4 (last), instead of the job's own."),
    click.option("--label", metavar="KEY=VALUE", multiple=True, help="A label; may be repeated."),
)


@dataclass(frozen=True)
class ScheduleOptions:
    """What was typed; None or nothing where an option was left out."""

    job: str | None
    cron: str | None
    every: str | None
    at: tuple[str, ...]
    rrule: str | None
    business_day: str | None
    at_time: tuple[str, ...]
    trigger: str | None
    tz: str | None
    gap: str | None
    fold: str | None
    anchor: str | None
    start: str | None
    end: str | None
    max_runs: str | None
    calendar: str | None
    on_business_days: str | None
    spread: str | None
    jitter: str | None
    overlap: str | None
    catch_up: str | None
    gate: str | None
    max_lateness: str | None
    payload: str | None
    queue: str | None
    priority: int | None
    label: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        """Whether no option was given at all."""
        return all(getattr(self, one.name) in (None, ()) for one in fields(self))


def describes_schedule(command: Command) -> Command:
    """Give a command the options of a schedule, handed over as one `given`."""

    @functools.wraps(command)
    def with_spec(*args: Any, **options: Any) -> Any:
        given = ScheduleOptions(**{one.name: options.pop(one.name) for one in fields(ScheduleOptions)})
        return command(*args, given=given, **options)

    return functools.reduce(lambda inner, option: option(inner), reversed(OPTIONS), with_spec)
