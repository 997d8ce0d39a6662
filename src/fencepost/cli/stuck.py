"""`fencepost runs stuck`: runs that were started and do not get on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.faults import NO
from fencepost.cli.options import Place, ask, in_store, json_option, tz_option
from fencepost.cli.output import brief, print_json, print_table, shown_span, shown_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.services.accounting import StuckRun
    from fencepost.services.control import Control


@click.command()
@click.option("--older-than", metavar="DURATION", help="Also whatever has been running longer than that.")
@tz_option
@in_store
@json_option
@click.pass_context
def stuck(
    context: click.Context, older_than: str | None, tz: str | None, place: Place, as_json: bool
) -> None:
    """List runs that were started and whose worker shows no life, by job, the oldest first.

    A job that hangs may look alive for ever: --older-than finds it. Exit 1 where there are any.

    \b
    Example:
      fencepost runs stuck --older-than 2h
    """
    found = ask(place, lambda control: _stuck(control, older_than))
    if as_json:
        from fencepost.cli.account_shapes import stuck_json

        print_json([stuck_json(one) for one in found])
    elif found:
        _print_stuck(found, tz)
    else:
        click.echo("no run is stuck", err=True)
    if found:
        context.exit(NO)


async def _stuck(control: Control, older_than: str | None) -> Sequence[StuckRun]:
    from fencepost.cli.reading import read_duration
    from fencepost.services.accounting import AuditDesk

    older_than_s = None if older_than is None else read_duration("--older-than", older_than).total_seconds()
    return await AuditDesk(control.store, control.namespace).stuck(older_than_s)


def _print_stuck(found: Sequence[StuckRun], tz: str | None) -> None:
    print_table(
        ("JOB", "AGE", "RUN", "WORKER", "STARTED", "ATTEMPT", "WHY"),
        [
            (
                one.run.job,
                shown_span(one.age.total_seconds()),
                one.run.run_key,
                one.run.worker,
                shown_time(one.run.started_at, tz),
                one.run.attempt,
                brief(one.why),
            )
            for one in found
        ],
    )
