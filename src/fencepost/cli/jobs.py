"""`fencepost jobs`: what can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fencepost.cli.filters import limit_option
from fencepost.cli.groups import CommandGroup
from fencepost.cli.options import Place, asks, json_option
from fencepost.cli.output import print_fields, print_json, print_table, shown_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.operations.shapes.jobs import JobShape


@click.group(cls=CommandGroup)
def jobs() -> None:
    """Look at the jobs that are registered in the store.

    \b
    Example:
      fencepost jobs list --queue mail
    """


@jobs.command("list")
@click.option("--text", metavar="TEXT", help="Only jobs whose name contains this.")
@click.option("--queue", metavar="NAME", help="Only jobs of this queue.")
@limit_option(500)
@asks
@json_option
def list_jobs(text: str | None, queue: str | None, limit: int, place: Place, as_json: bool) -> None:
    """List jobs by name, and say what each takes and does.

    \b
    Example:
      fencepost jobs list --text invoice
    """
    from fencepost.cli.calling import pages
    from fencepost.operations.jobs import ListJobs, list_jobs

    found = pages(place, list_jobs, ListJobs(text=text, queue=queue), limit)
    if as_json:
        print_json(found)
    else:
        _print_jobs(found)


@jobs.command("show")
@click.argument("job", metavar="JOB")
@asks
@json_option
def show(job: str, place: Place, as_json: bool) -> None:
    """Show one job: what it takes, and how its failures are treated.

    \b
    Example:
      fencepost jobs show send_invoices
    """
    from fencepost.cli.calling import call
    from fencepost.operations.jobs import OneJob, show_job

    found = call(place, show_job, OneJob(job=job))
    if as_json:
        print_json(found)
        return
    print_fields(
        [
            ("job", found.job),
            ("description", found.description),
            ("queue", found.queue),
            ("priority", found.priority),
            ("attempts", found.retry.max_attempts),
            ("timeout", shown_span(found.timeout_s)),
            ("progress deadline", shown_span(found.progress_deadline_s)),
            ("delivery", found.delivery),
            ("payload", _payload(found)),
        ]
    )


def _print_jobs(found: Sequence[JobShape]) -> None:
    if not found:
        click.echo("no jobs", err=True)
        return
    print_table(("JOB", "QUEUE", "DESCRIPTION"), [(one.job, one.queue, one.description) for one in found])


def _payload(job: JobShape) -> str:
    names = [f"{one.name}: {one.kind}{'' if one.required else ' (optional)'}" for one in job.parameters]
    return ", ".join([*names, *(["any others"] if job.open_payload else [])])
