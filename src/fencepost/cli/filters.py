"""Which runs a command is about: the options that several commands share, and the filter that they mean."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import Any

import click

from fencepost.cli.options import Command
from fencepost.cli.reading import checked_choice, read_when
from fencepost.errors import UsageError

LIMIT_MAX = 100_000

COMMON = (
    click.option("--schedule", metavar="ID", help="Only the ticks of this schedule."),
    click.option("--job", metavar="JOB", help="Only runs of this job."),
    click.option("--since", metavar="TIME", help="Fire times from then on; also a length of time ago: 2h."),
    click.option("--until", metavar="TIME", help="Fire times up to then; also a length of time ago."),
    click.option("--error", metavar="TEXT", help="Only runs whose error contains this."),
    click.option(
        "--filter",
        "pairs",
        metavar="NAME=VALUE",
        multiple=True,
        help="One of these as a pair, such as job=send; may be repeated.",
    ),
)
NAMES = ("schedule", "job", "since", "until", "error")
OF_ANY_STATE = (
    click.option("--state", metavar="STATE", help="Only runs in this state, such as ready or dead."),
    click.option(
        "--origin", metavar="ORIGIN", help="Only runs of this origin, such as live, catch_up or backfill."
    ),
    click.option("--held", is_flag=True, help="Only runs that nobody may start at the moment."),
    click.option("--backfill", type=click.IntRange(1), metavar="N", help="Only the runs of this backfill."),
)


@dataclass(frozen=True)
class Wanted:
    """What was typed; None or nothing where an option was left out."""

    schedule: str | None = None
    job: str | None = None
    since: str | None = None
    until: str | None = None
    error: str | None = None
    state: str | None = None
    origin: str | None = None
    held: bool = False
    backfill: int | None = None

    @property
    def everything(self) -> bool:
        """Whether nothing was chosen."""
        return all(not getattr(self, one.name) for one in fields(self))

    def choice(self, tz: str | None) -> dict[str, Any]:
        """What operations on runs take: the fields of a `RunChoice` that were given."""
        from fencepost.model.run import Origin, RunState

        given = {one.name: getattr(self, one.name) for one in fields(self)}
        if self.state is not None:
            given["state"] = RunState(checked_choice("--state", self.state, list(RunState)))
        if self.origin is not None:
            given["origin"] = Origin(checked_choice("--origin", self.origin, list(Origin)))
        for name in ("since", "until"):
            if given[name] is not None:
                given[name] = read_when(f"--{name}", given[name], tz)
        return {name: value for name, value in given.items() if value not in (None, False)}


def limit_option(default: int) -> Command:
    """How many to list."""
    return click.option(
        "--limit", type=click.IntRange(1, LIMIT_MAX), default=default, show_default=True, help="How many."
    )


def filters_runs(*options: Command) -> Command:
    """Give a command these options of a filter, handed over as one `wanted`."""

    def give(command: Command) -> Command:
        @functools.wraps(command)
        def with_filter(*args: Any, **given: Any) -> Any:
            paired = _read_pairs(given.pop("pairs", ()))
            names = [one.name for one in fields(Wanted) if one.name in given]
            wanted = Wanted(**{**{name: given.pop(name) for name in names}, **paired})
            return command(*args, wanted=wanted, **given)

        return functools.reduce(lambda inner, option: option(inner), reversed(options), with_filter)

    return give


def _read_pairs(pairs: tuple[str, ...]) -> dict[str, str]:
    """What was given as pairs, by the names of the options."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise UsageError(f"--filter {pair}: expected name=value, such as job=send")
        found[checked_choice("--filter", name, list(NAMES))] = value
    return found
