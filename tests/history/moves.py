"""How a run may move, written out a second time, from the page on its states: what judges the code does not
ask the code."""

from __future__ import annotations

from fencepost.model.run import Origin, RunState
from tests.history.model import Change

PLANNED, READY, RUNNING = RunState.PLANNED, RunState.READY, RunState.RUNNING
SUCCEEDED, DEAD, SKIPPED = RunState.SUCCEEDED, RunState.DEAD, RunState.SKIPPED
MISSED, CANCELLED, WITHDRAWN = RunState.MISSED, RunState.CANCELLED, RunState.WITHDRAWN

INITIAL = frozenset({PLANNED, READY})
ENDED = frozenset({SUCCEEDED, DEAD, SKIPPED, MISSED, CANCELLED, WITHDRAWN})
MOVES = frozenset(
    {
        (PLANNED, READY),
        (PLANNED, CANCELLED),
        (PLANNED, SKIPPED),
        (PLANNED, WITHDRAWN),
        (READY, RUNNING),
        (READY, SKIPPED),
        (READY, MISSED),
        (READY, CANCELLED),
        (RUNNING, SUCCEEDED),
        (RUNNING, READY),
        (RUNNING, DEAD),
        (RUNNING, CANCELLED),
    }
)
UNWRITTEN = frozenset({(PLANNED, RUNNING), (PLANNED, MISSED)})
"""A planned run becomes ready without a write, and moves on from there."""
REPLAYS = frozenset(
    {
        (SUCCEEDED, READY),
        (DEAD, READY),
        (SKIPPED, READY),
        (MISSED, READY),
        (CANCELLED, READY),
        (WITHDRAWN, READY),
    }
)
REPLAYED = frozenset({Origin.REPLAY, Origin.BACKFILL})
"""What its origin says of a run that an operator sent on its way again."""


def may_move(source: RunState, target: RunState) -> bool:
    """Whether a run may go from one state to the other in one write."""
    return (source, target) in MOVES or (source, target) in UNWRITTEN


def is_replay(change: Change) -> bool:
    """Whether a run that had ended was sent on its way again."""
    before, after = change.before, change.after
    if before is None or after is None or before.state not in ENDED:
        return False
    return (before.state, after.state) in REPLAYS and after.origin in REPLAYED
