"""`POST /api/v1/runs/{run_key}/…`: the reports of a worker outside on a run that it has claimed."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from fencepost.core.external_runs import error_kinds
from fencepost.core.outcome import Failed
from fencepost.core.retry_after import RETRY_AFTER_MAX
from fencepost.model.access import Role
from fencepost.model.run import Receipt
from fencepost.model.text import RESULT_LENGTH_MAX, beginning, cleaned, storable
from fencepost.operations.operation import operation
from fencepost.operations.words import BIG_INTEGER_MAX, INTEGER_MAX, RunKeyText, Seconds
from fencepost.services.attempt import DETAIL_LENGTH_MAX, ERROR_LENGTH_MAX
from fencepost.web.counter import Counter

NOTE_LENGTH_MAX = 500

AttemptNumber: TypeAlias = Annotated[
    int, Meta(ge=1, le=INTEGER_MAX, description="The attempt's number, as the claim gave it.", examples=[1])
]
FenceNumber: TypeAlias = Annotated[
    int,
    Meta(ge=1, le=BIG_INTEGER_MAX, description="The attempt's fence, as the claim gave it.", examples=[42]),
]


class HeartbeatRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A sign of life, and how far the work has come."""

    run_key: RunKeyText
    attempt: AttemptNumber
    fence: FenceNumber
    progress: Annotated[float, Meta(ge=0, le=1, examples=[0.4])] | None = None
    note: Annotated[str, Meta(max_length=NOTE_LENGTH_MAX, examples=["page 4 of 10"])] | None = None


class HeartbeatResponse(Struct):
    """What to do next."""

    cancel_requested: Annotated[
        bool, Meta(description="The run has been asked to stop: stop, and report it as failed.")
    ]
    alive_for_s: Annotated[
        Seconds, Meta(description="How long the attempt counts as alive without another heartbeat.")
    ]


class CompleteRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The work is done."""

    run_key: RunKeyText
    attempt: AttemptNumber
    fence: FenceNumber
    result: Annotated[
        Any,
        Meta(
            description=f"What to keep, any JSON; of its text the first {RESULT_LENGTH_MAX} characters.",
            examples=[{"width": 800}],
        ),
    ] = None


class FailRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The work failed, or was stopped on request."""

    run_key: RunKeyText
    attempt: AttemptNumber
    fence: FenceNumber
    error: Annotated[
        str,
        Meta(
            min_length=1,
            description="One line. Where it begins with a name and a colon, the job's retry policy knows "
            "the error by that name.",
            examples=["Busy: no GPU was free"],
        ),
    ]
    detail: Annotated[str, Meta(description="A traceback or the like.")] | None = None
    permanent: Annotated[bool, Meta(description="No retry can help.")] = False
    retry_after_s: Annotated[
        float,
        Meta(
            ge=0,
            le=RETRY_AFTER_MAX.total_seconds(),
            description="Not before so long; the retry policy may say later.",
        ),
    ] = 0.0


class ReportResponse(Struct):
    """`accepted`, or `repeated` where this attempt had reported already: its first report stands."""

    receipt: Annotated[str, Meta(extra_json_schema={"enum": ["accepted", "repeated"]}, examples=["accepted"])]


@operation(
    "worker.heartbeat",
    "POST /runs/{run_key}/heartbeat",
    Role.WORKER,
    repeatable=True,
    example={"attempt": 1, "fence": 42, "progress": 0.4, "note": "page 4 of 10"},
)
async def heartbeat(counter: Counter, request: HeartbeatRequest) -> HeartbeatResponse:
    """Say that the attempt lives.

    Extends the attempt's life, never beyond the job's timeout. Safe to repeat."""
    note = None if request.note is None else cleaned(request.note)
    beat = await counter.verbs.heartbeat(
        counter.author, request.run_key, request.attempt, request.fence, request.progress, note
    )
    return HeartbeatResponse(beat.cancel_requested, beat.alive_for_s)


@operation(
    "worker.complete",
    "POST /runs/{run_key}/complete",
    Role.WORKER,
    repeatable=True,
    example={"attempt": 1, "fence": 42, "result": {"width": 800}},
)
async def complete(counter: Counter, request: CompleteRequest) -> ReportResponse:
    """Report that the work is done.

    Ends the attempt as succeeded. Safe to repeat until it is answered."""
    result = _kept(request.result)
    return _answer(
        await counter.verbs.complete(counter.author, request.run_key, request.attempt, request.fence, result)
    )


@operation(
    "worker.fail",
    "POST /runs/{run_key}/fail",
    Role.WORKER,
    repeatable=True,
    example={"attempt": 1, "fence": 42, "error": "Busy: no GPU was free", "retry_after_s": 60},
)
async def fail(counter: Counter, request: FailRequest) -> ReportResponse:
    """Report that the work failed.

    Ends the attempt as failed; the job's retry policy says what comes next. A run that had been asked to
    stop is cancelled. Safe to repeat until it is answered."""
    failed = Failed(
        error=storable(request.error[:ERROR_LENGTH_MAX], ERROR_LENGTH_MAX),
        detail=None if request.detail is None else storable(request.detail, DETAIL_LENGTH_MAX),
        permanent=request.permanent,
        kinds=error_kinds(request.error),
        wait_s=request.retry_after_s,
    )
    return _answer(
        await counter.verbs.fail(counter.author, request.run_key, request.attempt, request.fence, failed)
    )


def _kept(result: object) -> str | None:
    """The kept form of a result: a text as it is, anything else as JSON."""
    if result is None:
        return None
    return cleaned(beginning(result if isinstance(result, str) else msgspec.json.encode(result).decode()))


def _answer(receipt: Receipt) -> ReportResponse:
    return ReportResponse(str(receipt))
