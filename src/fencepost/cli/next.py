"""`fencepost next`: the fire times of an expression."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from fencepost.cli.options import json_option
from fencepost.cli.output import print_json, print_table, shown_time
from fencepost.cli.reading import read_time
from fencepost.errors import UsageError

if TYPE_CHECKING:
    from fencepost.triggers import Cron, Every

COUNT_MAX = 10_000
EVERY = "every "


@click.command("next")
@click.argument("expression", metavar="EXPR")
@click.option("--tz", metavar="ZONE", help="The zone in which the fields are read; UTC unless given.")
@click.option("--after", metavar="TIME", help="Fire times later than this; now unless given.")
@click.option("--count", type=click.IntRange(1, COUNT_MAX), default=5, show_default=True, help="How many.")
@click.option("--gap", type=click.Choice(["shift", "skip"]), help="When the clocks skip the time.")
@click.option("--fold", type=click.Choice(["first", "last", "both"]), help="When they show it twice.")
@json_option
def next_times(
    expression: str,
    tz: str | None,
    after: str | None,
    count: int,
    gap: str | None,
    fold: str | None,
    as_json: bool,
) -> None:
    """Show when a cron expression, or `every 5m`, fires next.

    \b
    Example:
      fencepost next "30 2 * * *" --tz Europe/Berlin --after 2026-03-28 --count 3
    """
    from fencepost.model.times import to_utc_text

    trigger = _trigger(expression, tz, gap, fold)
    times = trigger.next(_after(after, tz), count)
    if as_json:
        print_json([to_utc_text(one) for one in times])
    elif times:
        print_table(("UTC", "LOCAL"), [(to_utc_text(one), shown_time(one, tz)) for one in times])
    else:
        click.echo("no more fire times", err=True)


def _trigger(expression: str, tz: str | None, gap: str | None, fold: str | None) -> Cron | Every:
    from fencepost.triggers import Cron, Every
    from fencepost.triggers.dst import checked_fold, checked_gap

    if not expression.strip().startswith(EVERY):
        return Cron(expression, tz=tz or "UTC", gap=checked_gap(gap), fold=checked_fold(fold))
    if gap is not None or fold is not None:
        raise UsageError("--gap and --fold have no meaning with an interval, which keeps its beat")
    return Every(expression.strip().removeprefix(EVERY).strip())


def _after(text: str | None, tz: str | None) -> datetime:
    from fencepost.clock import SystemClock

    return SystemClock().wall() if text is None else read_time("--after", text, tz or "UTC")
