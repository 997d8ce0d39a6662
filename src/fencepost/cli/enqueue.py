"""`fencepost enqueue`: one run by hand."""

from __future__ import annotations

import click

from fencepost.cli.calling import call
from fencepost.cli.options import Place, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.requests import takes
from fencepost.operations.jobs import EnqueueRequest
from fencepost.operations.jobs import enqueue as enqueue_run
from fencepost.operations.responses.jobs import Enqueued


@click.command()
@takes(EnqueueRequest, arguments=("job",))
@tz_option
@changes_store
@json_option
def enqueue(request: EnqueueRequest, tz: str | None, place: Place, as_json: bool) -> None:
    """Enqueue one run of a job and print its key.

    \b
    Example:
      fencepost enqueue resize --key resize-7 --payload '{"image_id": 7}'
      fencepost enqueue totals --unique queued --expires 10m
    """
    enqueued = call(place, enqueue_run, request)
    if as_json:
        print_json(enqueued)
        return
    click.echo(enqueued.run_key)
    if not enqueued.new:
        click.echo(_why_nothing(request.unique, enqueued), err=True)


def _why_nothing(unique: str | None, there: Enqueued) -> str:
    if unique is None:
        return "this key was there already; nothing was enqueued"
    return f"{there.run_key} is there already; nothing was enqueued"
