"""Verdicts: lateness first, then overlap; the same whoever asks and in however many calls."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.judgement import judge
from fencepost.model.claiming import DueTick, End, ScheduleFacts, Start, StartedRun
from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.identifiers import RunKey
from fencepost.model.run import RunState
from fencepost.model.schedule import CatchUp, Overlap
from tests.core.facts import LATEST, NONE, facts, finished, key, moment, running, tick, told

STALL = [tick(second) for second in range(16)]


@dataclass(frozen=True)
class Case:
    """What is due, what the schedule is doing, and what must come of it."""

    seen: ScheduleFacts
    now_s: float
    expected: dict[RunKey, str]


CASES = {
    "on time, alone": Case(facts([tick(0)]), 1, {key(0): "start"}),
    "on time, the last one still runs": Case(
        facts([tick(60)], unfinished=[running(0)]), 60, {key(60): "skipped"}
    ),
    "on time, the last one ended since": Case(
        facts([tick(60)], last_finished=finished(0, at=62)), 65, {key(60): "skipped"}
    ),
    "on time, the last one ended before": Case(
        facts([tick(60)], last_finished=finished(0, at=59)), 65, {key(60): "start"}
    ),
    "too late, although the last one still runs": Case(
        facts([tick(0)], unfinished=[running(-60)]), 61, {key(0): "missed"}
    ),
    "too late, alone": Case(facts([tick(0)]), 61, {key(0): "missed"}),
    "latest, several late": Case(
        facts([tick(second, LATEST) for second in (0, 60, 120)]),
        150,
        {key(0): "missed", key(60): "missed", key(120): "start"},
    ),
    "latest, the newest meets an unfinished run": Case(
        facts([tick(0, LATEST), tick(60, LATEST)], unfinished=[running(-60)]),
        90,
        {key(0): "missed", key(60): "skipped"},
    ),
    "latest, the newest is due for another queue": Case(
        facts([tick(0, LATEST)], newest_due=moment(60)), 90, {key(0): "missed"}
    ),
    "latest, late, the last one ended since": Case(
        facts([tick(0, LATEST)], last_finished=finished(-60, at=30)), 90, {key(0): "start"}
    ),
    "allow, several on time": Case(
        facts([tick(0, overlap=Overlap.ALLOW), tick(1, overlap=Overlap.ALLOW)], unfinished=[running(-60)]),
        2,
        {key(0): "start", key(1): "start"},
    ),
    "allow does not excuse lateness": Case(facts([tick(0, overlap=Overlap.ALLOW)]), 61, {key(0): "missed"}),
}


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str) -> None:
    case = CASES[name]
    assert told(judge(case.seen, moment(case.now_s), room=10)) == case.expected


def test_a_tick_judged_while_its_predecessor_runs_or_after_gets_the_same_answer() -> None:
    early = judge(facts([tick(60)], unfinished=[running(0)]), moment(60.1), 1)
    late = judge(facts([tick(60)], last_finished=finished(0, at=64)), moment(68), 1)
    assert early == late == [End(key(60), RunState.SKIPPED, f"overlap with {key(0)}")]


@pytest.mark.parametrize("catch_up", [NONE, LATEST])
def test_a_stall_of_a_per_second_schedule_does_not_start_two_at_once(catch_up: CatchUp) -> None:
    seen = facts([replace(one, catch_up=catch_up) for one in STALL])
    verdicts = judge(seen, moment(15), room=100)
    assert len([one for one in verdicts if isinstance(one, Start)]) == 1
    assert len(verdicts) == len(STALL)


def test_a_stall_longer_than_the_window_runs_none_of_what_is_too_late() -> None:
    seen = facts([tick(second) for second in range(120)])
    verdicts = told(judge(seen, moment(119), room=100))
    assert {verdicts[key(second)] for second in range(59)} == {"missed"}
    assert verdicts[key(59)] == "start"


@pytest.mark.parametrize("room", [0, -1])
def test_without_room_nothing_starts_and_nothing_is_ended_that_could(room: int) -> None:
    assert judge(facts(STALL), moment(15), room) == []


def test_without_room_what_is_too_late_still_ends() -> None:
    verdicts = told(judge(facts([tick(0), tick(60)]), moment(90), 0))
    assert verdicts == {key(0): "missed"}


def test_no_more_start_than_there_is_room_for() -> None:
    seen = facts([tick(second, overlap=Overlap.ALLOW) for second in range(10)])
    assert [one.run_key for one in judge(seen, moment(10), 3)] == [key(0), key(1), key(2)]


policies = st.tuples(
    st.sampled_from([NONE, LATEST, CatchUp("none", "5s"), CatchUp("latest", "20s")]),
    st.sampled_from(Overlap),
)
spans = st.lists(st.integers(0, 80), min_size=1, max_size=12, unique=True)


@st.composite
def ledgers(draw: st.DrawFn, mixed: bool = True) -> tuple[ScheduleFacts, StoreTime]:
    """Any schedule with due ticks, of one policy or of several versions' policies."""
    one = draw(policies)
    drawn = [(second, draw(policies) if mixed else one) for second in draw(spans)]
    due: list[DueTick] = [tick(second, catch_up, overlap) for second, (catch_up, overlap) in drawn]
    now_s = max(second for second, _ in drawn) + draw(st.integers(0, 70))
    unfinished = draw(st.sampled_from([(), (running(-5),)]))
    ended = draw(st.none() | st.integers(-4, now_s).map(lambda at: finished(-10, at=at)))
    return facts(due, unfinished, ended), moment(now_s)


def in_several_calls(seen: ScheduleFacts, now: StoreTime, rooms: list[int]) -> dict[RunKey, str]:
    """The ledger after one call for each room and a last one with plenty, written down in between."""
    accounted: dict[RunKey, str] = {}
    for room in [*rooms, 1_000]:
        due = tuple(one for one in seen.due if one.run_key not in accounted)
        if not due:
            break
        seen = replace(seen, due=due, newest_due=due[-1].fire_time)
        verdicts = judge(seen, now, room)
        accounted |= told(verdicts)
        begun = tuple(StartedRun(one.run_key, None) for one in verdicts if isinstance(one, Start))
        seen = replace(seen, unfinished=(*seen.unfinished, *begun))
    return accounted


@given(ledgers(), st.lists(st.integers(0, 3), max_size=12))
def test_the_number_of_calls_does_not_change_the_accounting(
    ledger: tuple[ScheduleFacts, StoreTime], rooms: list[int]
) -> None:
    seen, now = ledger
    assert in_several_calls(seen, now, rooms) == told(judge(seen, now, 1_000))


@given(ledgers())
def test_with_room_every_tick_is_accounted_for_in_order(ledger: tuple[ScheduleFacts, StoreTime]) -> None:
    seen, now = ledger
    assert [one.run_key for one in judge(seen, now, 1_000)] == [one.run_key for one in seen.due]


@given(ledgers(), st.integers(0, 5))
def test_never_more_than_one_at_a_time_under_skip(ledger: tuple[ScheduleFacts, StoreTime], room: int) -> None:
    seen, now = ledger
    skipping = replace(seen, due=tuple(replace(one, overlap=Overlap.SKIP) for one in seen.due))
    starts = [one for one in judge(skipping, now, room) if isinstance(one, Start)]
    assert len(starts) + len(seen.unfinished) <= 1 or not starts
    assert len(starts) <= room


@given(ledgers())
def test_with_latest_no_late_tick_runs_but_the_newest(ledger: tuple[ScheduleFacts, StoreTime]) -> None:
    seen, now = ledger
    latest = replace(seen, due=tuple(replace(one, catch_up=LATEST) for one in seen.due))
    fire_times = {one.run_key: one.fire_time for one in latest.due}
    for verdict in judge(latest, now, 1_000):
        late_s = since(fire_times[verdict.run_key], now).total_seconds()
        if isinstance(verdict, Start) and late_s > 10:
            assert fire_times[verdict.run_key] == latest.newest_due


@given(ledgers(mixed=False), st.integers(1, 3))
def test_finishing_between_two_calls_does_not_change_what_a_tick_on_time_is_told(
    ledger: tuple[ScheduleFacts, StoreTime], pause_ms: int
) -> None:
    """Under `skip` a run that began and ended between two calls still obstructs those it overlapped."""
    seen, now = ledger
    due = tuple(replace(one, overlap=Overlap.SKIP, catch_up=NONE) for one in seen.due)
    seen = replace(seen, due=due, unfinished=(), last_finished=None)
    whole = judge(seen, now, 1_000)
    first = next((index for index, one in enumerate(whole) if isinstance(one, Start)), None)
    if first is None or first + 1 == len(due):
        return
    ended = StartedRun(due[first].run_key, later(now, pause_ms / 1000))
    rest = replace(seen, due=due[first + 1 :], last_finished=ended)
    assert told(judge(rest, now, 1_000)) == told(whole[first + 1 :])
