"""Runs, their attempts and their logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.core.fingerprints import Fingerprint
from fencepost.core.masking import masked, masked_text
from fencepost.model.chain import Successor
from fencepost.model.run import Attempt, Hold, Predecessor, RunRecord
from fencepost.model.run_log import LoggedChunk
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, moment


class RunResponse(Struct, kw_only=True):
    """One run, as the ledger has it."""

    run_key: Annotated[str, Meta(examples=["invoices#2026-03-01T00:00:00Z#3"])]
    schedule_id: Annotated[str | None, Meta(description="Null where the run was enqueued by hand.")]
    job: str
    fire_time: Annotated[Moment, Meta(description="The nominal time of the tick.")]
    version: Annotated[int, Meta(description="Of the schedule that planned it.")]
    state: Annotated[str, Meta(examples=["succeeded"])]
    reason: Annotated[str | None, Meta(description="Why it is in that state, where that needs saying.")]
    attempt: int
    fence: int
    epoch: Annotated[int, Meta(description="Of the leader that planned it; 0 where none did.")]
    run_at: Annotated[Moment, Meta(description="When it is due.")]
    started_at: Moment | None
    finished_at: Moment | None
    worker: str | None
    error: str | None
    queue: str
    priority: int
    payload: Annotated[dict[str, Any], Meta(description="What looks like a secret is masked.")]
    progress: Annotated[str | None, Meta(description="A share from 0 to 1, or the job's own words.")]
    note: str | None
    progress_at: Moment | None
    origin: Annotated[str, Meta(examples=["live"])]
    held: Annotated[list[str], Meta(description="Why nobody may start it; empty where nothing holds it.")]
    blocked_by: Annotated[str | None, Meta(description="The run that kept this one from starting.")]
    first_started_at: Annotated[Moment | None, Meta(description="When its first attempt began.")]
    late_s: Annotated[float | None, Meta(description="How long after it was due its first attempt began.")]
    created_at: Annotated[Moment | None, Meta(description="Null where an earlier release wrote it.")]
    updated_at: Annotated[
        Moment | None,
        Meta(description="When it last began, got on or ended, or was written."),
    ]
    backfill_id: int | None
    expires_at: Annotated[Moment | None, Meta(description="It ends as missed unless it has begun by then.")]


class AttemptResponse(Struct, kw_only=True):
    """An attempt that was kept by itself: one that failed, was lost, or left output."""

    attempt: int
    fence: int
    worker: str | None
    started_at: Moment | None
    finished_at: Moment | None
    outcome: str
    error: str | None
    detail: str | None
    output: str | None


class PredecessorResponse(Struct, kw_only=True):
    """A run that had ended before another followed it, and what it left."""

    run_key: Annotated[str, Meta(examples=["extract#2026-03-01T00:00:00Z#3"])]
    job: str
    state: Annotated[str, Meta(examples=["succeeded"])]
    result: Annotated[str | None, Meta(description="What it returned: a text, or JSON.")]
    error: str | None


class SuccessorResponse(Struct, kw_only=True):
    """A run that follows another."""

    run_key: Annotated[str, Meta(examples=["load#after#extract#2026-03-01T00:00:00Z#3"])]
    job: str
    state: Annotated[str | None, Meta(description="Null where it waits for another predecessor.")]


class EffectResponse(Struct, kw_only=True):
    """What an attempt said that it did: `run.fingerprint`."""

    attempt: int
    effect: Annotated[str, Meta(description="The beginning of what it said.")]
    digest: Annotated[str, Meta(description="SHA-256 of all of it, secrets struck out.")]
    differs: Annotated[bool, Meta(description="From what the attempt before it in this list said.")]


class RunWithAttempts(RunResponse, kw_only=True):
    """One run, with its attempts, what it followed, and what follows it."""

    attempts: list[AttemptResponse]
    effects: list[EffectResponse]
    after: list[PredecessorResponse]
    then: list[SuccessorResponse]


class RunPage(Struct, kw_only=True):
    """Runs, the newest fire time first."""

    items: list[RunResponse]
    next: Next


class LogChunk(Struct, kw_only=True):
    """Some lines of a run's log; where `line` is more than those before it, some are not kept."""

    attempt: int
    line: Annotated[int, Meta(description="The number of the first of them.")]
    at: Moment
    lines: list[str]


class LogResponse(Struct, kw_only=True):
    """What a run has written, first to last."""

    items: list[LogChunk]
    next: Annotated[str | None, Meta(description="Ask again with it for what is written later.")]


class ReplayResponse(Struct, kw_only=True):
    """Which runs were sent on their way again, and which were left as they were."""

    replayed: list[str]
    left: list[str]


def run_fields(run: RunRecord) -> dict[str, Any]:
    """A run, by the names of its shape."""
    return {
        "run_key": run.run_key,
        "schedule_id": run.schedule_id,
        "job": run.job,
        "fire_time": moment(run.fire_time),
        "version": run.version,
        "state": str(run.state),
        "reason": _plain(run.reason),
        "attempt": run.attempt,
        "fence": run.fence,
        "epoch": run.epoch,
        "run_at": moment(run.run_at),
        "started_at": moment(run.started_at),
        "finished_at": moment(run.finished_at),
        "worker": run.worker,
        "error": _plain(run.error),
        "queue": run.queue,
        "priority": run.priority,
        "payload": masked(run.payload),
        "progress": _plain(run.progress),
        "note": _plain(run.note),
        "progress_at": moment(run.progress_at),
        "origin": str(run.origin),
        "held": held_words(run.held),
        "blocked_by": run.blocked_by,
        "first_started_at": moment(run.first_started_at),
        "late_s": run.late_s,
        "created_at": moment(run.created_at),
        "updated_at": moment(run.updated_at),
        "backfill_id": run.backfill_id,
        "expires_at": moment(run.expires_at),
    }


def run_response(run: RunRecord) -> RunResponse:
    """A run."""
    return RunResponse(**run_fields(run))


def attempt_response(attempt: Attempt) -> AttemptResponse:
    """An attempt."""
    return AttemptResponse(
        attempt=attempt.attempt,
        fence=attempt.fence,
        worker=attempt.worker,
        started_at=moment(attempt.started_at),
        finished_at=moment(attempt.finished_at),
        outcome=attempt.outcome,
        error=_plain(attempt.error),
        detail=_plain(attempt.detail),
        output=_plain(attempt.output),
    )


def effect_responses(effects: Sequence[Fingerprint]) -> list[EffectResponse]:
    """What attempts did, each held against the one before."""
    return [
        EffectResponse(
            attempt=one.attempt,
            effect=masked_text(one.text),
            digest=one.digest,
            differs=before is not None and before.digest != one.digest,
        )
        for before, one in zip([None, *effects], effects, strict=False)
    ]


def predecessor_response(one: Predecessor) -> PredecessorResponse:
    """A run that another followed."""
    return PredecessorResponse(
        run_key=one.key,
        job=one.job,
        state=str(one.state),
        result=_plain(one.result),
        error=_plain(one.error),
    )


def successor_response(one: Successor) -> SuccessorResponse:
    """A run that follows another."""
    state = None if one.state is None else str(one.state)
    return SuccessorResponse(run_key=one.key, job=one.job, state=state)


def chunk_response(logged: LoggedChunk) -> LogChunk:
    """Some lines of a log."""
    return LogChunk(
        attempt=logged.attempt,
        line=logged.chunk.first_line,
        at=moment(logged.at),
        lines=logged.chunk.text.split("\n"),
    )


def _plain(text: str | None) -> str | None:
    """What a job said, without the secrets that can be told by their form."""
    return None if text is None else masked_text(text)


def held_words(held: Hold) -> list[str]:
    """`operator`, `frozen`, `gate`, `parked`: why nobody may start it."""
    return [str(one.name).lower() for one in held]
