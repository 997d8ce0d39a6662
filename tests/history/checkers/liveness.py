"""I2's second half: once the faults are over, all that was expected ends, nothing due is left lying, and
nothing is missed for being late.

What has its turn after others is parked, and what a person or the gate holds is held; anything else that is
due is claimed within a bound, from when it was last let go. Live ticks go first: where they never left a gap,
what was replayed, filled in or caught up still waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from fencepost.model.run import LIVE_ORIGINS, Hold, RunRecord, RunState
from tests.history.findings import Kind, Looked, bounded, by_row
from tests.history.model import History, Violation
from tests.history.moves import ENDED, INITIAL

NEEDS = frozenset({"changes"})
UNENDED = Kind("I2", "not accounted for by the end")
LEFT_LYING = Kind("I2", "due, free, and not begun")
MISSED_IN_QUIET = Kind("I2", "missed although nothing was wrong")
KINDS = (UNENDED, LEFT_LYING, MISSED_IN_QUIET)

CLAIM_BOUND_S, CLAIM_PASSES = 120.0, 12
"""Much more than a poll and a reaper's pass together; or so many of both, where those are rare."""


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    passes_s = CLAIM_PASSES * (history.settings.poll_s + history.settings.reap_every_s)
    bound = timedelta(seconds=max(CLAIM_BOUND_S, passes_s))
    quiet = history.quiet_since + bound <= history.ended_at
    for changes in by_row(history).values():
        run = changes[-1].after
        if run is None:
            continue
        looked["rows"] += 1
        if run.state is RunState.MISSED and run.run_at > history.quiet_since + bound:
            looked["missed in the quiet"] += 1
            if (run.reason or "").startswith("too late"):
                yield MISSED_IN_QUIET.found(f"{run.run_key}, {run.reason}")
        if run.state not in ENDED and run.fire_time <= history.through and not _is_crowded_out(history, run):
            yield UNENDED.found(f"{run.run_key} is {run.state}, {run.held!r}, due {run.run_at}")
        elif (
            quiet
            and run.state in INITIAL
            and run.held is Hold.NONE
            and max(run.run_at, changes[-1].at) + bound <= history.ended_at
        ):
            yield LEFT_LYING.found(f"{run.run_key} is {run.state}, due {run.run_at}")


def _is_crowded_out(history: History, run: RunRecord) -> bool:
    """Whether a live tick of its schedule was due or running at every moment of the quiet."""
    if run.held is not Hold.PARKED or run.origin in LIVE_ORIGINS:
        return False
    busy_until = max(run.run_at, history.quiet_since)
    for since, until in sorted(_live_spans(history, run)):
        if since <= busy_until:
            busy_until = max(busy_until, until)
    return busy_until >= history.ended_at


def _live_spans(history: History, run: RunRecord) -> Iterator[tuple[datetime, datetime]]:
    """From when to when each live tick of the same schedule was due and had not ended."""
    for changes in by_row(history).values():
        rows = [change.run for change in changes]
        same = (rows[0].namespace, rows[0].schedule_id) == (run.namespace, run.schedule_id)
        if same and rows[-1].origin in LIVE_ORIGINS:
            yield min(row.run_at for row in rows), rows[-1].finished_at or history.ended_at
