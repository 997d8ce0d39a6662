"""The states of a run and every way between them, in one table.

A run is written once and ends once. Each entry of `TRANSITIONS` is a move that some part of Fencepost
makes; a move that is not in the table does not happen, in any store. A run that has ended stays so, unless
an operator replays it by name. Those moves are in `REPLAYS`, and each leaves an entry in the audit log. The
diagram in the documentation is drawn from these tables.

`planned` and `ready` differ by time alone: a planned run whose `run_at` has come *is* ready, without a
write. Stores keep what was written, readers show what is (`observed`).
"""

from __future__ import annotations

from datetime import datetime
from types import MappingProxyType

from fencepost.model.clocks import StoreTime
from fencepost.model.run import RunState

TRANSITIONS: MappingProxyType[tuple[RunState, RunState], str] = MappingProxyType(
    {
        (RunState.PLANNED, RunState.READY): "the time has come",
        (RunState.PLANNED, RunState.CANCELLED): "cancelled by an operator",
        (RunState.PLANNED, RunState.SKIPPED): "called off by name",
        (RunState.PLANNED, RunState.WITHDRAWN): "its schedule was edited, paused or removed",
        (RunState.READY, RunState.RUNNING): "claimed by a worker",
        (
            RunState.READY,
            RunState.SKIPPED,
        ): "met an unfinished run of its schedule, or was called off",
        (
            RunState.READY,
            RunState.MISSED,
        ): "too late, expired, coalesced into a later tick, or dropped at the gate",
        (RunState.READY, RunState.CANCELLED): "cancelled by an operator",
        (RunState.RUNNING, RunState.SUCCEEDED): "done",
        (RunState.RUNNING, RunState.READY): "failed, snoozed or rescued; waits for its next attempt",
        (RunState.RUNNING, RunState.DEAD): "failed for good, or lost",
        (RunState.RUNNING, RunState.CANCELLED): "stopped on request, or made to make way",
    }
)

REPLAYS: MappingProxyType[tuple[RunState, RunState], str] = MappingProxyType(
    {
        (RunState.SUCCEEDED, RunState.READY): "replayed by an operator",
        (RunState.DEAD, RunState.READY): "replayed by an operator",
        (RunState.SKIPPED, RunState.READY): "replayed by an operator",
        (RunState.MISSED, RunState.READY): "replayed by an operator",
        (RunState.CANCELLED, RunState.READY): "replayed by an operator",
        (RunState.WITHDRAWN, RunState.READY): "filled in by an operator",
    }
)
INITIAL = frozenset({RunState.PLANNED, RunState.READY})
ENDED = frozenset(set(RunState) - {source for source, _ in TRANSITIONS})


def may_move(source: RunState, target: RunState) -> bool:
    """Whether a run may go from one state to the other, also by way of becoming due in between."""
    if (source, target) in TRANSITIONS:
        return True
    return source is RunState.PLANNED and (RunState.READY, target) in TRANSITIONS


def observed(state: RunState, run_at: datetime, now: StoreTime) -> RunState:
    """The state as a reader sees it."""
    return RunState.READY if state is RunState.PLANNED and run_at <= now else state
