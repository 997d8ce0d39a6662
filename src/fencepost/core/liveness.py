"""Liveness: what happens to a run whose worker shows no life.

The attempt counts: a job that kills its worker is not tried for ever. A job that must run at most once is
never tried again by itself, because it is unknown how far the silent worker came.

Silence counts only while the owners could have spoken. Each sweep of a reaper leaves its time in the store. A
gap between two sweeps that no healthy fleet shows means that the store was away, or the whole fleet was: then
every owner has one heartbeat timeout from the store's return to show life. An owner that has shown none since
the grace before keeps what was left of that: a store that comes and goes keeps no dead owner's run.

A processor shows life by messages, so there is one more way in which it cannot speak: the broker is away, or
no worker takes replies. Its silence counts only where a worker of its namespace has heard processors without
a break for a whole timeout.

The gap is half a timeout, so that an owner whose store was away for less still has the other half; sweeps
come often enough to tell.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.model.identifiers import is_deliverer
from fencepost.model.message import Reply
from fencepost.model.node import NodeRecord
from fencepost.model.rescue import Expired, Rescue, SweepTerms
from fencepost.model.run import RunState

GAP_SHARE = 1 / 2
SWEEPS_PER_GAP = 3
QUIET_STRETCH = 1.5


def sweep_terms(heartbeat_timeout_s: float) -> SweepTerms:
    """When a sweep must wait for the owners first."""
    return SweepTerms(heartbeat_timeout_s * GAP_SHARE, heartbeat_timeout_s)


def sweep_every_s(reap_every_s: float, terms: SweepTerms, *, quiet: bool = False) -> float:
    """How often a reaper sweeps: as often as asked, or often enough to tell a gap from a slow sweep. After a
    quiet sweep it is a little later, because a run that begins meanwhile has a whole timeout before it."""
    every_s = min(reap_every_s, terms.gap_max_s / SWEEPS_PER_GAP)
    return every_s * QUIET_STRETCH if quiet else every_s


def awaits_processor(run: Expired) -> bool:
    """Whether the run was sent, and a processor is to report on it."""
    if run.worker is None or not is_deliverer(run.worker) or run.job is None:
        return False
    return run.job.message is not None and run.job.message.reply is Reply.RESULT


def may_speak(run: Expired, nodes: Iterable[NodeRecord], heartbeat_timeout_s: float) -> bool:
    """Whether the owner of a run could have shown life by now. A run that is to be cancelled does not
    wait."""
    if run.cancel_requested or not awaits_processor(run):
        return True
    reports = (one.report.broker for one in nodes if one.node.namespace == run.ticket.namespace)
    return any(one is not None and one.heard_s >= heartbeat_timeout_s for one in reports)


def rescue(run: Expired) -> Rescue:
    """What to do with one silent run."""
    silence = f"worker {run.worker} was silent past its deadline by {run.silent_for_s:.1f}s"
    if run.cancel_requested:
        return Rescue(run.ticket, RunState.CANCELLED, f"cancelled; {silence}")
    if run.job is not None and run.job.at_most_once:
        return Rescue(run.ticket, RunState.DEAD, f"lost: {silence}; the job is at_most_once")
    if run.job is not None and run.ticket.attempt - run.attempts_before_replay >= run.job.retry.max_attempts:
        return Rescue(run.ticket, RunState.DEAD, f"lost on attempt {run.ticket.attempt}, the last; {silence}")
    return Rescue(run.ticket, RunState.READY, f"rescued: {silence}")
