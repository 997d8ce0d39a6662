"""`fencepost next`: the fire times of an expression."""

from __future__ import annotations

from typing import Any

import click

from fencepost.cli.expressions import expression_voice, takes_expression
from fencepost.cli.options import json_option
from fencepost.cli.output import print_json, print_table, shown_moment
from fencepost.cli.trigger_views import print_changes, zone_shown
from fencepost.clock import SystemClock
from fencepost.operations.responses.triggers import NextResponse
from fencepost.operations.triggers import NextTimesRequest
from fencepost.operations.triggers import next_times as find

COUNT_MAX = 10_000


@click.command("next")
@takes_expression
@click.option("--count", type=click.IntRange(1, COUNT_MAX), default=5, show_default=True, help="How many.")
@click.option("--previous", is_flag=True, help="The last ones before --after instead, the nearest first.")
@json_option
def next_times(given: dict[str, Any], count: int, previous: bool, as_json: bool) -> None:
    """Show when an expression fires next.

    EXPR is a cron expression, `every 5m`, `every 1 month`, `@every 5m` or an RRULE. What the clocks' next
    changes do to it is said below the fire times.

    \b
    Example:
      fencepost next "30 2 * * *" --tz Europe/Berlin --after 2026-03-28 --count 3
      fencepost next "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18" --tz Europe/Berlin
      fencepost next "H H * * *" --id nightly-backup
    """
    request = NextTimesRequest(**given, count=count, previous=previous)
    found = find(request, SystemClock().wall(), expression_voice())
    if as_json:
        print_json(found.times)
        return
    click.echo(found.description)
    _print_times(found, request.tz, previous)
    _print_changes(found)


def _print_times(found: NextResponse, tz: str | None, previous: bool) -> None:
    if not found.times:
        click.echo(f"no {'earlier' if previous else 'more'} fire times", err=True)
        return
    shown_in = zone_shown(found.zones, tz)
    print_table(("UTC", "LOCAL"), [(one, shown_moment(one, shown_in)) for one in found.times])


def _print_changes(found: NextResponse) -> None:
    print_changes(found.changes)
