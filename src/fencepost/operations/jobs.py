"""The verbs of jobs."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from msgspec import Meta, field

from fencepost.model.access import Role
from fencepost.model.identifiers import KEY_LENGTH_MAX
from fencepost.operations.operation import Asked, Change, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.shapes.jobs import Enqueued, JobPage, JobShape, job_shape
from fencepost.operations.words import Moment, Name, Text, read_instant
from fencepost.services.control import Control
from fencepost.services.desks.runs import known_job

JobText = Annotated[Name, Meta(description="The job's name.", examples=["resize"])]


class ListJobs(Asked, frozen=True, kw_only=True):
    """Which jobs to list."""

    text: Annotated[Text, Meta(description="The job's name contains this.")] | None = None
    queue: Name | None = None
    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class OneJob(Asked, frozen=True, kw_only=True):
    """One job, by its name."""

    job: JobText


class Enqueue(Change, frozen=True, kw_only=True):
    """Which job to run, with what, and when."""

    job: JobText
    key: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=KEY_LENGTH_MAX,
                description="A second call with the same key changes nothing. Printable characters other "
                "than #; over HTTP one that is made of the `Idempotency-Key` unless given.",
                examples=["resize-7"],
            ),
        ]
        | None
    ) = None
    at: Annotated[Moment, Meta(max_length=64, description="When it is due; at once unless given.")] | None = (
        None
    )
    payload: Annotated[dict[str, Any], Meta(description="What the job is given.")] = field(
        default_factory=dict
    )


@operation("jobs.list", "GET /jobs", Role.VIEWER)
async def list_jobs(control: Control, asked: ListJobs) -> JobPage:
    """List the jobs that are registered in the store, by name, and say what each takes and does."""
    found = (
        one
        for one in (await control.jobs()).values()
        if (asked.text is None or asked.text in one.name) and asked.queue in (None, one.queue)
    )
    page, after = sliced(found, lambda one: (str(one.name),), tuple[str], asked.limit, asked.after)
    return JobPage(items=[job_shape(one) for one in page], next=after)


@operation("jobs.show", "GET /jobs/{job}", Role.VIEWER)
async def show_job(control: Control, asked: OneJob) -> JobShape:
    """Show one job."""
    return job_shape(await known_job(control.store, control.namespace, asked.job))


@operation("jobs.enqueue", "POST /jobs/{job}/enqueue", Role.OPERATOR)
async def enqueue(control: Control, asked: Enqueue) -> Enqueued:
    """Enqueue one run of a job.

    A second call with the same key changes nothing."""
    due = None if asked.at is None else read_instant("at", asked.at)
    key = asked.key if asked.key is not None else own_key(control)
    run_key, new = await control.runs.enqueue(asked.job, asked.payload, key, due)
    return Enqueued(run_key=run_key, new=new)


def own_key(control: Control) -> str | None:
    """Of a call that may be repeated: the same each time, and met by no other caller's key nor by this one
    once it is forgotten."""
    if control.asked_key is None:
        return None
    whose = "" if control.principal is None else control.principal.credential_id
    words = whose, str(control.asked_at), control.asked_key
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
