"""`fencepost enqueue`: one run by hand."""

from __future__ import annotations

import click

from fencepost.cli.options import Place, ask, changes_store, json_option, tz_option
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
    given = read_payload(payload) or {}
    due = None if at is None else read_time("--at", at, tz)
    run_key, new = ask(place, lambda control: control.runs.enqueue(job, given, key, due))
    if as_json:
        print_json({"run_key": run_key, "new": new})
        return
    click.echo(run_key)
    if not new:
        click.echo("this key was there already; nothing was enqueued", err=True)
