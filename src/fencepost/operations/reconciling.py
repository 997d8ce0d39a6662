"""The keys that another system has, held against the ledger, a batch at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta, field

from fencepost.core.reconciling import KeyBounds, judged_key
from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.identifiers import JobName, RunKey
from fencepost.model.run import RunRecord
from fencepost.operations.audit import BACKWARDS, Since, Until
from fencepost.operations.control import Control
from fencepost.operations.operation import Request, operation
from fencepost.operations.responses.accounts import KeysResponse, key_response
from fencepost.operations.runs import runs_by_key
from fencepost.operations.words import Name, RunKeyText, ScheduleIdText, moment, read_when
from fencepost.services.lookups import known_job, names_of, schedule_id_of

KEYS_MAX = 1_000


class CompareKeysRequest(Request, frozen=True, kw_only=True):
    """Which keys to judge, and within which bounds."""

    run_keys: Annotated[list[RunKeyText], Meta(max_length=KEYS_MAX)] = field(default_factory=list)
    schedule: (
        Annotated[ScheduleIdText, Meta(description="Only runs of this schedule, also a removed one.")] | None
    ) = None
    job: Annotated[Name, Meta(description="Only runs of this job.")] | None = None
    since: Since = "24h"
    until: Until = "0s"


@operation(
    "audit.keys",
    "POST /audit/keys",
    Role.VIEWER,
    repeatable=True,
    example={"run_keys": ["invoices#2026-03-01T00:00:00Z#3"], "schedule": "invoices", "since": "7d"},
)
async def judge_keys(control: Control, request: CompareKeysRequest) -> KeysResponse:
    """Judge the keys that another system has, by the runs that the ledger has under them.

    A key is `succeeded`, `running`, `without_run` (it is unknown, or its run did not succeed), `outside` of
    the bounds, or `forgotten`: retention may have removed its run. Without keys the answer has the bounds."""
    bounds = await _bounds(control, request)
    found: dict[RunKey, RunRecord] = {}
    async for batch in runs_by_key(control, request.run_keys):
        found |= batch
    keys = map(RunKey, request.run_keys)
    return KeysResponse(
        since=moment(bounds.since),
        until=moment(bounds.until),
        forgotten_before=moment(bounds.forgotten_before),
        items=[key_response(judged_key(key, found.get(key), bounds)) for key in keys],
    )


async def _bounds(control: Control, request: CompareKeysRequest) -> KeyBounds:
    now = await control.store.now()
    bounds = KeyBounds(read_when("since", request.since, now), read_when("until", request.until, now))
    if bounds.until < bounds.since:
        raise UsageError(BACKWARDS)
    if request.job is not None:
        await known_job(control.store, control.namespace, request.job)
        bounds = replace(bounds, jobs=await names_of(control.store, control.namespace, JobName(request.job)))
    if request.schedule is not None:
        schedule_id = await schedule_id_of(control.store, control.namespace, request.schedule)
        await control.versions(schedule_id)
        bounds = replace(bounds, schedule_id=schedule_id)
    return replace(bounds, forgotten_before=await control.store.ledger.forgotten_before())
