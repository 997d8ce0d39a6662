"""`fencepost enqueue`: one run by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fencepost.cli.options import Place, changes_store, json_option, tz_option
from fencepost.cli.output import print_json
from fencepost.cli.reading import read_payload, read_time, read_when

if TYPE_CHECKING:
    from fencepost.operations.shapes.jobs import Enqueued


@click.command()
@click.argument("job", metavar="JOB")
@click.option("--key", metavar="KEY", help="A second call with the same key changes nothing.")
@click.option("--at", metavar="TIME", help="When it is due; at once unless given.")
@click.option("--delay", metavar="DURATION", help="How much later it is due, instead of --at.")
@click.option("--payload", metavar="JSON", help="What the job is given: a JSON object.")
@click.option("--queue", metavar="NAME", help="Another queue than the job's own.")
@click.option("--priority", type=int, help="1 (first) to 4 (last), instead of the job's own.")
@click.option(
    "--unique",
    metavar="FOR",
    help="Change nothing where a run of this job and payload is there that is queued or unfinished, or for a "
    "period, such as 1h, after it was enqueued.",
)
@click.option("--unique-name", metavar="NAME", help="What --unique goes by, instead of the payload.")
@click.option(
    "--expires",
    metavar="WHEN",
    help="End it as missed unless it has begun by this time, or so long after it is due.",
)
@tz_option
@changes_store
@json_option
def enqueue(
    job: str,
    at: str | None,
    payload: str | None,
    expires: str | None,
    tz: str | None,
    place: Place,
    as_json: bool,
    **options: Any,
) -> None:
    """Enqueue one run of a job and print its key.

    \b
    Example:
      fencepost enqueue resize --key resize-7 --payload '{"image_id": 7}'
      fencepost enqueue totals --unique queued --expires 10m
    """
    from fencepost.cli.calling import call
    from fencepost.model.times import to_utc_text
    from fencepost.operations.jobs import Enqueue, enqueue

    asked = Enqueue(
        job=job,
        at=None if at is None else to_utc_text(read_time("--at", at, tz)),
        payload=read_payload(payload) or {},
        expires=None if expires is None else read_when("--expires", expires, tz),
        **options,
    )
    enqueued = call(place, enqueue, asked)
    if as_json:
        print_json(enqueued)
        return
    click.echo(enqueued.run_key)
    if not enqueued.new:
        click.echo(_why_nothing(asked.unique, enqueued), err=True)


def _why_nothing(unique: str | None, there: Enqueued) -> str:
    if unique is None:
        return "this key was there already; nothing was enqueued"
    return f"{there.run_key} is there already; nothing was enqueued"
