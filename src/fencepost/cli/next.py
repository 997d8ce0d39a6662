"""`fencepost next`: the fire times of an expression."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from fencepost.cli.expressions import Asked, takes_expression
from fencepost.cli.options import json_option
from fencepost.cli.output import print_json, print_table, shown_time

if TYPE_CHECKING:
    from fencepost.triggers import Combinable

COUNT_MAX = 10_000


@click.command("next")
@takes_expression
@click.option("--count", type=click.IntRange(1, COUNT_MAX), default=5, show_default=True, help="How many.")
@click.option("--previous", is_flag=True, help="The last ones before --after instead, the nearest first.")
@json_option
def next_times(asked: Asked, count: int, previous: bool, as_json: bool) -> None:
    """Show when an expression fires next.

    EXPR is a cron expression, `every 5m`, `every 1 month`, `@every 5m` or an RRULE. What the clocks' next
    changes do to it is said below the fire times.

    \b
    Example:
      fencepost next "30 2 * * *" --tz Europe/Berlin --after 2026-03-28 --count 3
      fencepost next "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18" --tz Europe/Berlin
      fencepost next "H H * * *" --id nightly-backup
    """
    from fencepost.model.times import to_utc_text

    trigger, after = asked.trigger(), asked.moment()
    times = _previous(trigger, after, count) if previous else trigger.next(after, count)
    if as_json:
        print_json([to_utc_text(one) for one in times])
        return
    click.echo(trigger.describe())
    _print_times(times, trigger, asked.tz, previous)
    _print_changes(trigger, after)


def _previous(trigger: Combinable, before: datetime, count: int) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < count and (moment := trigger.previous(before)) is not None:
        found.append(moment)
        before = moment
    return found


def _print_times(times: list[datetime], trigger: Combinable, tz: str | None, previous: bool) -> None:
    from fencepost.cli.trigger_views import zone_shown
    from fencepost.model.times import to_utc_text

    if not times:
        click.echo(f"no {'earlier' if previous else 'more'} fire times", err=True)
        return
    shown_in = zone_shown(trigger, tz)
    print_table(("UTC", "LOCAL"), [(to_utc_text(one), shown_time(one, shown_in)) for one in times])


def _print_changes(trigger: Combinable, after: datetime) -> None:
    from fencepost.cli.trigger_views import changes_ahead, print_changes

    print_changes(changes_ahead(trigger, after))
