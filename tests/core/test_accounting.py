"""The account finds exactly what is wrong with a ledger, and nothing where nothing is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fencepost.core.accounting import FINDINGS_KEPT_MAX, Accountant
from fencepost.core.accounts import Kind
from fencepost.core.catchup import ON_TIME_MAX
from fencepost.core.completeness import completeness
from fencepost.core.expectation import expected, tick_of
from fencepost.model.identifiers import Fence
from fencepost.model.policies import CatchUp
from fencepost.model.run import Hold, Origin, RunRecord, RunState
from fencepost.model.stretch import parse_stretch
from tests.core.facts import SCHEDULE, key, moment
from tests.core.histories import (
    GONE,
    NS,
    History,
    attempt,
    honest_histories,
    missed,
    run,
    seconds,
    trigger_of,
    version,
)

ONE = (version(1, 0),)
TWO = (version(1, 0, 180), version(2, 180, every_s=40))
PAUSED = (version(1, 0, 120), version(2, 240))


def history(*runs: RunRecord, until_s: float = 120, **changes: object) -> History:
    """A minute's beat from nine on, seen at the end of the range."""
    base = History(ONE, runs, now_s=until_s, until_s=until_s, planned_s=until_s)
    return replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (history(run(60), run(120)), []),
        (history(run(60)), [("missing", 120)]),
        (history(), [("missing", 60), ("missing", 120)]),
        (history(run(60), run(120, RunState.WITHDRAWN)), [("missing", 120)]),
        (history(run(60), run(120), run(120, RunState.WITHDRAWN, 2)), []),
        (history(run(60), run(120, RunState.PLANNED)), []),
        (history(run(60), run(120), run(90)), [("unexpected", 90)]),
        (history(run(60), run(120), run(90, RunState.READY)), [("unexpected", 90)]),
        (history(run(60), run(120), run(90, RunState.READY, held=Hold.OPERATOR)), []),
        (history(run(60), run(120), run(90, RunState.READY, held=Hold.FROZEN)), [("unexpected", 90)]),
        (history(run(60), run(120), run(90, RunState.CANCELLED)), []),
        (history(run(60), run(120), run(90, RunState.SKIPPED)), []),
        (history(run(60), run(120), run(90, RunState.WITHDRAWN)), []),
        *(
            (history(run(60), run(120), run(90, origin=origin)), [])
            for origin in Origin
            if origin is not Origin.LIVE
        ),
        (history(run(60), run(120), run(120, number=2)), [("doubled", 120)]),
        (history(run(60), run(120), run(120, RunState.SKIPPED, 2)), []),
        (history(run(60), run(120), run(120, number=2, origin=Origin.MANUAL)), []),
        (
            history(run(60), run(120), run(90), run(90, number=2)),
            [("doubled", 90), *[("unexpected", 90)] * 2],
        ),
    ],
)
def test_what_is_asked_for_is_compared_with_what_is_there(
    case: History, found: list[tuple[str, float]]
) -> None:
    assert case.found() == found


@pytest.mark.parametrize(
    ("case", "found"),
    [
        # A boundary belongs to the version that ends there.
        (History(TWO, (run(60), run(120), run(180), run(200, number=2)), until_s=200, planned_s=200), []),
        # The tick at 240 belongs to the second version only, although the first would fire there too.
        (
            History(TWO, (run(60), run(120), run(180), run(200, number=2)), until_s=240, planned_s=240),
            [("missing", 240)],
        ),
        # A run of an older version accounts for the fire time all the same.
        (
            History(TWO, (run(60), run(120), run(180), run(200, number=1)), until_s=200, planned_s=200),
            [],
        ),
        # Nothing of a pause is asked for, and what ran in it is unexpected.
        (History(PAUSED, (run(60), run(120), run(300, number=2)), until_s=300, planned_s=300), []),
        (
            History(PAUSED, (run(60), run(120), run(180), run(300, number=2)), until_s=300, planned_s=300),
            [("unexpected", 180)],
        ),
        # A version that was closed at once asks for nothing.
        (History((version(1, 60, 60),), (), until_s=300, planned_s=300), []),
    ],
)
def test_a_version_asks_only_for_what_it_governs(case: History, found: list[tuple[str, float]]) -> None:
    assert case.found() == found


@pytest.mark.parametrize(
    ("count", "case", "found"),
    [
        (3, history(run(240), until_s=240), []),
        (2, history(run(120), run(240), until_s=240), []),
        (4, history(run(240), until_s=240), [("miscounted", 60)]),
        (2, history(run(240), until_s=240), [("miscounted", 60)]),
        (3, history(run(120), run(240), until_s=240), [("miscounted", 60)]),
        # Of a range that reaches further than what is judged, only too small a count can be told.
        (3, history(until_s=240, since_s=60, runs=(run(240),)), []),
        (1, history(until_s=240, since_s=60, runs=(run(240),)), [("miscounted", 60)]),
        (3, history(until_s=240, forgotten_s=120, runs=(run(240),)), []),
        (3, replace(history(until_s=240), until_s=120), []),
    ],
)
def test_a_missed_range_accounts_for_exactly_what_it_counts(
    count: int, case: History, found: list[tuple[str, float]]
) -> None:
    assert replace(case, missed=(missed(60, 180, count),)).found() == found


def test_a_range_that_counts_too_little_leaves_the_rest_unaccounted_for() -> None:
    account = history(run(240), until_s=240, missed=(missed(60, 180, 2),)).account()
    assert (account.expected, account.recorded, account.states[RunState.MISSED]) == (4, 3, 2)


@pytest.mark.parametrize(
    ("planned_s", "now_s", "found"),
    [
        (120, 120, [("missing", 120)]),  # planned through it, and it is not there
        (119, 120, []),  # a planner still has its chance
        (119, 180, [("missing", 120)]),  # nobody took it
        (60, 179.9, []),
    ],
)
def test_what_no_planner_has_come_to_is_not_missing_before_its_time(
    planned_s: float, now_s: float, found: list[tuple[str, float]]
) -> None:
    assert history(run(60), planned_s=planned_s, now_s=now_s).found() == found


def test_how_far_another_version_is_planned_says_nothing_of_this_one() -> None:
    case = History((version(1, 0, 120), version(2, 120)), (run(60),), now_s=120, until_s=120, planned_s=120)
    assert case.found() == []


def test_ticks_ahead_are_judged_as_far_as_they_are_planned_and_no_further() -> None:
    ahead = history(run(60), run(120), run(180, RunState.PLANNED), until_s=9_000, now_s=120, planned_s=180)
    account = ahead.account()
    assert (account.faults, account.expected, seconds(account.until)) == (0, 3, 180)
    assert replace(ahead, runs=ahead.runs[:2]).found() == [("missing", 180)]


def test_what_retention_removed_is_not_judged_and_the_account_says_so() -> None:
    account = history(run(120), forgotten_s=120).account()
    assert (account.faults, account.expected) == (0, 1)
    assert account.forgotten_before == moment(120)
    assert history(run(60), run(120), since_s=59, forgotten_s=10).account().forgotten_before is None


RUNNING = run(120, RunState.RUNNING)
STALE = replace(RUNNING, alive_until=moment(119))
READY = run(120, RunState.READY)
LATE_S = 60 + 60 + 0.1


COUNTING = (Hold.NONE, Hold.LIMITED, Hold.PACED)


@pytest.mark.parametrize(
    ("last", "now_s", "found"),
    [
        (RUNNING, 500, []),
        (STALE, 500, [("uncertain", 120)]),
        (STALE, 119, []),
        (replace(RUNNING, worker=GONE), 500, [("uncertain", 120)]),
        # Its worker may have come after the workers were read.
        (replace(RUNNING, worker=GONE, started_at=moment(501)), 500, []),
        (replace(run(120), worker=GONE), 500, []),
        (READY, 120 + 119, []),
        (READY, 120 + LATE_S, [("overdue", 120)]),
        (replace(READY, held=Hold.LIMITED), 120 + LATE_S, [("overdue", 120)]),
        (replace(READY, held=Hold.PACED), 120 + LATE_S, [("overdue", 120)]),
        (replace(READY, held=Hold.LIMITED | Hold.FROZEN), 120 + LATE_S, []),
        (replace(READY, run_at=moment(150)), 120 + LATE_S, []),
        (replace(READY, run_at=moment(150)), 150 + LATE_S, [("overdue", 120)]),
        (replace(READY, origin=Origin.CATCH_UP), 9_000, []),
        (replace(READY, fence=Fence(3), attempt=1), 9_000, []),
        *((replace(READY, held=hold), 9_000, []) for hold in Hold if hold not in COUNTING),
    ],
)
def test_an_uncertain_or_overdue_run_is_found(
    last: RunRecord, now_s: float, found: list[tuple[str, float]]
) -> None:
    assert history(run(60), last, now_s=now_s).found() == found


HOUR = CatchUp("latest", "1h")


@pytest.mark.parametrize(
    ("catch_up", "changes", "late"),
    [
        (CatchUp("none", "1m"), {"first_started_at": moment(180)}, False),
        (CatchUp("none", "1m"), {"first_started_at": moment(180.1)}, True),
        (HOUR, {"first_started_at": moment(130)}, False),
        (HOUR, {"first_started_at": moment(130.1)}, True),
        (HOUR, {"first_started_at": moment(150), "run_at": moment(145)}, False),
        (HOUR, {"first_started_at": moment(150), "origin": Origin.CATCH_UP}, False),
        (HOUR, {"first_started_at": moment(150), "origin": Origin.REPLAY}, False),
        # A retry has moved `run_at`: the first due time is computed again.
        (HOUR, {"first_started_at": moment(150), "run_at": moment(900), "attempt": 2}, True),
        (HOUR, {"first_started_at": moment(125), "run_at": moment(900), "attempt": 2}, False),
    ],
)
def test_a_live_run_that_began_late_is_reported_and_is_no_fault(
    catch_up: CatchUp, changes: dict[str, object], late: bool
) -> None:
    last = replace(run(120), **changes)  # type: ignore[arg-type]
    account = history(run(60), last, versions=(version(1, 0, catch_up=catch_up),)).account()
    assert account.counts == ({Kind.LATE: 1} if late else {})
    assert account.faults == 0


def test_the_first_due_time_of_a_retried_run_counts_its_spread() -> None:
    spread = version(1, 0, catch_up=HOUR, spread=parse_stretch("100%"))
    tick = tick_of(NS, SCHEDULE, spread, trigger_of(spread), moment(120))
    assert tick is not None
    assert tick.run_at > moment(120)
    for began_after_s, found in ((ON_TIME_MAX, []), (ON_TIME_MAX + timedelta(seconds=1), [("late", 120)])):
        last = run(120, run_at=moment(900), first_started_at=tick.run_at + began_after_s, attempt=2)
        assert history(run(60), last, versions=(spread,)).found() == found


@pytest.mark.parametrize(
    ("changes", "doubled"),
    [
        ({"attempt": 2}, True),
        ({"attempt": 2, "attempts_before_replay": 1}, False),  # it was replayed in between
        ({"attempt": 3, "attempts_before_replay": 1}, False),
        ({"attempt": 1}, False),
    ],
)
def test_a_run_that_began_again_after_it_succeeded_is_doubled(changes: dict[str, int], doubled: bool) -> None:
    again = replace(run(120), **changes)  # type: ignore[arg-type]
    case = history(run(60), again, attempts={key(120): [attempt(1, "succeeded")]})
    assert case.found() == ([("doubled", 120)] if doubled else [])


@pytest.mark.parametrize("outcome", ["failed", "lost", "terminated"])
def test_a_retry_after_a_failure_is_not_doubled(outcome: str) -> None:
    again = run(120, attempt=2)
    assert history(run(60), again, attempts={key(120): [attempt(1, outcome)]}).found() == []


def test_the_counts_say_how_complete_the_ledger_is() -> None:
    account = history(run(60), run(120, RunState.DEAD), run(180, RunState.SKIPPED), until_s=240).account()
    assert account.states == {RunState.SUCCEEDED: 1, RunState.DEAD: 1, RunState.SKIPPED: 1}
    assert (account.expected, account.accounted, account.succeeded) == (4, 3, 1)
    assert (account.run_accounted, account.run_completeness) == (0.75, 0.25)


@pytest.mark.parametrize("open_state", [RunState.RUNNING, RunState.READY, RunState.PLANNED])
def test_a_run_that_has_not_ended_is_not_accounted_for_as_in_the_metric(open_state: RunState) -> None:
    account = history(run(60), run(120, open_state), until_s=120).account()
    metric = completeness(account.states)
    assert (account.expected, account.recorded, account.accounted) == (2, 2, 1)
    assert (account.due, account.accounted, account.run_accounted) == (
        metric.due,
        metric.ended,
        metric.accounted,
    )


def test_where_nothing_is_expected_nothing_is_incomplete() -> None:
    account = history(until_s=30).account()
    assert (account.expected, account.run_accounted, account.run_completeness) == (0, 1.0, 1.0)


def test_findings_are_all_counted_and_not_all_kept() -> None:
    far_s = 60.0 * (FINDINGS_KEPT_MAX + 50)
    account = history(until_s=far_s).account()
    assert account.counts == {Kind.MISSING: FINDINGS_KEPT_MAX + 50}
    assert (len(account.findings), account.cut) == (FINDINGS_KEPT_MAX, True)
    assert account.of(Kind.MISSING)[0].run_keys == (key(60),)


def test_the_gravest_findings_come_first() -> None:
    case = history(STALE, until_s=180, now_s=180)
    assert [kind for kind, _ in case.found()] == ["missing", "missing", "uncertain"]


@given(honest_histories(), st.integers(1, 7))
def test_an_honest_history_has_no_faults_however_it_is_cut(case: History, lane_limit: int) -> None:
    account = case.account(lane_limit)
    assert (account.counts, account.recorded) == ({}, account.expected)


@given(honest_histories(), st.data())
def test_a_deleted_row_is_found_and_nothing_else(case: History, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, max(len(case.runs) - 1, 0)))
    assume(case.runs)
    gone = case.runs[index]
    asked = {one.fire_time for one in expected(case.versions, trigger_of, moment(0), moment(1_000))}
    assume(gone.fire_time in asked and gone.state is not RunState.WITHDRAWN)
    left = replace(case, runs=tuple(one for one in case.runs if one is not gone))
    assert left.found() == [("missing", seconds(gone.fire_time))]
    assert left.account().recorded == left.account().expected - 1


@given(honest_histories(), st.data())
def test_a_doubled_row_is_found_and_nothing_else(case: History, data: st.DataObject) -> None:
    asked = {one.fire_time for one in expected(case.versions, trigger_of, moment(0), moment(1_000))}
    ran = [one for one in case.runs if one.attempt and one.fire_time in asked]
    assume(ran)
    one = data.draw(st.sampled_from(ran))
    twin = run(seconds(one.fire_time), number=99)
    assert replace(case, runs=(*case.runs, twin)).found() == [("doubled", seconds(one.fire_time))]


@given(honest_histories(), st.data())
def test_a_stuck_run_is_found_and_nothing_else(case: History, data: st.DataObject) -> None:
    running = [one for one in case.runs if one.state is RunState.RUNNING]
    assume(running)
    stuck = data.draw(st.sampled_from(running))
    silent = replace(stuck, alive_until=moment(999))
    runs = tuple(silent if one is stuck else one for one in case.runs)
    assert replace(case, runs=runs).found() == [("uncertain", seconds(stuck.fire_time))]


@given(honest_histories(), st.data())
def test_a_wrong_count_is_found_and_nothing_else(case: History, data: st.DataObject) -> None:
    assume(case.missed)
    wrong = data.draw(st.sampled_from(case.missed))
    count = wrong.count + data.draw(st.sampled_from([-1, 1, 7]))
    ranges = tuple(replace(one, count=count) if one is wrong else one for one in case.missed)
    assert replace(case, missed=ranges).found() == [("miscounted", seconds(wrong.first))]


def test_a_long_range_is_walked_without_holding_it() -> None:
    """Runs come in lane limits, and expected fire times one at a time: nothing is kept of what was in
    order."""
    versions = (version(1, 0, every_s=1),)
    frame = History(versions, now_s=10_000, until_s=10_000, planned_s=10_000).frame()
    accountant = Accountant(frame, trigger_of)
    for start in range(0, 10_000, 1_000):
        accountant.take([run(start + one) for one in range(1, 1_001)], {}, {})
        assert len(accountant._group) == 1
    account = accountant.close()
    assert (account.expected, account.counts) == (10_000, {})
    assert account.until - account.since == timedelta(seconds=10_000)
