"""Runs by hand, written and announced in one place for all callers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.clock import time_ordered_id
from fencepost.core.payload import check_payload
from fencepost.errors import UsageError
from fencepost.model.audit import Author
from fencepost.model.durations import parse_duration
from fencepost.model.enqueue_options import AS_THE_JOB_SAYS, EnqueueOptions
from fencepost.model.enqueueing import Entered, parse_expires, parse_unique
from fencepost.model.identifiers import Namespace, Queue, job_key
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.run import NewRun
from fencepost.model.times import YEAR_FIRST, YEAR_LAST, to_utc_text
from fencepost.ports.ledger import Ledger
from fencepost.telemetry import traces
from fencepost.telemetry.events import Cause, DuplicateSuppressed, emit

ENQUEUE_BATCH_MAX = 1_000


async def enqueue(
    ledger: Ledger, namespace: Namespace, runs: Sequence[NewRun], author: Author | None = None
) -> Sequence[Entered]:
    """Of each the key of the run that is there for it, and whether it is new."""
    if any(run.unique is not None for run in runs):
        entered = await ledger.enqueue_unique(namespace, runs, author=author)
    else:
        fresh = await ledger.enqueue(namespace, runs, author=author)
        entered = [Entered(run.run_key, is_new) for run, is_new in zip(runs, fresh, strict=True)]
    for run, one in zip(runs, entered, strict=True):
        if not one.is_new:
            emit(DuplicateSuppressed(Cause.KEY if one.run_key == run.run_key else Cause.UNIQUE, one.run_key))
    if traces.is_on():
        written = [traces.Written(namespace, run.run_key, run.job, run.queue) for run in runs]
        traces.enqueued(written, [one.is_new for one in entered])
    return entered


def new_run(
    spec: JobSpec,
    payload: JsonObject,
    key: str | None = None,
    options: EnqueueOptions = AS_THE_JOB_SAYS,
) -> NewRun:
    """A run by hand. Without a key of the caller's it gets one that nothing else has."""
    at = options.at
    _check_time(at)
    check_payload(spec, payload)
    until = parse_expires(options.expires)
    if isinstance(until, datetime):
        _check_time(until)
        if at is not None and until <= at:
            raise UsageError(
                f"expires {to_utc_text(until)}: it is not after {to_utc_text(at)}, when the run is due; "
                "name a later instant, or a length of time such as 10m after that"
            )
    run_key = job_key(spec.key_name, key if key is not None else time_ordered_id())
    queue = spec.queue if options.queue is None else Queue(options.queue)
    priority = spec.priority if options.priority is None else options.priority
    run_at = at if options.delay is None else parse_duration(options.delay)
    only = parse_unique(options.unique)
    return NewRun(run_key, spec.name, payload, queue, priority, run_at, until, only)


def _check_time(at: datetime | None) -> None:
    """Some stores have no place for the first and the last days of the calendar."""
    if at is None:
        return
    if not isinstance(at, datetime):
        raise UsageError(f"time {at!r}: expected a datetime with a zone")
    if at.tzinfo is None:
        raise UsageError(f"time {at.isoformat()}: expected one with a zone, such as {at.isoformat()}+00:00")
    if not YEAR_FIRST <= at.year <= YEAR_LAST:
        raise UsageError(f"time {at.isoformat()}: expected a year from {YEAR_FIRST} to {YEAR_LAST}")
