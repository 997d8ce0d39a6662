"""What must have ended when all has been quiet for long, and what may still wait behind live ticks."""

from __future__ import annotations

import pytest

from fencepost.model.policies import Overlap
from fencepost.model.run import Hold, Origin
from tests.history.builder import Pen, at_minutes
from tests.history.checkers import liveness


@pytest.mark.parametrize(
    ("second_ends", "held", "wrong"),
    [(13, Hold.PARKED, False), (12.9, Hold.PARKED, True), (13, Hold.NONE, True)],
    ids=["live ticks without a gap", "a gap", "not parked"],
)
def test_a_replay_may_wait_only_where_live_ticks_leave_no_gap(
    second_ends: float, held: Hold, wrong: bool
) -> None:
    """A replay of the tick of 1 min; live ticks of 2, 4 and 13 min, one after another. The quiet begins at 5
    and all is over at 15 min, while the third live tick runs."""
    pen = Pen()
    pen.schedule("beat", at_minutes(1, 2, 4, 13), overlap=Overlap.BUFFER_ALL)
    old = pen.plan("beat", 1)
    pen.wait_until(1)
    pen.start(old)
    pen.succeed(old)
    live = [pen.plan("beat", minute) for minute in (2, 4, 13)]
    for key, begins, ends in zip(live[:2], (2, 10), (10, second_ends), strict=True):
        pen.wait_until(begins)
        pen.start(key)
        if key == live[0]:
            pen.replay(old, Origin.REPLAY)
            pen.change(old, held=held, reason=f"waits for its turn behind {key}")
        pen.wait_until(ends)
        pen.succeed(key)
    pen.wait_until(13)
    pen.start(live[2])
    found = [one for one in liveness.check(pen.close(5)) if one.what.startswith(liveness.UNENDED.name)]
    assert bool(found) is wrong
