"""EXPR and the options around it: what `fencepost next` and `fencepost explain` are asked about."""

from __future__ import annotations

import functools
from typing import Any

import click

from fencepost.cli.option_words import OptionWords
from fencepost.cli.options import Command
from fencepost.operations.triggers import NAMES as KINDS

PARAMETERS = (
    click.argument("expression", metavar="EXPR"),
    click.option("--tz", metavar="ZONE", help="The zone of the wall times; UTC unless given."),
    click.option("--after", metavar="TIME", help="Fire times later than this; now unless given."),
    click.option("--gap", type=click.Choice(["shift", "skip"]), help="When the clocks skip the time."),
    click.option("--fold", type=click.Choice(["first", "last", "both"]), help="When they show it twice."),
    click.option(
        "--anchor", metavar="TIME", help="Where an interval or a rule begins to count; 1970 unless given."
    ),
    click.option("--id", "schedule_id", metavar="ID", help="The schedule whose id an H is hashed by."),
)
NAMES = ("expression", "tz", "after", "gap", "fold", "anchor", "schedule_id")


def takes_expression(command: Command) -> Command:
    """Give a command EXPR and its options, handed over as one `given`: the fields of an `Expression`."""

    @functools.wraps(command)
    def with_expression(*args: Any, **options: Any) -> Any:
        given = {name: options.pop(name) for name in NAMES}
        return command(*args, given=given, **options)

    return functools.reduce(lambda inner, option: option(inner), reversed(PARAMETERS), with_expression)


def expression_voice() -> OptionWords:
    """How these commands speak of their words."""
    return OptionWords({**KINDS, "schedule_id": "--id"})
