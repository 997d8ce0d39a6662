"""The verbs of jobs."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from msgspec import Meta, field

from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.enqueue_options import AS_THE_JOB_SAYS, EnqueueOptions
from fencepost.model.enqueueing import NAME_LENGTH_MAX as UNIQUE_LENGTH_MAX
from fencepost.model.enqueueing import Entered, Unique
from fencepost.model.identifiers import KEY_LENGTH_MAX
from fencepost.model.job import PRIORITY_FIRST, PRIORITY_LAST
from fencepost.model.json import JsonObject
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.jobs import Enqueued, JobPage, JobResponse, job_response
from fencepost.operations.words import (
    PLAIN_PATTERN,
    WHEN_OR_AFTER,
    Moment,
    Name,
    Text,
    Word,
    read_instant,
    read_instant_or_length,
)
from fencepost.services.enqueueing import enqueue as write_runs
from fencepost.services.enqueueing import new_run
from fencepost.services.lookups import known_job

JobText = Annotated[Name, Meta(description="The job's name.", examples=["resize"])]


class ListJobsRequest(Request, frozen=True, kw_only=True):
    """Which jobs to list."""

    text: Annotated[Text, Meta(description="Only jobs whose name contains this.")] | None = None
    queue: Annotated[Name, Meta(description="Only jobs of this queue.")] | None = None
    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class JobRequest(Request, frozen=True, kw_only=True):
    """One job, by its name."""

    job: JobText


class EnqueueRequest(ChangeRequest, frozen=True, kw_only=True):
    """Which job to run, with what, and when."""

    job: JobText
    key: Annotated[
        Annotated[str, Meta(min_length=1, max_length=KEY_LENGTH_MAX)] | None,
        Meta(
            description="A second call with the same key changes nothing; printable characters other than #. "
            "Over HTTP it is made of the `Idempotency-Key` unless given.",
            examples=["resize-7"],
        ),
    ] = None
    at: Annotated[
        Annotated[Moment, Meta(max_length=64)] | None,
        Meta(description="When it is due; at once unless given."),
    ] = None
    delay: Annotated[
        Word | None, Meta(description="How much later it is due, instead of `at`.", examples=["5m"])
    ] = None
    queue: Annotated[Name | None, Meta(description="Another queue than the job's own.")] = None
    priority: Annotated[
        Annotated[int, Meta(ge=PRIORITY_FIRST, le=PRIORITY_LAST)] | None,
        Meta(description="1 (first) to 4 (last), instead of the job's own."),
    ] = None
    unique: Annotated[
        Word | None,
        Meta(
            description="Nothing is written while a run of this job and payload is `queued` or `unfinished`, "
            "or for a period, such as `1h`, after it was enqueued.",
            examples=["unfinished"],
        ),
    ] = None
    unique_name: Annotated[
        Annotated[str, Meta(min_length=1, max_length=UNIQUE_LENGTH_MAX, pattern=PLAIN_PATTERN)] | None,
        Meta(description="What `unique` goes by instead of the payload."),
    ] = None
    expires: Annotated[
        Word | None,
        Meta(
            description="It ends as `missed` unless it begins by then: an instant, or `10m` after it is due.",
            examples=["10m"],
            extra={"reads": WHEN_OR_AFTER},
        ),
    ] = None
    payload: Annotated[dict[str, Any], Meta(description="What the job is given: a JSON object.")] = field(
        default_factory=dict
    )


@operation("jobs.list", "GET /jobs", Role.VIEWER)
async def list_jobs(control: Control, request: ListJobsRequest) -> JobPage:
    """List jobs by name, and say what each takes and does."""
    found = (
        one
        for one in (await control.jobs()).values()
        if (request.text is None or request.text in one.name) and request.queue in (None, one.queue)
    )
    page, after = sliced(found, lambda one: (str(one.name),), tuple[str], request.limit, request.after)
    return JobPage(items=[job_response(one) for one in page], next=after)


@operation("jobs.show", "GET /jobs/{job}", Role.VIEWER)
async def show_job(control: Control, request: JobRequest) -> JobResponse:
    """Show one job: what it takes, and how its failures are treated."""
    return job_response(await known_job(control.store, control.namespace, request.job))


@operation(
    "jobs.enqueue",
    "POST /jobs/{job}/enqueue",
    Role.OPERATOR,
    example={"key": "resize-7", "payload": {"image_id": 7}},
)
async def enqueue(control: Control, request: EnqueueRequest) -> Enqueued:
    """Enqueue one run of a job.

    A second call with the same key changes nothing, nor does one whose run is to be unique and is not."""
    key = request.key if request.key is not None else own_key(control)
    run_key, new = await enqueue_run(control, request.job, request.payload, key, _options(request))
    return Enqueued(run_key=run_key, new=new)


def _options(request: EnqueueRequest) -> EnqueueOptions:
    """What is said beside the payload and the key."""
    if request.unique_name is not None and request.unique is None:
        raise UsageError('unique_name: has no meaning without unique; say "queued", "unfinished" or a period')
    return EnqueueOptions(
        at=None if request.at is None else read_instant("at", request.at),
        delay=request.delay,
        queue=request.queue,
        priority=request.priority,
        unique=None if request.unique is None else Unique(request.unique, request.unique_name),
        expires=None if request.expires is None else read_instant_or_length("expires", request.expires),
    )


def own_key(control: Control) -> str | None:
    """Of a call that may be repeated: the same each time, and met by no other caller's key nor by this one
    once it is forgotten."""
    if control.idempotency_key is None:
        return None
    whose = "" if control.principal is None else control.principal.credential_id
    words = whose, str(control.requested_at), control.idempotency_key
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]


async def enqueue_run(
    control: Control,
    job: str,
    payload: JsonObject,
    key: str | None = None,
    options: EnqueueOptions = AS_THE_JOB_SAYS,
) -> Entered:
    """One run by hand; the key of the run that is there for it, and whether it is new."""
    spec = await known_job(control.store, control.namespace, job)
    run = new_run(spec, payload, key, options.checked())
    control.run_quota.take(1)
    (entered,) = await write_runs(control.store.ledger, control.namespace, [run], control.author)
    return entered
