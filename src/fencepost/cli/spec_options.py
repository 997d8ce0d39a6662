"""The options that say what a schedule is, shared by `schedules add` and `schedules edit`."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any

import click

from fencepost.cli.options import Command

OPTIONS = (
    click.option("--job", metavar="JOB", help="What runs: a job that some process has registered."),
    click.option("--cron", metavar="EXPR", help="Fire by a cron expression."),
    click.option("--every", metavar="DURATION", help="Fire at a steady interval, such as 15m."),
    click.option("--at", metavar="TIME", multiple=True, help="Fire at this time; may be repeated."),
    click.option("--tz", metavar="ZONE", help="The zone of --cron and --at; UTC unless given."),
    click.option("--gap", type=click.Choice(["shift", "skip"]), help="When the clocks skip the time."),
    click.option("--fold", type=click.Choice(["first", "last", "both"]), help="When they show it twice."),
    click.option("--anchor", metavar="TIME", help="Where the beat of --every starts; 1970 unless given."),
    click.option("--overlap", metavar="POLICY", help="While an earlier run is unfinished: skip, allow."),
    click.option("--catch-up", metavar="MODE", help="Of ticks that are late, run: none, latest."),
    click.option("--max-lateness", metavar="DURATION", help="How late a tick may start."),
    click.option("--payload", metavar="JSON", help="What the job is given: a JSON object."),
    click.option("--queue", metavar="NAME", help="Another queue than the job's own."),
    click.option("--priority", type=int, help="1 (first) to 4 (last), instead of the job's own."),
    click.option("--label", metavar="KEY=VALUE", multiple=True, help="A label; may be repeated."),
)


@dataclass(frozen=True)
class Given:
    """What was typed; None or nothing where an option was left out."""

    job: str | None
    cron: str | None
    every: str | None
    at: tuple[str, ...]
    tz: str | None
    gap: str | None
    fold: str | None
    anchor: str | None
    overlap: str | None
    catch_up: str | None
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
        given = Given(**{one.name: options.pop(one.name) for one in fields(Given)})
        return command(*args, given=given, **options)

    return functools.reduce(lambda inner, option: option(inner), reversed(OPTIONS), with_spec)
