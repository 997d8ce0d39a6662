"""The engine beside two other cron libraries: where they read an expression alike, the answers are the same.

The expressions here keep to what the three share, and the changes of the clocks to those on the hour and away
from midnight. All the rest stands, row by row, in the table of `test_cron_differences`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from typing import NamedTuple

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron, Fold, Gap, zone
from tests.triggers import oracle_cases as cases
from tests.triggers import oracle_peers as peers
from tests.triggers.oracle_peers import NOTHING, REFUSED

NOW = datetime(2026, 1, 1, tzinfo=UTC)
QUESTIONS = 400
COUNT = 6
HORIZON = timedelta(days=3)
FIRST_YEAR = 1975
EXPRESSIONS = {"cronsim": peers.cronsim_expression, "croniter": peers.croniter_expression}


class Question(NamedTuple):
    """An expression in a zone, and the instant from which to look."""

    expression: str
    tz: str
    moment: datetime


def question(random: Random, peer: str) -> Question:
    """One around a change of the clocks, most often."""
    tz = random.choice(cases.ZONES)
    seconds = cases.change_or_any(random, tz, FIRST_YEAR) + random.randint(-90_000, 90_000)
    return Question(EXPRESSIONS[peer](random), tz, datetime.fromtimestamp(seconds, UTC))


each_peer = pytest.mark.parametrize("peer", ["cronsim", "croniter"])


@each_peer
def test_agrees_in_utc(peer: str) -> None:
    for number in range(QUESTIONS):
        random = Random(f"{peer}/{number}")
        moment = NOW + timedelta(seconds=random.randint(-(10**9), 10**9))
        asked = Question(EXPRESSIONS[peer](random), "UTC", moment)
        if (cron := accepted(asked)) is None:
            assert theirs(peer, asked) in (NOTHING, REFUSED), asked
            continue
        assert ours(cron, asked) == theirs(peer, asked), asked
        assert ours(cron, asked, backwards=True) == theirs(peer, asked, backwards=True), asked


@each_peer
def test_agrees_where_the_clocks_change_on_the_hour(peer: str) -> None:
    agreed = 0
    for number in range(QUESTIONS):
        asked = question(Random(f"{peer}/zone/{number}"), peer)
        cron = accepted(asked, *policy(peer, asked.expression))
        if cron is None or parts_ways(peer, asked):
            continue
        assert ours(cron, asked, backwards=True) == theirs(peer, asked, backwards=True), asked
        assert ours(cron, asked) == theirs(peer, asked), asked
        agreed += 1
    assert agreed > QUESTIONS // 3


def policy(peer: str, expression: str) -> tuple[Gap | None, Fold | None]:
    """What a library does, in our words.

    cronsim follows Debian's cron with five fields, and lets everything go by elapsed time with six. croniter
    fires at both times of a fold, and after a gap unless the hour is a plain star.
    """
    *_, hour, _, _, _ = expression.split()
    if peer == "croniter":
        return "skip" if hour == "*" else "shift", "both"
    return (None, None) if len(expression.split()) == 5 else ("skip", "both")


def parts_ways(peer: str, asked: Question) -> bool:
    """Whether the table of differences has a row for such a question."""
    expression, tz, moment = asked
    if peers.changes_oddly(tz, moment - HORIZON, moment + HORIZON):
        return True
    if peer == "cronsim":
        return peers.is_repeated(tz, moment)
    return len(expression.split()) == 6


def accepted(asked: Question, gap: Gap | None = None, fold: Fold | None = None) -> Cron | None:
    try:
        return Cron(asked.expression, asked.tz, gap, fold)
    except InvalidTrigger as refusal:
        if "never fires" not in str(refusal):
            raise
        return None


def ours(cron: Cron, asked: Question, *, backwards: bool = False) -> str:
    moment = asked.moment
    found = peers.previous_of(cron, moment) if backwards else iter(cron.next(moment, COUNT))
    return near(asked, peers.written_times(islice(found, COUNT)))


def theirs(peer: str, asked: Question, *, backwards: bool = False) -> str:
    start = asked.moment.astimezone(zone(asked.tz))
    return near(asked, peers.says(peer, asked.expression, start, COUNT, backwards=backwards))


def near(asked: Question, times: str) -> str:
    """In a zone, those times before the clocks may change again."""
    if asked.tz == "UTC" or times in (NOTHING, REFUSED):
        return times
    read = ((text, datetime.fromisoformat(text).replace(tzinfo=UTC)) for text in times.split())
    return " ".join(text for text, moment in read if abs(moment - asked.moment) < HORIZON)
