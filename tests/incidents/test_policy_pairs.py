"""Every pair of overlap policy and catch-up mode, through a stall, an outage and runs by hand.

The counts were worked out by hand from the guide to policies. The schedule fires every 6 s and a tick takes
0.35 s, so that nothing falls on the edge of a limit. Heartbeats come every second: a run that is asked to
stop hears of it within that time, one that is terminated is ended at once. `none` lets a tick be 28 s late,
the other modes 1 h; more than 10 s is late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.run import RunState
from tests.history.checkers import lateness, overlap
from tests.incidents.policy_course import Course, late_s

EVERY_S, TAKES_S = 6.0, 0.35
CATCH_UPS = {
    "none": CatchUp("none", "28s"),
    "latest": CatchUp("latest", "1h"),
    "sequential": CatchUp("sequential", "1h"),
    "parallel": CatchUp("parallel(2)", "1h"),
}


class Counts(NamedTuple):
    """What becomes of the ticks."""

    succeeded: int
    missed: int = 0
    skipped: int = 0
    cancelled: int = 0

    def of(self) -> dict[str, int]:
        return {state: count for state, count in self._asdict().items() if count}


def course(overlap: str, mode: str) -> Course:
    return Course(parse_overlap(overlap), CATCH_UPS[mode], EVERY_S, TAKES_S)


# The planner is away from 0.5 to 100.5. What it wrote before ends with the tick of 60, so that 66, 72, 78,
# 84, 90 and 96 come late, by 34.5, 28.5, 22.5, 16.5, 10.5 and 4.5 s. A run by hand goes on from 93.5 to
# 113.5: it had begun when 96, 102 and 108 became due, and not when the others did. Then come 114, 120, 126
# and 132: 12 ticks in all.
#
# none. 66 and 72 are too late. Of 78, 84, 90, 96:
#   skip             all meet the run by hand, and so do 102 and 108; 4 are left
#   buffer_one       78 waits, 84, 90, 96 and 102 find the buffer full; at 108 78 is 30 s late and missed, so
#                    that 108 waits and runs, and the last 4
#   buffer_all       all wait; 78 is missed at 108, 84 at 113.5 (29.5 s); 90 (23.5 s) and all after it run
#   cancel_other     78, 84, 90 are superseded; 96 has the run by hand stopped and runs, and all after it
#   terminate_other  the same
#   allow            all run
# latest. 66 to 90 are late and coalesced: 5. 96 is on time:
#   skip             96, 102, 108 meet the run by hand
#   buffer_one       96 waits behind it and runs, 102 and 108 find the buffer full
#   the others       96 and all after it run
# sequential. 66 to 90 are caught up:
#   skip             96, 102, 108 meet the run by hand
#   buffer_one       96 waits and runs, 102 and 108 find the buffer full
#   buffer_all, allow  all run
#   cancel_other     all run: what is caught up and asked to stop has ended before it hears of it
#   terminate_other  96 runs at 100.5, then from 100.85 on 66, 72, 78 and, from 101.9 to 102.25, 84: 102 ends
#                    it. Nothing else is in the way of a live tick.
# parallel(2). As sequential: where only one may run at a time, one does.
STALL: Mapping[str, Mapping[str, Counts]] = {
    "none": {
        "skip": Counts(4, missed=2, skipped=6),
        "buffer_one": Counts(5, missed=3, skipped=4),
        "buffer_all": Counts(8, missed=4),
        "cancel_other": Counts(7, missed=2, skipped=3),
        "terminate_other": Counts(7, missed=2, skipped=3),
        "allow": Counts(10, missed=2),
    },
    "latest": {
        "skip": Counts(4, missed=5, skipped=3),
        "buffer_one": Counts(5, missed=5, skipped=2),
        "buffer_all": Counts(7, missed=5),
        "cancel_other": Counts(7, missed=5),
        "terminate_other": Counts(7, missed=5),
        "allow": Counts(7, missed=5),
    },
    "sequential": {
        "skip": Counts(9, skipped=3),
        "buffer_one": Counts(10, skipped=2),
        "buffer_all": Counts(12),
        "cancel_other": Counts(12),
        "terminate_other": Counts(11, cancelled=1),
        "allow": Counts(12),
    },
}

# Planners and workers are away from 3 to 153; the workers are back at once and the planners at 153.6. 6 to 60
# were written before: 10 ticks. 66 to 150 come with the planners: 15 ticks, of which 150 is 3.6 s late, 144
# 9.6 s, 138 15.6 s, 132 21.6 s, 126 27.6 s and 120 33.6 s. 156, 162, 168, 174, 180 come on time and always
# run: 30 ticks in all.
#
# none. 6 to 60 and 66 to 120 are too late: 20. Of 126, 132, 138, 144, 150:
#   skip             150 runs, the others are superseded
#   buffer_one       126 runs, 132 waits and runs, 3 find the buffer full
#   buffer_all, allow  all run
#   cancel_other, terminate_other  150 runs, the others are superseded
# latest. 6 to 60 give way to 66, which is due although it is not written yet; 66 to 138 give way to 150: 23.
#   skip             150 runs, 144 is superseded
#   buffer_one, buffer_all, allow  both run
#   cancel_other, terminate_other  150 runs, 144 is superseded
# sequential. 6 runs from 153 on, 12 from 153.35 to 153.7. 66 to 138 are caught up too: 23 in all.
#   skip, buffer_one  144 waits for 12 and goes next; 150 may not wait as well
#   buffer_all, allow  all run
#   cancel_other     144 is superseded; what is caught up and asked to stop has ended before it hears of it
#   terminate_other  144 is superseded; 150 ends 12. Those that are caught up go on from 153.95 on; the sixth
#                    of them is at work from 155.7 to 156.05, and 156 ends it. The last of the other 15 ends
#                    at 161.6, before 162.
# parallel(2). As sequential.
OUTAGE: Mapping[str, Mapping[str, Counts]] = {
    "none": {
        "skip": Counts(6, missed=20, skipped=4),
        "buffer_one": Counts(7, missed=20, skipped=3),
        "buffer_all": Counts(10, missed=20),
        "cancel_other": Counts(6, missed=20, skipped=4),
        "terminate_other": Counts(6, missed=20, skipped=4),
        "allow": Counts(10, missed=20),
    },
    "latest": {
        "skip": Counts(6, missed=23, skipped=1),
        "buffer_one": Counts(7, missed=23),
        "buffer_all": Counts(7, missed=23),
        "cancel_other": Counts(6, missed=23, skipped=1),
        "terminate_other": Counts(6, missed=23, skipped=1),
        "allow": Counts(7, missed=23),
    },
    "sequential": {
        "skip": Counts(29, skipped=1),
        "buffer_one": Counts(29, skipped=1),
        "buffer_all": Counts(30),
        "cancel_other": Counts(29, skipped=1),
        "terminate_other": Counts(27, skipped=1, cancelled=2),
        "allow": Counts(30),
    },
}

# No outage. One run by hand goes on from 13 to 43, and another of 2 s is asked for at 26. 18, 24, 30, 36
# and 42 fall into the first; 6, 12 and 48 to 72 do not: 12 ticks in all. Nothing is late in any mode, because
# what waits stands behind a run that had begun before it.
#   skip             those 5 meet it, and so does the second run by hand
#   buffer_one       18 waits and runs; 4 find the buffer full, and so does the second run by hand
#   buffer_all       all wait and run
#   cancel_other     18 has it stopped; all run
#   terminate_other  the same
#   allow            all run
MANUAL: Mapping[str, tuple[Counts, str, str]] = {
    "skip": (Counts(7, skipped=5), "succeeded", "skipped"),
    "buffer_one": (Counts(8, skipped=4), "succeeded", "skipped"),
    "buffer_all": (Counts(12), "succeeded", "succeeded"),
    "cancel_other": (Counts(12), "cancelled", "succeeded"),
    "terminate_other": (Counts(12), "cancelled", "succeeded"),
    "allow": (Counts(12), "succeeded", "succeeded"),
}

PAIRS = [(overlap, mode) for overlap in MANUAL for mode in CATCH_UPS]


def expected(table: Mapping[str, Mapping[str, Counts]], overlap: str, mode: str) -> dict[str, int]:
    return table["sequential" if mode == "parallel" else mode][overlap].of()


@pytest.mark.parametrize(("overlap", "mode"), PAIRS)
async def test_a_stall_of_the_planner_beside_a_run_by_hand(overlap: str, mode: str) -> None:
    played = course(overlap, mode)
    await played.start()
    await played.go_to(0.5)
    await played.go_to(93.5, plans=False)
    await played.trigger(takes_s=20)
    await played.go_to(100.5, plans=False)
    await played.go_to(134)
    assert await played.counts(66, 132) == expected(STALL, overlap, mode)
    await no_fault_is_found(played, 132)


@pytest.mark.parametrize(("overlap", "mode"), PAIRS)
async def test_an_outage_after_which_the_planners_are_back_last(overlap: str, mode: str) -> None:
    played = course(overlap, mode)
    await played.start()
    await played.go_to(3)
    await played.go_to(153, plans=False, works=False)
    await played.go_to(153.6, plans=False)
    await played.go_to(182)
    assert await played.counts(6, 180) == expected(OUTAGE, overlap, mode)
    await no_fault_is_found(played, 180)


@pytest.mark.parametrize(("overlap", "mode"), PAIRS)
async def test_runs_by_hand_without_an_outage(overlap: str, mode: str) -> None:
    played = course(overlap, mode)
    await played.start()
    await played.go_to(13)
    await played.trigger(takes_s=30)
    await played.go_to(26)
    await played.trigger(takes_s=2)
    await played.go_to(75)
    ticks, first, second = MANUAL[overlap]
    assert await played.counts(6, 72) == ticks.of()
    assert await played.manual_states() == [first, second]
    await no_fault_is_found(played, 72)


@pytest.mark.parametrize("mode", ["none", "latest"])
async def test_a_run_by_hand_does_not_excuse_what_the_stalled_planner_writes_late(mode: str) -> None:
    """A tick every second; the planner is away from 0.5 to 100.5 and had written up to 60. A run by hand goes
    on from 99.5 to 157.5. 61 to 99 became due before it began: none of those 39 may run. 100 to 149 stand
    behind it and fill the buffer of 50, 150 to 157 find it full; 158 to 170 follow.

    All of 61 to 110 ran once, up to 96.5 s late, and 111 to 157 were skipped for them.
    """
    played = Course(parse_overlap("buffer_all"), CatchUp(mode, "30s" if mode == "none" else "1h"), 1, 0.1)
    await played.start()
    await played.go_to(0.5)
    await played.go_to(99.5, plans=False)
    await played.trigger(takes_s=58)
    await played.go_to(100.5, plans=False)
    await played.go_to(171.5)
    assert await played.counts(61, 99) == {"missed": 39}
    assert await played.counts(61, 170) == {"missed": 39, "succeeded": 50 + 13, "skipped": 8}
    await no_fault_is_found(played, 170)


async def test_after_a_plain_outage_stale_ticks_do_not_fill_the_buffer() -> None:
    """A tick every 2 s that takes 1 s, `latest`; all are away from 5 to 155, the planners to 155.5. 6 to 144
    are coalesced: 70. 146 to 156 and 158, 160 are on time, and the buffer has room for them: 8 of 78.

    49 of the 78 ran once, because the newest that the workers found excused all that the planners wrote.
    """
    played = Course(parse_overlap("buffer_all"), CatchUp("latest", "1h"), 2, 1)
    await played.start()
    await played.go_to(5)
    await played.go_to(155, plans=False, works=False)
    await played.go_to(155.5, plans=False)
    await played.go_to(175)
    assert await played.counts(6, 160) == {"missed": 70, "succeeded": 8}
    await no_fault_is_found(played, 160)


async def test_a_stale_tick_does_not_take_the_place_of_a_current_one() -> None:
    """A tick every 60 s with `buffer_one`; the planner is away from 0.5 to 170 and had written up to 60. A
    run by hand goes on from 150 to 190. 120 is 50 s late when it is written and may be 55 s late: it waits.
    At 180 it is too late, and 180 waits in its place."""
    played = Course(parse_overlap("buffer_one"), CatchUp("none", "55s"), 60, 0.5)
    await played.start()
    await played.go_to(0.5)
    await played.go_to(150, plans=False)
    await played.trigger(takes_s=40)
    await played.go_to(170, plans=False)
    await played.go_to(200)
    states = {late.fire_time: late.state for late in await played.ticks(120, 180)}
    assert list(states.values()) == [RunState.MISSED, RunState.SUCCEEDED]


@pytest.mark.parametrize("overlap", MANUAL)
async def test_latest_runs_one_tick_after_an_outage_that_is_longer_than_the_horizon(overlap: str) -> None:
    """A tick every minute; all are away from 30 to 430, the planners to 431. 60 was written before; 120 to
    420 come with the planners, the newest 11 s late. It runs, and no other."""
    played = Course(parse_overlap(overlap), CatchUp("latest", "1h"), 60, 0.5)
    await played.start()
    await played.go_to(30)
    await played.go_to(430, plans=False, works=False)
    await played.go_to(431, plans=False)
    await played.go_to(470)
    ran = [late_s(one) for one in await played.ticks(60, 420) if one.first_started_at is not None]
    assert ran == [11]
    assert await played.counts(60, 420) == {"missed": 6, "succeeded": 1}
    await no_fault_is_found(played, 420)


async def test_no_checker_finds_a_stale_tick_after_a_stall() -> None:
    """As above, with `none` and `buffer_all`: by the rule that the checkers have from the guide."""
    played = course("buffer_all", "none")
    await played.start()
    await played.go_to(0.5)
    await played.go_to(93.5, plans=False)
    await played.trigger(takes_s=20)
    await played.go_to(100.5, plans=False)
    await played.go_to(134)
    assert [str(one) for one in lateness.check(played.history())] == []


async def test_no_checker_finds_a_newer_tick_than_the_one_that_latest_ran() -> None:
    played = Course(parse_overlap("skip"), CatchUp("latest", "1h"), 60, 0.5)
    await played.start()
    await played.go_to(30)
    await played.go_to(430, plans=False, works=False)
    await played.go_to(431, plans=False)
    await played.go_to(470)
    assert [str(one) for one in lateness.check(played.history())] == []


async def no_fault_is_found(played: Course, last: float) -> None:
    account, history = await played.account(last), played.history()
    assert not account.faults, account.findings
    assert [*lateness.check(history), *overlap.check(history)] == []
