"""Runs by hand, written and told in one place, whoever asked for them."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace
from fencepost.model.run import NewRun
from fencepost.ports.ledger import Ledger
from fencepost.telemetry import traces
from fencepost.telemetry.events import Cause, DuplicateSuppressed, emit


async def enqueue(
    ledger: Ledger, namespace: Namespace, runs: Sequence[NewRun], author: Author | None = None
) -> Sequence[bool]:
    """As `Ledger.enqueue`: of each whether it is new."""
    fresh = await ledger.enqueue(namespace, runs, author=author)
    for run, is_new in zip(runs, fresh, strict=True):
        if not is_new:
            emit(DuplicateSuppressed(Cause.KEY, run.run_key))
    if traces.is_on():
        written = [traces.Written(namespace, run.run_key, run.job, run.queue) for run in runs]
        traces.enqueued(written, fresh)
    return fresh
