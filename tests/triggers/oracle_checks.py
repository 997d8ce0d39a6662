"""The engine's answers beside the oracle's, for one expression and many instants.

A *triple* is an expression with its zone and policies, and one instant, for which the oracle knows the first
fire time after the instant and the engine was asked for it. Where the oracle's window ends before the next
fire time, the engine must say so too, but such an answer does not count.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import islice
from random import Random
from typing import TypeAlias

import pytest

from fencepost.errors import InvalidTrigger
from fencepost.triggers import Cron
from tests.triggers import oracle_cases as cases
from tests.triggers.oracle import Rule, read
from tests.triggers.oracle_walk import DAY_S, EPOCH, fires_on, matching_days, policy_of, walk

SECOND = timedelta(seconds=1)
TICK = timedelta.resolution
# From the year on in which the last zone, that of Monrovia, gave up an offset with seconds in it.
WHOLE_MINUTES_SINCE = int(datetime(1973, 1, 1, tzinfo=UTC).timestamp())
LISTED_MAX = 100
DAILY_MAX = 2_000
SPAN_DAYS = 3_000
DAYS_MAX = 150
MARGIN = timedelta(days=2)
BUSY_SHARE = 0.8

Picker: TypeAlias = Callable[[Sequence[int], int, int], Sequence[datetime]]
"""The instants to ask about, from the fire times of a window and its two ends."""


@dataclass(frozen=True)
class Case:
    """All that the fire times depend on, but for the zone data."""

    expression: str
    tz: str
    gap: str | None
    fold: str | None
    seed: str

    def cron(self) -> Cron:
        """The engine's reading."""
        return Cron(self.expression, self.tz, self.gap, self.fold, self.seed)  # type: ignore[arg-type]

    def rule(self) -> Rule:
        """The oracle's reading."""
        return read(self.expression, self.seed)


def case(random: Random, expression: str, tz: str) -> Case:
    """The expression in a zone, with some policies and some seed."""
    gap, fold = random.choice(cases.GAPS), random.choice(cases.FOLDS)
    return Case(expression, tz, gap, fold, random.choice(cases.SEEDS))


def check_around_a_change(random: Random, expressions: int, instants: int) -> int:
    """Lays some expressions over one walk, most often around a change of the clocks; returns the triples."""
    tz = random.choice(cases.ZONES)
    middle = cases.change_or_any(random, tz) // 60 * 60
    checked = 0
    for _ in range(expressions):
        busy = random.random() < BUSY_SHARE
        one = case(random, (cases.busy_expression if busy else cases.expression)(random), tz)
        checked += check_window(one, middle, partial(picked, random, instants, (middle,)))
    return checked


def check_window(one: Case, middle: int, pick: Picker) -> int:
    """One expression around an instant; returns the triples."""
    rule = one.rule()
    if not rule.can_match():
        return refuse(one)
    daily = len(rule.hours) * len(rule.minutes) * len(rule.seconds)
    by_minutes = middle > WHOLE_MINUTES_SINCE and daily <= DAILY_MAX
    if not by_minutes and cases.changes_the_date(one.tz, middle):
        return 0
    around, unit_s = (DAY_S * 3 // 2, 60) if by_minutes else (3600, 1)
    start, stop = middle - around, middle + around
    fires = walk(one.tz, start, stop, unit_s).fires(rule, policy_of(rule, one.gap, one.fold))
    return compare(one, fires, start, stop, pick(fires, start, stop))


def check_over_years(random: Random, instants: int) -> int:
    """One expression that fires seldom, over some years; returns the triples."""
    one = case(random, cases.rare_expression(random), random.choice(cases.ZONES))
    rule = one.rule()
    if not rule.can_match():
        return refuse(one)
    first = date(random.randint(cases.FIRST_YEAR, cases.LAST_YEAR), random.randint(1, 12), 1)
    last = first + timedelta(days=SPAN_DAYS)
    days = list(islice(matching_days(rule, first, last), DAYS_MAX))
    if len(days) == DAYS_MAX:
        last = days[-1]
    # A wall time is at most a day away from UTC, so that the oracle knows all but the days at the two ends.
    start, stop = ((day - EPOCH.date()).days * DAY_S for day in (first + MARGIN, last - MARGIN))
    known = fires_on(rule, one.tz, policy_of(rule, one.gap, one.fold), days)
    fires = [at for at in known if start <= at < stop]
    return compare(one, fires, start, stop, picked(random, instants, (), fires, start, stop))


def refuse(one: Case) -> int:
    """What can never match is refused; that is no triple."""
    with pytest.raises(InvalidTrigger, match="never fires"):
        one.cron()
    return 0


def picked(
    random: Random, count: int, others: Sequence[int], fires: Sequence[int], start: int, stop: int
) -> list[datetime]:
    """Instants of a window by chance: anywhere, and on, just before and just after what matters."""
    landmarks = [*fires, *others] if random.random() < 0.5 else others or fires
    chosen = []
    for _ in range(count):
        if landmarks and random.random() < 0.6:
            ahead = random.choice(
                (-SECOND, -TICK, 0 * TICK, TICK, SECOND, random.randint(-7200, 7200) * SECOND)
            )
            chosen.append(EPOCH + random.choice(landmarks) * SECOND + ahead)
        else:
            ahead = random.choice((0, 0, 1, 999_999)) * TICK
            chosen.append(EPOCH + random.randrange(start, stop) * SECOND + ahead)
    # No instant counts twice.
    return [one for one in dict.fromkeys(chosen) if start <= (one - EPOCH) // SECOND < stop]


def compare(one: Case, fires: Sequence[int], start: int, stop: int, asked: Sequence[datetime]) -> int:
    """Holds all that the engine answers against the fire times in [start, stop); returns the triples."""
    cron = one.cron()
    for begin in (EPOCH + start * SECOND - TICK, *asked[:1]):
        listed = islice(cron.fire_times(begin, EPOCH + stop * SECOND - TICK), LISTED_MAX)
        first = bisect_right(fires, (begin - EPOCH) // SECOND)
        assert [(moment - EPOCH) // SECOND for moment in listed] == fires[first : first + LISTED_MAX], (
            one,
            begin,
        )
    return sum(_compare_at(one, cron, fires, start, stop, moment) for moment in asked)


def _compare_at(one: Case, cron: Cron, fires: Sequence[int], start: int, stop: int, moment: datetime) -> bool:
    at, fraction = divmod(moment - EPOCH, SECOND)
    following = bisect_right(fires, at)
    preceding = (following if fraction else bisect_left(fires, at)) - 1
    found, past = cron.next_after(moment), cron.previous(moment)
    known = following < len(fires)
    if known:
        assert found == EPOCH + fires[following] * SECOND, (one, moment)
    else:
        assert found is None or found >= EPOCH + stop * SECOND, (one, moment)
    if preceding >= 0:
        assert past == EPOCH + fires[preceding] * SECOND, (one, moment)
    else:
        assert past is None or past < EPOCH + start * SECOND, (one, moment)
    assert (moment in cron) == (not fraction and at in fires[preceding + 1 : following]), (one, moment)
    return known
