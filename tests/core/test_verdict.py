"""Verdicts: lateness first, then overlap; the same whoever asks and in however many calls."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.core.overlap import WAITING_KINDS
from fencepost.core.verdict import judge
from fencepost.model.claiming import (
    Admit,
    CloseGate,
    DueTick,
    End,
    ScheduleFacts,
    Start,
    StartedRun,
    Stop,
    Verdict,
    Wait,
)
from fencepost.model.clocks import StoreTime, later, since
from fencepost.model.identifiers import RunKey
from fencepost.model.policies import OVERLAPS, CatchUp, CatchUpMode, Overlap, OverlapKind
from fencepost.model.run import Origin, RunState
from tests.core.facts import (
    LATEST,
    NONE,
    PARALLEL,
    SEQUENTIAL,
    facts,
    finished,
    key,
    moment,
    running,
    tick,
    told,
)
from tests.core.verdict_cases import CASES, ONE_WAITS, TWO

STALL = [tick(second) for second in range(16)]


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str) -> None:
    case = CASES[name]
    assert told(judge(case.seen, moment(case.now_s), room=10)) == case.expected


def test_a_tick_judged_while_its_predecessor_runs_or_after_gets_the_same_answer() -> None:
    early = judge(facts([tick(60)], unfinished=[running(0)]), moment(60.1), 1)
    late = judge(facts([tick(60)], ended=[finished(0, at=64)]), moment(68), 1)
    assert early == late == [End(key(60), RunState.SKIPPED, f"overlap with {key(0)}", blocked_by=key(0))]


@pytest.mark.parametrize("catch_up", [NONE, LATEST, SEQUENTIAL, PARALLEL], ids=lambda one: one.words)
@pytest.mark.parametrize("overlap", [one for one in OVERLAPS if one.at_once_max == 1], ids=str)
def test_a_stall_of_a_per_second_schedule_does_not_start_two_at_once(
    catch_up: CatchUp, overlap: Overlap
) -> None:
    seen = facts([replace(one, catch_up=catch_up, overlap=overlap) for one in STALL])
    verdicts = judge(seen, moment(15), room=100)
    assert len([one for one in verdicts if isinstance(one, Start)]) == 1


def test_a_stall_longer_than_the_window_runs_the_newest_and_none_of_what_is_too_late() -> None:
    seen = facts([tick(second) for second in range(120)])
    verdicts = told(judge(seen, moment(119), room=100))
    assert {verdicts[key(second)] for second in range(59)} == {"missed"}
    assert {verdicts[key(second)] for second in range(59, 119)} == {"skipped"}
    assert verdicts[key(119)] == "start"


def test_a_tick_that_a_newer_one_supersedes_says_which() -> None:
    assert judge(facts([tick(0), tick(20)]), moment(30), 1)[0] == End(
        key(0), RunState.SKIPPED, "superseded by the tick of 2026-03-01T09:00:20Z"
    )


@pytest.mark.parametrize("room", [0, -1])
def test_without_room_nothing_starts_and_nothing_is_ended_that_could(room: int) -> None:
    assert judge(facts(STALL), moment(15), room) == []


def test_without_room_no_run_is_terminated() -> None:
    seen = facts([tick(60, overlap=Overlap.TERMINATE_OTHER)], unfinished=[running(0)])
    assert judge(seen, moment(61), 0) == []


def test_without_room_what_is_too_late_still_ends_and_what_is_late_is_admitted() -> None:
    assert told(judge(facts([tick(0), tick(60)]), moment(90), 0)) == {key(0): "missed"}
    assert told(judge(facts([tick(0, SEQUENTIAL)]), moment(90), 0)) == {key(0): "admitted"}


def test_no_more_start_than_there_is_room_for() -> None:
    seen = facts([tick(second, overlap=Overlap.ALLOW) for second in range(10)])
    assert [started(one) for one in judge(seen, moment(10), 3)] == [key(0), key(1), key(2)]


@pytest.mark.parametrize("overlap", [Overlap.CANCEL_OTHER, Overlap.TERMINATE_OTHER], ids=str)
def test_what_a_judgement_starts_it_does_not_stop(overlap: Overlap) -> None:
    """A tick of the version before an edit, and one of the version after it, which has another policy."""
    seen = facts([tick(0, overlap=Overlap.BUFFER_ONE), tick(5, overlap=overlap)])
    assert [started(one) for one in judge(seen, moment(6), room=100)] == [key(0)]


def started(verdict: Verdict) -> RunKey:
    assert isinstance(verdict, Start)
    return verdict.run_key


modes = st.sampled_from(["none", "latest", "sequential", "parallel(2)"])
catch_ups = st.builds(CatchUp, modes, st.sampled_from(["5s", "20s", "1m", "1h"]))
overlaps = st.sampled_from([*OVERLAPS, TWO, ONE_WAITS])
spans = st.lists(st.integers(0, 80), min_size=1, max_size=12, unique=True)
origins = st.sampled_from([Origin.LIVE, Origin.LIVE, Origin.CATCH_UP, Origin.BACKFILL, Origin.REPLAY])


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[ScheduleFacts, StoreTime]:
    """Any schedule with due ticks of one policy, live, late, filled in and replayed."""
    overlap, catch_up = draw(overlaps), draw(catch_ups)
    possible = origins if catch_up.mode is not CatchUpMode.NONE else st.just(Origin.LIVE)
    due = [tick(second, catch_up, overlap, origin=draw(possible)) for second in draw(spans)]
    now_s = 80 + draw(st.integers(0, 70))
    unfinished = draw(st.sampled_from([(), (running(-5),), (running(-7), running(-5, Origin.CATCH_UP))]))
    if overlap.at_once_max is not None:
        unfinished = unfinished[: overlap.at_once_max]
    ended = draw(st.lists(st.integers(-4, now_s).map(lambda at: finished(-10, at=at)), max_size=1))
    return facts(due, unfinished, ended), moment(now_s)


@given(ledgers(), st.integers(0, 5))
def test_the_overlap_policy_holds_after_every_judgement(
    ledger: tuple[ScheduleFacts, StoreTime], room: int
) -> None:
    """I7: however many come at once, and whatever they are."""
    seen, now = ledger
    verdicts = judge(seen, now, room)
    ended = {one.run_key for one in verdicts if isinstance(one, Stop) and one.at_once}
    begun = [one for one in verdicts if isinstance(one, Start)]
    unfinished = len([one for one in seen.unfinished if one.run_key not in ended]) + len(begun)
    most = seen.due[0].overlap.at_once_max
    assert len(begun) <= room
    assert most is None or unfinished <= max(most, len(seen.unfinished))


@given(ledgers())
def test_no_tick_gets_two_verdicts_and_none_is_judged_that_was_not_due(
    ledger: tuple[ScheduleFacts, StoreTime],
) -> None:
    seen, now = ledger
    keys = [one.run_key for one in judge(seen, now, 1_000) if not isinstance(one, CloseGate | Stop)]
    assert len(keys) == len(set(keys))
    assert set(keys) <= {one.run_key for one in seen.due}


@given(ledgers())
def test_nothing_is_started_and_stopped_in_one_judgement(ledger: tuple[ScheduleFacts, StoreTime]) -> None:
    seen, now = ledger
    verdicts = judge(seen, now, 1_000)
    started = {one.run_key for one in verdicts if isinstance(one, Start)}
    assert not started & {one.run_key for one in verdicts if isinstance(one, Stop)}


STARTED_BEFORE_IT = [
    tick(0, LATEST, Overlap.CANCEL_OTHER, origin=Origin.REPLAY),
    tick(1, LATEST, Overlap.CANCEL_OTHER, origin=Origin.CATCH_UP),
]


@given(ledgers())
@example((facts(STARTED_BEFORE_IT), moment(80)))
def test_with_room_no_tick_is_left_without_an_answer(ledger: tuple[ScheduleFacts, StoreTime]) -> None:
    """But for one that would stop what has only just been started."""
    seen, now = ledger
    if seen.due[0].overlap.kind in (OverlapKind.CANCEL_OTHER, OverlapKind.TERMINATE_OTHER):
        return
    keys = {one.run_key for one in judge(seen, now, 1_000) if not isinstance(one, CloseGate | Stop)}
    assert keys == {one.run_key for one in seen.due}


@given(ledgers())
def test_no_more_wait_than_the_buffer_holds(ledger: tuple[ScheduleFacts, StoreTime]) -> None:
    seen, now = ledger
    live = {one.run_key for one in seen.due if one.origin is Origin.LIVE}
    waiting = [one for one in judge(seen, now, 1_000) if isinstance(one, Wait) and one.run_key in live]
    assert len(waiting) <= seen.due[0].overlap.waiting_max


@given(ledgers())
def test_only_the_policies_that_say_so_stop_others(ledger: tuple[ScheduleFacts, StoreTime]) -> None:
    seen, now = ledger
    stops = [one for one in judge(seen, now, 1_000) if isinstance(one, Stop)]
    kind = seen.due[0].overlap.kind
    assert not stops or kind in (OverlapKind.CANCEL_OTHER, OverlapKind.TERMINATE_OTHER)
    assert {one.at_once for one in stops} <= {kind is OverlapKind.TERMINATE_OTHER}


@given(ledgers())
def test_with_latest_no_late_tick_runs_but_the_newest(ledger: tuple[ScheduleFacts, StoreTime]) -> None:
    """But for those that waited by their policy: they are as late as their way has been free."""
    seen, now = ledger
    if seen.due[0].overlap.kind in WAITING_KINDS:
        return
    due = tuple(replace(one, catch_up=LATEST) for one in seen.due if one.origin is not Origin.BACKFILL)
    due = tuple(one for one in due if one.origin is not Origin.REPLAY)
    if not due:
        return
    latest = replace(seen, due=due, newest_due=max(one.fire_time for one in due))
    fire_times = {one.run_key: one.fire_time for one in latest.due}
    for verdict in judge(latest, now, 1_000):
        if (
            isinstance(verdict, Start | Admit)
            and since(fire_times[verdict.run_key], now).total_seconds() > 10
        ):
            assert fire_times[verdict.run_key] == latest.newest_due


@given(ledgers(), st.lists(st.integers(0, 3), max_size=12))
def test_the_number_of_calls_does_not_change_the_accounting(
    ledger: tuple[ScheduleFacts, StoreTime], rooms: list[int]
) -> None:
    """Live ticks that start at once or end: in one call with room for all, or in many with room for few."""
    seen, now = ledger
    live = tuple(one for one in seen.due if one.origin is Origin.LIVE)
    if not live or live[0].overlap.kind is OverlapKind.TERMINATE_OTHER:
        return
    seen = replace(seen, due=live, newest_due=live[-1].fire_time)
    assert in_several_calls(seen, now, rooms) == told(judge(seen, now, 1_000))


def in_several_calls(seen: ScheduleFacts, now: StoreTime, rooms: list[int]) -> dict[str, str]:
    """The ledger after one call for each room and a last one with plenty, written down in between."""
    accounted: dict[str, str] = {}
    for room in [*rooms, 1_000]:
        due = tuple(one for one in seen.due if accounted.get(one.run_key) in (None, "waits"))
        if not due:
            break
        seen = replace(seen, due=tuple(_parked(one, accounted) for one in due))
        verdicts = judge(seen, now, room)
        accounted |= told(verdicts)
        begun = tuple(
            StartedRun(one.run_key, one.fire_time)
            for one in seen.due
            if accounted.get(one.run_key) == "start"
        )
        asked = tuple(
            replace(one, cancel_requested=one.cancel_requested or accounted.get(one.run_key) == "asked")
            for one in seen.unfinished
        )
        seen = replace(seen, unfinished=(*asked, *begun))
    return accounted


def _parked(tick: DueTick, accounted: dict[str, str]) -> DueTick:
    return replace(tick, parked=accounted.get(tick.run_key) == "waits")


@given(ledgers(), st.integers(1, 3))
def test_finishing_between_two_calls_does_not_change_what_a_tick_on_time_is_told(
    ledger: tuple[ScheduleFacts, StoreTime], pause_ms: int
) -> None:
    """Under `skip` a run that began and ended between two calls still obstructs those it overlapped."""
    seen, now = ledger
    live = [replace(one, overlap=Overlap.SKIP, catch_up=NONE, origin=Origin.LIVE) for one in seen.due]
    due = tuple(sorted(live, key=lambda one: one.fire_time))
    seen = replace(seen, due=due, unfinished=(), finished=())
    whole = judge(seen, now, 1_000)
    first = next((index for index, one in enumerate(whole) if isinstance(one, Start)), None)
    if first is None or first + 1 == len(due):
        return
    ended = StartedRun(due[first].run_key, due[first].fire_time, later(now, pause_ms / 1000))
    rest = replace(seen, due=due[first + 1 :], finished=(ended,))
    assert told(judge(rest, now, 1_000)) == told(whole[first + 1 :])
