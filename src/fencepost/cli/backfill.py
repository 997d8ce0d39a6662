"""`fencepost backfill` and `fencepost backfills`: run a range of the past after the fact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from fencepost.cli.faults import FINE, INTERRUPTED, NO
from fencepost.cli.options import Place, ask, changes_store, in_store, json_option, tz_option
from fencepost.cli.output import print_json

if TYPE_CHECKING:
    from fencepost.model.backfill import Backfill, NewBackfill
    from fencepost.services.control import Control
    from fencepost.services.desks.backfills import Estimate

LIST_MAX = 10_000
NUMBER_MAX = 2**63 - 1
number_argument = click.argument("backfill_id", metavar="N", type=click.IntRange(1, NUMBER_MAX))


@dataclass(frozen=True)
class Given:
    """What was typed."""

    schedule_id: str
    since: str
    until: str
    parallel: int
    rate: str | None
    missed: bool
    force: bool
    tz: str | None


@click.command()
@click.argument("schedule_id", metavar="ID")
@click.option("--from", "since", metavar="TIME", required=True, help="From this fire time on; also 7d ago.")
@click.option("--to", "until", metavar="TIME", required=True, help="Up to this fire time; 0s is now.")
@click.option("--parallel", type=click.IntRange(1), default=1, show_default=True, help="So many at once.")
@click.option("--rate", metavar="RATE", help="At most so many a time: 5/s, 10/m, 100/h.")
@click.option("--missed", is_flag=True, help="Also what was missed or skipped.")
@click.option("--force", is_flag=True, help="Also what ended in any other way, or may have: it runs again.")
@click.option("--dry-run", is_flag=True, help="Only say what would run, and for how long.")
@click.option("--detach", is_flag=True, help="Start it and do not wait.")
@tz_option
@changes_store
@json_option
@click.pass_context
def backfill(
    context: click.Context,
    schedule_id: str,
    since: str,
    until: str,
    parallel: int,
    rate: str | None,
    missed: bool,
    force: bool,
    dry_run: bool,
    detach: bool,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Run the fire times of a range that nothing accounts for, behind all live work.

    It says first what would run. Then it writes the runs, and shows how they go until all have ended; Ctrl-C
    leaves them to the workers. Each runs by the version that was in force at its time; where none was, before
    the first and in pauses, by the latest. What is older than what retention keeps may have run, and does not
    run without --force. Exit 1 where one of its runs died.

    \b
    Example:
      fencepost backfill invoices --from 2026-03-01 --to 2026-03-08 --dry-run
      fencepost backfill report --from 7d --to 0s --parallel 4 --rate 10/m --missed
    """
    given = Given(schedule_id, since, until, parallel, rate, missed, force, tz)
    estimate = ask(place, lambda control: _estimate(control, given))
    only_look = dry_run or not estimate.account.to_run
    if only_look or not as_json:
        _print_estimate(estimate, as_json)
    _print_warnings(estimate)
    if only_look:
        return
    started = ask(place, lambda control: control.backfills.start(estimate.asked))
    click.echo(f"backfill {started.backfill_id}: started", err=True)
    _carry_on(context, started, estimate, detach, place, as_json)


@click.group()
def backfills() -> None:
    """Look at backfills, watch them and cancel them.

    \b
    Example:
      fencepost backfills list
    """


@backfills.command("list")
@click.option("--limit", type=click.IntRange(1, LIST_MAX), default=20, show_default=True, help="How many.")
@tz_option
@in_store
@json_option
def list_backfills(limit: int, tz: str | None, place: Place, as_json: bool) -> None:
    """List backfills, the latest first.

    \b
    Example:
      fencepost backfills list
    """
    found = ask(place, lambda control: control.backfills.list(limit))
    if as_json:
        from fencepost.cli.desk_shapes import backfill_json

        print_json([backfill_json(one) for one in found])
    elif found:
        from fencepost.cli.backfill_views import print_backfills

        print_backfills(found, tz)
    else:
        click.echo("no backfills", err=True)


@backfills.command()
@number_argument
@tz_option
@in_store
@json_option
def show(backfill_id: int, tz: str | None, place: Place, as_json: bool) -> None:
    """Show one backfill: what was asked for, how far it is, and how its runs stand.

    \b
    Example:
      fencepost backfills show 3
    """
    _print(ask(place, lambda control: control.backfills.get(backfill_id)), tz, as_json)


@backfills.command()
@number_argument
@tz_option
@changes_store
@json_option
def cancel(backfill_id: int, tz: str | None, place: Place, as_json: bool) -> None:
    """Cancel what of a backfill waits; what runs is let finish.

    What nobody has begun ends as missed.

    \b
    Example:
      fencepost backfills cancel 3 --reason "the wrong week"
    """
    _print(ask(place, lambda control: control.backfills.cancel(backfill_id)), tz, as_json)


@backfills.command()
@number_argument
@tz_option
@in_store
@json_option
@click.pass_context
def watch(context: click.Context, backfill_id: int, tz: str | None, place: Place, as_json: bool) -> None:
    """Watch a backfill until all its runs have ended. Exit 1 where one of them died.

    \b
    Example:
      fencepost backfills watch 3
    """
    found = ask(place, lambda control: control.backfills.get(backfill_id))
    over = _watched(context, found, None, place)
    _print(over, tz, as_json)
    context.exit(_code(over))


def _carry_on(
    context: click.Context,
    started: Backfill,
    estimate: Estimate,
    detach: bool,
    place: Place,
    as_json: bool,
) -> None:
    """Fill it and watch it; whoever does not want to wait leaves it to the nodes that plan."""
    now = started if detach else _watched(context, started, estimate.account.to_run, place)
    if as_json:
        from fencepost.cli.desk_shapes import backfill_json, estimate_json

        print_json({**backfill_json(now), "estimate": estimate_json(estimate)})
    elif detach:
        click.echo(_how_to_watch(started.backfill_id))
    else:
        _print(now, None, as_json)
    context.exit(FINE if detach else _code(now))


def _watched(context: click.Context, backfill: Backfill, expected: int | None, place: Place) -> Backfill:
    from fencepost.cli.watching import fill_and_watch

    try:
        return ask(place, lambda control: fill_and_watch(control, backfill, expected))
    except KeyboardInterrupt:
        click.echo(f"\nit goes on by itself; {_how_to_watch(backfill.backfill_id)}", err=True)
        context.exit(INTERRUPTED)


def _how_to_watch(number: int) -> str:
    watch, stop = f"fencepost backfills watch {number}", f"fencepost backfills cancel {number}"
    return f"watch it with: {watch}; stop it with: {stop}"


async def _estimate(control: Control, given: Given) -> Estimate:
    return await control.backfills.estimate(await _asked(control, given))


async def _asked(control: Control, given: Given) -> NewBackfill:
    from datetime import datetime

    from fencepost.cli.reading import read_rate, read_since
    from fencepost.model.backfill import FillMode, NewBackfill
    from fencepost.model.identifiers import ScheduleId

    await control.schedules.get(given.schedule_id)
    now = await control.store.now()
    mode = FillMode.ALL if given.force else FillMode.MISSED if given.missed else FillMode.MISSING
    return NewBackfill(
        schedule_id=ScheduleId(given.schedule_id),
        # People mean the first fire time too; the range itself is open at its beginning.
        since=read_since("--from", given.since, given.tz, now) - datetime.resolution,
        until=read_since("--to", given.until, given.tz, now),
        mode=mode,
        at_once_max=given.parallel,
        every_s=read_rate("--rate", given.rate),
    )


def _print_estimate(estimate: Estimate, as_json: bool) -> None:
    if as_json:
        from fencepost.cli.desk_shapes import estimate_json

        print_json(estimate_json(estimate))
    else:
        from fencepost.cli.backfill_views import print_estimate

        print_estimate(estimate)


def _print_warnings(estimate: Estimate) -> None:
    from fencepost.cli.backfill_views import print_warnings

    print_warnings(estimate)


def _print(found: Backfill, tz: str | None, as_json: bool) -> None:
    if as_json:
        from fencepost.cli.desk_shapes import backfill_json

        print_json(backfill_json(found))
    else:
        from fencepost.cli.backfill_views import print_backfill

        print_backfill(found, tz)


def _code(found: Backfill) -> int:
    from fencepost.model.run import RunState

    return NO if found.runs.get(RunState.DEAD) else FINE
