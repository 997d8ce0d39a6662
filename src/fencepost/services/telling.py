"""Events and metrics when the ledger has answered the report of an attempt, by any kind of worker."""

from __future__ import annotations

from fencepost.core.lifecycle import ENDED
from fencepost.model.identifiers import JobName
from fencepost.model.run import RunState, Ticket
from fencepost.telemetry.events import AttemptFinished, Cause, DuplicateSuppressed, RunEnded, emit, is_heard


def tell_finished(ticket: Ticket, job: JobName, state: RunState, took_s: float | None) -> None:
    """The attempt is over, and so is its run unless it is tried again."""
    if not is_heard():
        return
    emit(AttemptFinished(ticket, job, state, took_s))
    if state in ENDED:
        emit(RunEnded(ticket.namespace, ticket.run_key, job, state))


def tell_refused(ticket: Ticket) -> None:
    """Another attempt has the run by now: this report changed nothing."""
    emit(DuplicateSuppressed(Cause.FENCE, ticket.run_key))
