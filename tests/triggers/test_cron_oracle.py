"""The engine against the oracle: random expressions, zones, policies and instants, by the hundred thousand.

FENCEPOST_TEST_ORACLE_CASES says how many triples of expression, zone and instant are held against the
oracle, and FENCEPOST_TEST_ORACLE_SEED which ones. A failure names the seed, the shard and the round that
bring it back.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron, Fold, Gap
from tests.properties import examples
from tests.triggers import oracle_cases as cases
from tests.triggers import oracle_checks as checks
from tests.triggers.oracle import read
from tests.triggers.oracle_walk import DAY_S, EPOCH, Policy, fires_on, walk

SEED = os.environ.get("FENCEPOST_TEST_ORACLE_SEED", "1")
CASES = int(os.environ.get("FENCEPOST_TEST_ORACLE_CASES", "8000"))
SHARDS = 16
# A round of either kind checks some hundred triples. One that found nothing to check may be followed by a few
# hundred like it before the shard gives up.
ROUNDS_MAX = CASES // SHARDS // 10 + 500
SECOND = timedelta(seconds=1)

CHANGES = [
    ("Africa/Cairo", "2025-04-24T22:00:00Z"),
    ("Africa/Casablanca", "2025-02-23T02:00:00Z"),
    ("America/Caracas", "2007-12-09T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),
    ("America/Sao_Paulo", "2018-02-18T02:00:00Z"),
    ("America/St_Johns", "2006-10-29T02:31:00Z"),
    ("Antarctica/Troll", "2026-03-29T01:00:00Z"),
    ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),
    ("Asia/Tehran", "2022-03-21T20:30:00Z"),
    ("Asia/Tokyo", "2026-01-01T00:00:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Dublin", "2026-10-25T01:00:00Z"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),
    ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),
]

# Day fields among which many pairs never meet.
DAYS = "* 1 5 28 29 30 31 30,31 H(30-31) H(1-31) L L-1 L-27 L-28 L-29 L-30 LW 1W 15W 29W 30W 31W 1,31W"
MONTHS = "* 2 FEB,APR 4,6,9,11 1,2 */11 H"
WEEKDAYS = "* ? MON +MON +SAT +6,0 +MON#1 +MON#2 +TUE#4 +WED#5 +SUN#L +FRIL +MON-FRI +SAT#1,SUN#1 MON#5 +H"

gaps: st.SearchStrategy[Gap | None] = st.sampled_from([None, "shift", "skip"])
folds: st.SearchStrategy[Fold | None] = st.sampled_from([None, "first", "last", "both"])
any_random = st.randoms(use_true_random=False)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_answer_differs_from_the_oracle(shard: int) -> None:
    wanted, checked = -(-CASES // SHARDS), 0
    for number in range(ROUNDS_MAX):
        if checked >= wanted:
            break
        checked += check_round(f"{SEED}/{shard}/{number}", around_a_change=checked < wanted // 2)
    assert checked >= wanted


def check_round(name: str, *, around_a_change: bool) -> int:
    """One round by its name, which a failure tells."""
    random = Random(name)
    try:
        if around_a_change:
            return checks.check_around_a_change(random, expressions=50, instants=30)
        return checks.check_over_years(random, instants=40)
    except Exception as error:
        error.add_note(f"oracle round {name}")
        raise


@examples(250)
@given(
    change=st.sampled_from(CHANGES),
    expression=st.one_of(any_random.map(cases.busy_expression), any_random.map(cases.expression)),
    gap=gaps,
    fold=folds,
    instants=st.lists(st.integers(-3600, 3599), min_size=8, max_size=8),
)
@example(("Europe/Berlin", "2026-03-29T01:00:00Z"), "30 2 * * *", "shift", "first", [0, -1, 1])
@example(("Europe/Dublin", "2026-10-25T01:00:00Z"), "*/5 0,1,2,3 * * *", "shift", "last", [0, -1, 1])
@example(("America/Sao_Paulo", "2018-11-04T03:00:00Z"), "0 0 * * *", None, None, [0, -1, 1])
def test_no_change_of_the_clocks_confuses_an_expression(
    change: tuple[str, str], expression: str, gap: Gap | None, fold: Fold | None, instants: list[int]
) -> None:
    tz, at = change
    one = checks.Case(expression, tz, gap, fold, seed="invoices")
    middle = int(datetime.fromisoformat(at).timestamp())
    asked = [EPOCH + (middle + ahead) * SECOND for ahead in instants]
    checks.check_window(one, middle, lambda *_: asked)


@examples(250)
@given(
    expression=st.tuples(*(st.sampled_from(field.split()) for field in (DAYS, MONTHS, WEEKDAYS))).map(
        lambda fields: f"0 0 {' '.join(fields)}"
    ),
    seed=st.sampled_from(cases.SEEDS),
)
def test_refuses_exactly_what_no_calendar_holds(expression: str, seed: str) -> None:
    assert is_refused(expression, seed) == (not read(expression, seed).can_match())


@pytest.mark.parametrize(("tz", "at"), CHANGES)
@pytest.mark.parametrize("expression", ["30 2 * * *", "*/20 0-3,22-23 * * *", "15 12,23 28-31,1 * *"])
def test_the_oracle_agrees_with_itself(tz: str, at: str, expression: str) -> None:
    rule, middle = read(expression), int(datetime.fromisoformat(at).timestamp())
    walked = walk(tz, middle - DAY_S, middle + DAY_S, 60)
    days = [datetime.fromtimestamp(middle, UTC).date() + timedelta(days=ahead) for ahead in range(-3, 4)]
    for policy in (Policy(gap, fold) for gap in ("shift", "skip") for fold in ("first", "last", "both")):
        resolved = fires_on(rule, tz, policy, filter(rule.matches_day, days))
        inside = [one for one in resolved if middle - DAY_S <= one < middle + DAY_S]
        assert walked.fires(rule, policy) == inside, policy


def is_refused(expression: str, seed: str) -> bool:
    try:
        Cron(expression, seed=seed)
    except InvalidTrigger as refusal:
        if "never fires" not in str(refusal):
            raise
        return True
    return False
