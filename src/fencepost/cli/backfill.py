"""`fencepost backfill` and `fencepost backfills`: run a range of the past after the fact."""

from __future__ import annotations

from typing import Any

import click
from msgspec.structs import asdict

from fencepost.cli.backfill_views import print_backfill, print_backfills, print_estimate
from fencepost.cli.calling import Caller, calling
from fencepost.cli.commands import command, listing, show
from fencepost.cli.faults import FINE, INTERRUPTED, NO
from fencepost.cli.nouns import backfills
from fencepost.cli.options import Place, asks, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.reading import read_rate, read_when
from fencepost.cli.requests import takes
from fencepost.cli.watching import fill_and_watch
from fencepost.model.backfill import FillMode
from fencepost.model.dataclasses import dataclass
from fencepost.operations.backfills import (
    BackfillRequest,
    EstimateBackfillRequest,
    StartBackfillRequest,
    cancel_backfill,
    estimate_backfill,
    list_backfills,
    show_backfill,
    start_backfill,
)
from fencepost.operations.responses.backfills import BackfillResponse, EstimateResponse, first_instant


@dataclass(frozen=True)
class BackfillOptions:
    """What was typed."""

    schedule_id: str
    since: str
    until: str
    parallel: int
    rate: str | None
    missed: bool
    force: bool
    tz: str | None

    def words(self) -> dict[str, Any]:
        """As operations take it."""
        return {
            "schedule_id": self.schedule_id,
            "since": read_when("--from", self.since, self.tz),
            "until": read_when("--to", self.until, self.tz),
            "mode": FillMode.ALL if self.force else FillMode.MISSED if self.missed else FillMode.MISSING,
            "at_once_max": self.parallel,
            "every_s": read_rate("--rate", self.rate),
        }


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
    given = BackfillOptions(schedule_id, since, until, parallel, rate, missed, force, tz)
    with calling(place) as caller:
        estimate = _estimate(caller, given)
        only_look = dry_run or not estimate.to_run
        if only_look or not as_json:
            show(estimate, as_json, print_estimate)
        for one in estimate.warnings:
            click.echo(f"warning: {one}", err=True)
        if only_look:
            return
        # A length of time before now has become an instant, so that what was shown is what is started.
        meant = given.words() | {"since": first_instant(estimate.since), "until": estimate.until}
        started = caller.call(start_backfill, StartBackfillRequest(**meant))
        click.echo(f"backfill {started.backfill_id}: started", err=True)
        _carry_on(context, caller, started, estimate, detach, as_json)


listing(list_backfills, backfills, "fencepost backfills list", none="no backfills", limit=20, zoned=True)(
    print_backfills
)
command(show_backfill, backfills, "fencepost backfills show 3", zoned=True)(print_backfill)
command(cancel_backfill, backfills, 'fencepost backfills cancel 3 --reason "the wrong week"', zoned=True)(
    print_backfill
)


@backfills.command()
@takes(BackfillRequest, arguments=("backfill_id",))
@tz_option
@asks
@json_option
@click.pass_context
def watch(
    context: click.Context, request: BackfillRequest, tz: str | None, place: Place, as_json: bool
) -> None:
    """Watch a backfill until all its runs have ended. Exit 1 where one of them died.

    \b
    Example:
      fencepost backfills watch 3
    """
    with calling(place) as caller:
        found = caller.call(show_backfill, request)
        over = _watched(context, caller, found, None)
    show(over, as_json, print_backfill, tz)
    context.exit(_code(over))


def _carry_on(
    context: click.Context,
    caller: Caller,
    started: BackfillResponse,
    estimate: EstimateResponse,
    detach: bool,
    as_json: bool,
) -> None:
    """Fill it and watch it; whoever does not want to wait leaves it to the nodes that plan."""
    now = started if detach else _watched(context, caller, started, estimate.to_run)
    if as_json:
        print_json({**asdict(now), "estimate": estimate})
    elif detach:
        click.echo(_how_to_watch(started.backfill_id))
    else:
        show(now, as_json, print_backfill, None)
    context.exit(FINE if detach else _code(now))


def _watched(
    context: click.Context, caller: Caller, backfill: BackfillResponse, expected: int | None
) -> BackfillResponse:
    try:
        return fill_and_watch(caller, backfill, expected)
    except KeyboardInterrupt:
        click.echo(f"\nit goes on by itself; {_how_to_watch(backfill.backfill_id)}", err=True)
        context.exit(INTERRUPTED)


def _how_to_watch(number: int) -> str:
    watch, stop = f"fencepost backfills watch {number}", f"fencepost backfills cancel {number}"
    return f"watch it with: {watch}; stop it with: {stop}"


def _estimate(caller: Caller, given: BackfillOptions) -> EstimateResponse:
    return caller.call(estimate_backfill, EstimateBackfillRequest(**given.words()))


def _code(found: BackfillResponse) -> int:
    return NO if found.runs.get("dead") else FINE
