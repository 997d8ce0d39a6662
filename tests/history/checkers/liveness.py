"""I2's second half: once the faults are over, all that was expected ends, nothing due is left lying, and
nothing is missed for being late.

What has its turn after others is parked, and what a person or the gate holds is held; anything else that is
due is claimed within a bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from fencepost.model.run import Hold, RunState
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
        if run.state not in ENDED and run.fire_time <= history.through:
            yield UNENDED.found(f"{run.run_key} is {run.state}, {run.held!r}, due {run.run_at}")
        elif (
            quiet
            and run.state in INITIAL
            and run.held is Hold.NONE
            and run.run_at + bound <= history.ended_at
        ):
            yield LEFT_LYING.found(f"{run.run_key} is {run.state}, due {run.run_at}")
