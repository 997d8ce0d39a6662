"""Liveness: what becomes of a run whose worker shows no life.

The attempt counts: a job that kills its worker is not tried for ever. A job that must run at most once is
never tried again by itself, because nobody knows how far the silent worker came.
"""

from __future__ import annotations

from fencepost.model.rescue import Expired, Rescue
from fencepost.model.run import RunState


def rescue(run: Expired) -> Rescue:
    """The mend for one silent run."""
    silence = f"worker {run.worker} was silent past its deadline by {run.silent_for_s:.1f}s"
    if run.cancel_requested:
        return Rescue(run.ticket, RunState.CANCELLED, f"cancelled; {silence}")
    if run.job is not None and run.job.at_most_once:
        return Rescue(run.ticket, RunState.DEAD, f"lost: {silence}; the job is at_most_once")
    if run.job is not None and run.ticket.attempt - run.spent >= run.job.retry.max_attempts:
        return Rescue(run.ticket, RunState.DEAD, f"lost on attempt {run.ticket.attempt}, the last; {silence}")
    return Rescue(run.ticket, RunState.READY, f"rescued: {silence}")
