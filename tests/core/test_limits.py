"""Which candidates of a limited job start, which wait, and for what."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.limits import decide
from fencepost.errors import InvalidSpec
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import DEFAULT_NAMESPACE, JobName, RunKey
from fencepost.model.job import JobSpec, Parameter
from fencepost.model.limits import BURST_MAX, Candidate, JobLimit, LimitFacts, LimitVerdict
from fencepost.model.run import Hold

NOW = StoreTime(datetime(2026, 3, 1, tzinfo=UTC))
JOB = JobName("report")


def facts(limit: JobLimit, *slots: str, **known: object) -> LimitFacts:
    candidates = tuple(Candidate(RunKey(f"report#{number}"), slot) for number, slot in enumerate(slots))
    terms: dict[str, object] = {"running": {}, "paid_until": None, **known}
    return LimitFacts(DEFAULT_NAMESPACE, JOB, limit, candidates, **terms)  # type: ignore[arg-type]


def numbers(verdict: LimitVerdict) -> list[str]:
    return [one.run_key[-1] for one in verdict.starts]


def test_no_more_start_than_there_are_slots() -> None:
    verdict = decide(facts(JobLimit(3), *[""] * 5, running={"": 1}), NOW, 9)
    assert numbers(verdict) == ["0", "1"]
    assert {one.hold for one in verdict.waits} == {Hold.LIMITED}
    assert verdict.waits[0].reason == "waits for a slot of job report (3 running)"


def test_a_full_slot_does_not_stop_the_next() -> None:
    verdict = decide(facts(JobLimit(1, "customer"), "a", "a", "b", running={"a": 1}), NOW, 9)
    assert numbers(verdict) == ["2"]
    assert verdict.waits[0].reason == "waits for a slot of job report with customer a (1 running)"


def test_a_limit_below_what_runs_lets_nothing_start() -> None:
    assert numbers(decide(facts(JobLimit(1), "", running={"": 4}), NOW, 9)) == []


def test_without_room_nothing_is_said() -> None:
    verdict = decide(facts(JobLimit(5), "", ""), NOW, 0)
    assert (verdict.starts, verdict.waits) == ((), ())


def test_the_rate_says_when_the_next_may_go() -> None:
    verdict = decide(facts(JobLimit(rate="6/m"), "", ""), NOW, 9)
    assert numbers(verdict) == ["0"]
    assert verdict.next_at == later(NOW, 10)
    assert verdict.waits[0].hold is Hold.PACED


def test_what_waits_for_a_slot_uses_up_none_of_the_rate() -> None:
    verdict = decide(facts(JobLimit(1, "k", "6/m"), "a", "b", running={"a": 1}), NOW, 9)
    assert numbers(verdict) == ["1"]


def test_a_long_rest_does_not_buy_more_than_one_burst() -> None:
    long_ago = later(NOW, -86_400)
    verdict = decide(facts(JobLimit(rate="600/m"), *[""] * 50, paid_until=long_ago), NOW, 99)
    assert len(verdict.starts) == BURST_MAX


@given(
    count=st.integers(1, 400),
    unit=st.sampled_from("smh"),
    waits=st.lists(st.tuples(st.floats(0, 90), st.integers(1, 40)), max_size=40),
)
def test_no_stretch_has_more_starts_than_intervals_and_one_burst(
    count: int, unit: str, waits: list[tuple[float, int]]
) -> None:
    limit, now, paid = JobLimit(rate=f"{count}/{unit}"), NOW, None
    starts: list[datetime] = []
    for seconds, asked in waits:
        now = later(now, seconds)
        verdict = decide(facts(limit, *[""] * asked, paid_until=paid), now, asked)
        paid = verdict.paid_until
        starts += [now] * len(verdict.starts)
    assert limit.every_s is not None
    for first in range(len(starts)):
        for last in range(first, len(starts)):
            stretch = (starts[last] - starts[first]) / timedelta(seconds=limit.every_s)
            assert last - first + 1 <= stretch + limit.burst + 1e-6


@given(
    most=st.integers(1, 5),
    running=st.dictionaries(st.sampled_from("abc"), st.integers(0, 7)),
    slots=st.lists(st.sampled_from("abc"), max_size=20),
    room=st.integers(0, 20),
)
def test_no_slot_ever_has_more_than_may_run(
    most: int, running: dict[str, int], slots: list[str], room: int
) -> None:
    verdict = decide(facts(JobLimit(most, "k"), *slots, running=running), NOW, room)
    assert len(verdict.starts) <= room
    for slot in "abc":
        begun = sum(one.slot == slot for one in verdict.starts)
        assert begun <= max(0, most - running.get(slot, 0))


@pytest.mark.parametrize(
    ("terms", "complaint"),
    [
        ({"concurrency": 0}, "concurrency 0: expected a whole number from 1"),
        ({"concurrency": True}, "concurrency True: expected a whole number"),
        ({"key": "customer"}, "say also how many, with concurrency"),
        ({"concurrency": 1, "key": "a b"}, "expected a name in the payload"),
        ({"rate": "fast"}, "such as 5/s, 10/m, 100/h"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(terms: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidSpec, match=complaint):
        JobLimit(**terms)  # type: ignore[arg-type]


def test_a_key_that_no_payload_has_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="no such parameter; it takes image_id"):
        JobSpec(JOB, parameters=(Parameter("image_id", True),), limit=JobLimit(1, "customer"))


def test_a_slot_is_the_value_of_the_key_whatever_its_type() -> None:
    limit = JobLimit(1, "k")
    assert limit.slot_of({"k": "a"}) == "a"
    assert limit.slot_of({"k": 7}) == "7"
    assert limit.slot_of({"k": {"x": 1}}) == '{"x": 1}'
    assert limit.slot_of({"k": None}) == limit.slot_of({}) == ""
    assert len(limit.slot_of({"k": "x" * 9_999})) == 64
