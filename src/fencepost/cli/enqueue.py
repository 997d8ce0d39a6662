"""`fencepost enqueue`: one run by hand."""

from __future__ import annotations

import click

from fencepost.cli.options import Place, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.reading import read_payload, read_time


@click.command()
@click.argument("job", metavar="JOB")
@click.option("--key", metavar="KEY", help="A second call with the same key changes nothing.")
@click.option("--at", metavar="TIME", help="When it is due; at once unless given.")
@click.option("--payload", metavar="JSON", help="What the job is given: a JSON object.")
@tz_option
@changes_store
@json_option
def enqueue(
    job: str,
    key: str | None,
    at: str | None,
    payload: str | None,
    tz: str | None,
    place: Place,
    as_json: bool,
) -> None:
    """Enqueue one run of a job and print its key.

    \b
    Example:
      fencepost enqueue resize --key resize-7 --payload '{"image_id": 7}'
    """
    from fencepost.cli.calling import call
    from fencepost.model.times import to_utc_text
    from fencepost.operations.jobs import Enqueue, enqueue

    given = read_payload(payload) or {}
    due = None if at is None else to_utc_text(read_time("--at", at, tz))
    enqueued = call(place, enqueue, Enqueue(job=job, key=key, at=due, payload=given))
    if as_json:
        print_json(enqueued)
        return
    click.echo(enqueued.run_key)
    if not enqueued.new:
        click.echo("this key was there already; nothing was enqueued", err=True)
