"""`fencepost runs stuck`: runs that were started and do not get on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from msgspec.structs import asdict

from fencepost.cli.calling import ALL, pages
from fencepost.cli.faults import NO
from fencepost.cli.options import Place, asks, json_option, tz_option
from fencepost.cli.output import brief, print_json, print_table, shown_moment, shown_span
from fencepost.cli.requests import takes
from fencepost.cli.run_views import shown_progress
from fencepost.operations.responses.accounts import StuckRunResponse
from fencepost.operations.stuck import ListStuckRequest, find_stuck


@click.command()
@takes(ListStuckRequest)
@tz_option
@asks
@json_option
@click.pass_context
def stuck(
    context: click.Context, request: ListStuckRequest, tz: str | None, place: Place, as_json: bool
) -> None:
    """List runs that were started and whose worker shows no life, by job, the oldest first.

    Also those that say nothing past their job's progress deadline. A job without one that hangs may look
    alive for ever: --older-than finds it. Exit 1 where there are any.

    \b
    Example:
      fencepost runs stuck --older-than 2h
    """
    found = pages(place, find_stuck, request, ALL)
    if as_json:
        print_json([_document(one) for one in found])
    elif found:
        _print_stuck(found, tz)
    else:
        click.echo("no run is stuck", err=True)
    if found:
        context.exit(NO)


def _document(stuck: StuckRunResponse) -> dict[str, Any]:
    """What is wrong first, then the run."""
    return {"why": stuck.why, "age_s": stuck.age_s, **asdict(stuck)}


def _print_stuck(found: Sequence[StuckRunResponse], tz: str | None) -> None:
    print_table(
        ("JOB", "AGE", "RUN", "WORKER", "STARTED", "ATTEMPT", "PROGRESS", "WHY"),
        [
            (
                one.job,
                shown_span(one.age_s),
                one.run_key,
                one.worker,
                shown_moment(one.started_at, tz),
                one.attempt,
                brief(" ".join(filter(None, (shown_progress(one.progress), one.note)))),
                brief(one.why),
            )
            for one in found
        ],
    )
