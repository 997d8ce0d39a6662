"""`fencepost why`: the explanation of one tick."""

from __future__ import annotations

import click

from fencepost.cli.calling import call
from fencepost.cli.commands import show
from fencepost.cli.options import Place, asks, json_option, tz_option
from fencepost.cli.output import cell, shown_moment
from fencepost.cli.reading import read_time
from fencepost.model.times import to_utc_text
from fencepost.operations.responses.accounts import ExplanationResponse
from fencepost.operations.runs import RunRequest
from fencepost.operations.why import LATEST, TickRequest, why_run, why_tick


@click.command()
@click.argument("name", metavar="SCHEDULE|JOB|KEY")
@click.argument("fire_time", metavar="[TIME]", required=False)
@tz_option
@asks
@json_option
def why(name: str, fire_time: str | None, tz: str | None, place: Place, as_json: bool) -> None:
    """Say in plain words why a tick ran or did not run, and what would change that.

    The tick is named by its schedule and its fire time, or by its run key alone. Without a time it is the
    latest tick of that schedule, or the latest run of that job.

    \b
    Example:
      fencepost why invoices
      fencepost why invoices 2026-03-01T00:00:00Z
      fencepost why invoices 2026-03-29T02:30 --tz Europe/Berlin
      fencepost why 'invoices#2026-03-01T00:00:00Z#3'
    """
    show(_explanation(place, name, fire_time, tz), as_json, _print, name, tz)


def _print(explanation: ExplanationResponse, name: str, tz: str | None) -> None:
    what = explanation.schedule_id or name
    click.echo(f"{what} {shown_moment(explanation.fire_time, tz)}: {explanation.verdict}")
    for sentence in explanation.sentences:
        click.echo(f"  {cell(sentence)}")
    for remedy in explanation.remedies:
        click.echo(remedy)


def _explanation(place: Place, name: str, fire_time: str | None, tz: str | None) -> ExplanationResponse:
    if fire_time is not None:
        instant = to_utc_text(read_time("TIME", fire_time, tz))
        return call(place, why_tick, TickRequest(schedule_id=name, fire_time=instant))
    if "#" not in name:
        return call(place, why_tick, TickRequest(schedule_id=name, fire_time=LATEST))
    return call(place, why_run, RunRequest(run_key=name))
