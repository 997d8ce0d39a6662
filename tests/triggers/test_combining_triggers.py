"""The algebra of triggers against sets of instants."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import or_, sub

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger, SearchExhausted
from fencepost.triggers import At, Combinable, Cron, Every, decode, zone
from fencepost.triggers.combine import Union
from tests.properties import examples

NOW = datetime(2026, 3, 28, tzinfo=UTC)
END = NOW + timedelta(days=3)
TICK = timedelta.resolution
NEVER = Cron("0 12 * * *") & Cron("30 12 * * *")

minutes = st.integers(0, 3 * 1440).map(lambda minute: NOW + timedelta(minutes=minute))
leaves: st.SearchStrategy[Combinable] = st.one_of(
    st.builds(
        Cron,
        st.sampled_from(["*/7 * * * *", "0 * * * *", "30 2 * * *", "*/15 1-3 * * *", "0 0 29 3 *"]),
        st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe"]),
    ),
    st.builds(Every, st.sampled_from(["5m", "7m", "1h", "11h", "1 day"])),
    st.builds(At, st.lists(minutes, min_size=1, max_size=8)),
)


def narrowed(inner: st.SearchStrategy[Combinable]) -> st.SearchStrategy[Combinable]:
    spans = st.tuples(minutes, minutes).filter(lambda pair: pair[0] < pair[1])
    limits = st.builds(lambda one, span, n: one.between(*span).limit(n), inner, spans, st.integers(1, 30))
    return st.one_of(
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda one, other: one & other, inner, inner),
        st.tuples(inner, inner).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: pair[0] - pair[1]),
        st.builds(lambda one, span: one.between(*span), inner, spans),
        limits,
        st.builds(
            lambda one, opens, lasts: one.outside(opens, lasts),
            inner,
            leaves,
            st.sampled_from(["1m", "20m", "3h", "30h"]),
        ),
    )


combinations = st.recursive(leaves, narrowed, max_leaves=6)


def all_of(trigger: Combinable) -> set[datetime]:
    """Every fire time of a combination over three days, by sets of its leaves' fire times."""
    form = trigger.to_json()
    match form:
        case {"kind": "union", "of": list(members)}:
            return set[datetime]().union(*(all_of(decode(one)) for one in members))
        case {"kind": "intersection", "of": list(members)}:
            return set.intersection(*(all_of(decode(one)) for one in members))
        case {"kind": "difference", "of": of, "without": without}:
            return all_of(decode(of)) - all_of(decode(without))
        case {"kind": "between", "of": of, "start": str(start), "end": str(end)}:
            span = datetime.fromisoformat(start), datetime.fromisoformat(end)
            return {one for one in all_of(decode(of)) if span[0] <= one < span[1]}
        case {"kind": "limit", "of": of, "count": int(count)}:
            return set(sorted(all_of(decode(of)))[:count])
        case {"kind": "outside", "of": of, "opens": opens, "lasts": str(lasts)}:
            length = {"1m": 1, "20m": 20, "3h": 180, "1d6h": 1800}[lasts] * timedelta(minutes=1)
            begins = list(decode(opens).fire_times(NOW - timedelta(days=3), END))
            return {
                one
                for one in all_of(decode(of))
                if not any(begin <= one < begin + length for begin in begins)
            }
    return set(trigger.fire_times(NOW - TICK, END))


@examples(400)
@given(trigger=combinations)
def test_fires_exactly_where_the_sets_say(trigger: Combinable) -> None:
    assert list(trigger.fire_times(NOW - TICK, END)) == sorted(all_of(trigger))


@examples(250)
@given(trigger=combinations, moment=minutes, ahead=st.integers(-1, 1))
def test_searches_from_anywhere_agree_with_the_list(
    trigger: Combinable, moment: datetime, ahead: int
) -> None:
    moment += ahead * TICK
    times = sorted(all_of(trigger))
    later, earlier = [one for one in times if one > moment], [one for one in times if one < moment]
    if later:
        assert trigger.next_after(moment) == later[0]
    if earlier:
        assert trigger.previous(moment) == earlier[-1]
    if NOW <= moment <= END:
        assert (moment in trigger) == (moment in times)


@examples(100)
@given(trigger=combinations)
def test_the_stable_form_and_pickling_give_the_same_trigger_back(trigger: Combinable) -> None:
    assert decode(trigger.to_json()) == trigger
    assert pickle.loads(pickle.dumps(trigger)) == trigger
    assert hash(decode(trigger.to_json())) == hash(trigger)
    assert trigger.describe()


def test_groups_of_one_kind_are_one_group_without_repetitions() -> None:
    one, two, three = Every("5m"), Every("7m"), Every("11m")
    assert (one | two) | (two | three) == one | two | three
    assert (one & two) & one == one & two
    assert ((one | two) & three).to_json() != (one | (two & three)).to_json()


def test_between_is_a_trigger_and_a_list() -> None:
    span = Cron("0 12 * * *").between("2026-01-01", "2026-01-04")
    assert [one.day for one in span] == [1, 2, 3]
    assert span.next_after(datetime(2026, 2, 1, tzinfo=UTC)) is None
    assert span.previous(datetime(2026, 2, 1, tzinfo=UTC)) == datetime(2026, 1, 3, 12, tzinfo=UTC)


def test_between_reads_naive_times_in_its_zone() -> None:
    span = Every("1h").between("2026-07-01T00:00", "2026-07-01T02:00", tz="Europe/Berlin")
    assert [one.isoformat() for one in span] == ["2026-06-30T22:00:00+00:00", "2026-06-30T23:00:00+00:00"]


def test_between_includes_its_start_and_not_its_end() -> None:
    assert list(Every("1h").between(NOW, NOW + timedelta(hours=2))) == [NOW, NOW + timedelta(hours=1)]


def test_a_limit_counts_from_the_beginning_for_every_caller_at_any_time() -> None:
    thrice = Cron("0 12 * * *").between("2026-01-01").limit(3)
    assert list(thrice.fire_times(NOW, END)) == []
    assert thrice.previous(NOW) == datetime(2026, 1, 3, 12, tzinfo=UTC)
    assert thrice.next(datetime(2020, 1, 1, tzinfo=UTC), 10)[-1] == datetime(2026, 1, 3, 12, tzinfo=UTC)


def test_a_limit_longer_than_the_series_takes_nothing_away() -> None:
    assert At(["2026-01-01", "2026-01-02"]).limit(5).next(datetime(2020, 1, 1, tzinfo=UTC), 9) == [
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 2, tzinfo=UTC),
    ]


def test_a_maintenance_window_is_leapt_over_and_not_walked_through() -> None:
    trigger = Every("1s").outside(At("2026-03-28T00:00:00Z"), "3d")
    assert trigger.candidate_after(NOW) == NOW + timedelta(days=3)
    assert trigger.next_after(NOW) == NOW + timedelta(days=3)


def test_windows_of_a_zone_move_with_its_clocks() -> None:
    nightly = Every("30m").outside(Cron("0 1 * * *", "Europe/Berlin"), "2h")
    fired = {one.isoformat()[:16] for one in nightly.fire_times(NOW, END)}
    assert {"2026-03-28T00:00", "2026-03-28T01:30"}.isdisjoint(fired)
    assert {"2026-03-28T02:00", "2026-03-29T02:00", "2026-03-29T23:30"} - fired == {"2026-03-29T23:30"}


def test_what_never_fires_is_given_up_and_says_how_far_it_looked() -> None:
    with pytest.raises(SearchExhausted) as cut:
        NEVER.next_after(NOW)
    assert cut.value.searched_through > NOW
    with pytest.raises(InvalidTrigger, match="found no fire time up to"):
        NEVER.next(NOW)


def test_a_search_that_was_cut_goes_on_for_people() -> None:
    without_mondays = Every("5s") - Cron("* * * * * MON")
    monday = datetime(2026, 3, 30, tzinfo=UTC)
    with pytest.raises(SearchExhausted):
        without_mondays.next_after(monday)
    assert without_mondays.next(monday) == [monday + timedelta(days=1)]


def test_nothing_lies_between_an_instant_and_its_candidate() -> None:
    trigger = (Every("7m") & Every("11m")) - Cron("0 0 * * *")
    moment = NOW
    for _ in range(200):
        candidate = trigger.candidate_after(moment)
        assert candidate is not None
        assert not any(one < candidate for one in all_of(trigger) if moment < one)
        moment = candidate


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Every("5m").between(), "between: expected a start, an end or both"),
        (lambda: Every("5m").between(NOW, NOW), "expected an end later than the start"),
        (lambda: Every("5m").limit(3), "the trigger has no beginning; write .between(start).limit(n)"),
        (lambda: Every("5m").between(NOW).limit(0), "limit 0: expected a number from 1 to 10000"),
        (lambda: Every("5m").between(NOW).limit(10_001), "limit 10001: expected a number from 1 to 10000"),
        (lambda: Every("5m").outside(NEVER, "1h"), "opened by a plain trigger, not by a combination"),
        (lambda: Every("5m").outside(Every("1h"), 0), "a window lasts longer than nothing"),
        (lambda: Every("5m", jitter="1m") | Every("7m"), "a jitter belongs to the schedule"),
        (lambda: list(Every("5m").between(end=NOW)), "cannot be listed without a start"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises(InvalidTrigger, match=complaint.replace("(", r"\(").replace(")", r"\)")):
        make()


def test_combinations_are_bounded_in_depth_and_width() -> None:
    days: list[Combinable] = [At(NOW + timedelta(days=number)) for number in range(101)]
    assert reduce(sub, days[:16]).depth == 16
    with pytest.raises(InvalidTrigger, match="17 deep, expected at most 16"):
        reduce(sub, days[:17])
    assert isinstance(reduce(or_, days[:100]), Union)
    with pytest.raises(InvalidTrigger, match="101 triggers are combined, expected at most 100"):
        reduce(or_, days)


def test_a_form_nested_without_end_is_refused_not_followed() -> None:
    form: dict[str, object] = {"v": 1, "kind": "at", "times": ["2026-01-01T00:00:00Z"]}
    for _ in range(5_000):
        form = {"v": 1, "kind": "union", "of": [form]}
    with pytest.raises(InvalidTrigger, match="nested deeper than 16"):
        decode(form)  # type: ignore[arg-type]


def test_only_triggers_combine() -> None:
    with pytest.raises(TypeError):
        Every("5m") | "0 0 * * *"


def test_a_narrowed_trigger_keeps_its_jitter() -> None:
    assert Every("1h", jitter="5m").between(NOW).jitter == timedelta(minutes=5)


def test_the_series_rises_strictly() -> None:
    trigger = Every("5m") | Every("7m") | Cron("*/5 * * * *")
    times = trigger.next(NOW, 200)
    assert all(earlier < later for earlier, later in pairwise(times))


def test_a_window_is_leapt_over_backwards_too() -> None:
    nightly = Every("1s").outside(Cron("0 22 * * *"), "8h")
    assert nightly.previous(NOW.replace(hour=2)) == NOW.replace(day=27, hour=21, minute=59, second=59)


def test_a_search_back_is_patient() -> None:
    without_sundays = Every("1s") - Cron("* * * * * SUN")
    sunday = datetime(2026, 3, 29, 23, tzinfo=UTC)
    assert without_sundays.previous(sunday) == datetime(2026, 3, 28, 23, 59, 59, tzinfo=UTC)


def test_what_never_fired_is_given_up_backwards_without_a_word_on_what_comes() -> None:
    with pytest.raises(InvalidTrigger, match="found no fire time back to") as refusal:
        NEVER.previous(NOW)
    assert not isinstance(refusal.value, SearchExhausted)


def test_the_count_of_a_limit_that_cannot_be_made_is_no_cut_of_another_search() -> None:
    limited = (At(NOW - timedelta(days=1)) | NEVER.between(NOW - timedelta(days=2))).limit(2)
    with pytest.raises(InvalidTrigger) as refusal:
        limited.next_after(NOW)
    assert not isinstance(refusal.value, SearchExhausted)


def test_between_reads_naive_times_in_the_triggers_own_zone() -> None:
    berlin = Cron("0 0 * * *", tz="Europe/Berlin")
    assert list(berlin.between("2026-03-01", "2026-03-02")) == [datetime(2026, 2, 28, 23, tzinfo=UTC)]


def test_an_instant_is_the_same_in_whatever_zone_it_is_given() -> None:
    second = datetime(2026, 10, 25, 2, 0, fold=1, tzinfo=zone("Europe/Berlin"))
    assert second in Cron("* * * * *", tz="Europe/Berlin")
    assert second in At(second)


@pytest.mark.parametrize("trigger", [Every("5m"), Cron("* * * * *"), At(NOW), Every("5m") | Every("7m")])
def test_a_time_without_a_zone_is_refused(trigger: Combinable) -> None:
    naive = NOW.replace(tzinfo=None)
    with pytest.raises(InvalidTrigger, match="expected a datetime with a zone"):
        trigger.next(naive)
    with pytest.raises(InvalidTrigger, match="expected a datetime with a zone"):
        _ = naive in trigger


@pytest.mark.parametrize("n", [-1, 1.5, True, None, "3"])
def test_only_a_number_of_fire_times_can_be_asked_for(n: object) -> None:
    with pytest.raises(InvalidTrigger, match="expected a whole number of fire times"):
        Every("5m").next(NOW, n)  # type: ignore[arg-type]


def test_nothing_is_excepted_from_itself() -> None:
    with pytest.raises(InvalidTrigger, match="every 5 minutes, except itself: never fires"):
        Every("5m") - Every("5m")


def test_the_ends_of_time_do_no_harm() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert At(first).limit(1).next(NOW) == []
    assert last not in Every("1h").outside(Every("1d"), "1h")
    with pytest.raises(InvalidTrigger, match="out of range"):
        Every("1h").next(datetime.min.replace(tzinfo=zone("Asia/Tokyo")))
    with pytest.raises(InvalidTrigger, match="leave it out"):
        Every("1h").between("0001-01-01")


def test_counting_towards_a_limit_is_bounded() -> None:
    rare = (Every("1s") - Cron("0-58 * * * * *")).between(NOW).limit(10_000)
    with pytest.raises(InvalidTrigger, match="limit 10000: counted only"):
        rare.next_after(NOW)
