"""Runs by hand, written and announced in one place for all callers."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Author
from fencepost.model.enqueueing import Entered
from fencepost.model.identifiers import Namespace
from fencepost.model.run import NewRun
from fencepost.ports.ledger import Ledger
from fencepost.telemetry import traces
from fencepost.telemetry.events import Cause, DuplicateSuppressed, emit


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
