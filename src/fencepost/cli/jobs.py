"""`fencepost jobs`: what can run."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.cli.commands import command, listing
from fencepost.cli.nouns import jobs
from fencepost.cli.output import print_fields, print_table, shown_span
from fencepost.operations.jobs import list_jobs, show_job
from fencepost.operations.responses.jobs import JobResponse


@listing(list_jobs, jobs, "fencepost jobs list --text invoice", none="no jobs", limit=500)
def _listed(found: Sequence[JobResponse]) -> None:
    print_table(("JOB", "QUEUE", "DESCRIPTION"), [(one.job, one.queue, one.description) for one in found])


@command(show_job, jobs, "fencepost jobs show send_invoices")
def _shown(found: JobResponse) -> None:
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


def _payload(job: JobResponse) -> str:
    names = [f"{one.name}: {one.kind}{'' if one.required else ' (optional)'}" for one in job.parameters]
    return ", ".join([*names, *(["any others"] if job.open_payload else [])])
