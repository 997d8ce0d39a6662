"""Jobs: what is registered, what follows from its policies, and a run of it by hand."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.core.completeness import COMPLETENESS_WINDOW_S, completeness
from fencepost.model.access import Role
from fencepost.model.identifiers import JobName
from fencepost.model.run import RunFilter
from fencepost.operations import runs as run_operations
from fencepost.operations.jobs import JobRequest, ListJobsRequest, list_jobs, show_job
from fencepost.operations.paging import CURSOR_LENGTH_MAX
from fencepost.operations.responses.jobs import JobResponse
from fencepost.operations.words import PLAIN_PATTERN
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Rendered, Shown, Visit, page

LIMIT = 50
RUNS_SHOWN = 15
SAMPLES: dict[str, Any] = {
    "string": "",
    "secret": "secret:",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "array": [],
    "object": {},
}


class JobsQuery(Struct, frozen=True):
    """Which jobs."""

    text: Annotated[str, Meta(max_length=300, pattern=PLAIN_PATTERN)] = ""
    queue: Annotated[str, Meta(max_length=300, pattern=PLAIN_PATTERN)] = ""
    after: Annotated[str, Meta(max_length=CURSOR_LENGTH_MAX)] = ""


@page("/jobs", Role.VIEWER, title="Jobs", template="jobs.html", section="jobs", query=JobsQuery)
async def jobs_page(visit: Visit[JobsQuery]) -> Shown:
    """A page of them, by name, with how the ticks of each stood in the last day."""
    query, control = visit.query, visit.control
    request = ListJobsRequest(
        text=query.text.strip() or None,
        queue=query.queue.strip() or None,
        limit=LIMIT,
        after=query.after or None,
    )
    found, tallies = await asyncio.gather(
        list_jobs.carry_out(control, request),
        control.store.ledger.tally_by_job(control.namespace, COMPLETENESS_WINDOW_S),
    )
    chosen = {"text": query.text, "queue": query.queue}
    return {
        "jobs": [(one, tallies.get(JobName(one.job), {})) for one in found.items],
        "completeness": completeness,
        "query": query,
        "chosen": any(chosen.values()),
        "next_url": None if not found.next else links.with_query("/jobs", {**chosen, "after": found.next}),
        "first_url": links.with_query("/jobs", chosen) if query.after else None,
    }


@page("/jobs/{job}", Role.VIEWER, title="Job", template="job.html", section="jobs")
async def job_page(visit: Visit[Any]) -> Shown:
    """One job: its policies, its latest runs, and a form that enqueues one."""
    control, name = visit.control, visit.path["job"]
    job = await show_job.carry_out(control, JobRequest(job=name))
    runs = await run_operations.find_runs(control, RunFilter(job=JobName(name), limit=RUNS_SHOWN))
    return Rendered({"job": job, "runs": runs, "sample": sample_payload(job)}, title=name)


def sample_payload(job: JobResponse) -> str:
    """A payload to begin with: the names that it must have."""
    known = {one.name: SAMPLES.get(one.kind, "") for one in job.parameters if one.required}
    return json.dumps(known, indent=2)
