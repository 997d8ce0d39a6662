"""A preview tells what the trigger will do: the fire times are its own, and the sentence names no others."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.model.times import parse_time
from fencepost.triggers import Cron, Every
from fencepost.triggers.combine import Combinable
from fencepost.triggers.localtime.dst import FOLDS, GAPS, Fold, Gap
from fencepost.triggers.localtime.zones import zone, zone_names
from fencepost.triggers.preview import COUNT_MAX, FIRE_TIMES_MAX, ChangePreview, preview
from tests.properties import examples

SECOND, TICK = timedelta(seconds=1), timedelta.resolution
START = datetime(2005, 1, 1, tzinfo=UTC)
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z")

ZONES = [
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"),
    *("Asia/Tehran", "Africa/Casablanca", "America/St_Johns", "Europe/Moscow", "Asia/Pyongyang", "UTC"),
]

moments = st.integers(0, 25 * 366 * 24).map(lambda hours: START + timedelta(hours=hours))
gaps: st.SearchStrategy[Gap | None] = st.none() | st.sampled_from(sorted(GAPS.values()))
folds: st.SearchStrategy[Fold | None] = st.none() | st.sampled_from(sorted(FOLDS.values()))
minutes = st.sampled_from(["0", "30", "*/15", "*/7", "15,45", "*", "59"])
hours = st.sampled_from(["0", "1", "2", "3", "23", "*", "*/2", "0-4", "1,2", "2,3"])


@st.composite
def crons(draw: st.DrawFn) -> Cron:
    expression = f"{draw(minutes)} {draw(hours)} * * {draw(st.sampled_from(['*', 'SUN', 'MON-FRI']))}"
    return Cron(expression, draw(st.sampled_from(ZONES)), draw(gaps), draw(folds))


@st.composite
def steps(draw: st.DrawFn) -> Every:
    anchor = START.replace(tzinfo=None) + timedelta(minutes=draw(st.integers(0, 1440)))
    return Every(
        draw(st.sampled_from(["1 day", "1 week"])),
        anchor,
        draw(st.sampled_from(ZONES)),
        draw(gaps),
        draw(folds),
    )


triggers: st.SearchStrategy[Combinable] = st.one_of(
    crons(), steps(), st.tuples(crons(), crons()).map(lambda pair: pair[0] | pair[1])
)


@examples(300)
@given(trigger=triggers, after=moments)
def test_the_fire_times_are_those_of_the_trigger(trigger: Combinable, after: datetime) -> None:
    for found in preview(trigger, after):
        expected = list(trigger.fire_times(found.since - TICK, found.until - TICK))
        assert found.count == len(expected) < COUNT_MAX
        assert list(found.fire_times) == expected[:FIRE_TIMES_MAX]
        assert found.at > after


@examples(300)
@given(cron=crons(), after=moments)
def test_the_sentence_names_only_instants_at_which_it_fires(cron: Cron, after: datetime) -> None:
    for found in preview(cron, after):
        named = [parse_time(text) for text in INSTANT.findall(found.sentence)]
        assert all(moment in cron for moment in named)
        if "it does not fire" in found.sentence:
            assert (found.kind, named) == ("gap", [])


@examples(300)
@given(cron=crons(), after=moments)
def test_every_wall_time_in_the_change_is_told_and_no_other(cron: Cron, after: datetime) -> None:
    """What is expected is asked of the same expression in UTC, whose wall knows no changes."""
    for found in preview(cron, after):
        low, high = (one.replace(tzinfo=UTC) for one in sorted((found.wall_from, found.wall_to)))
        expected = list(Cron(cron.expression).fire_times(low - TICK, high - TICK))
        assert ("nothing it does is touched" in found.sentence) == (not expected)
        if len(expected) > 3:
            assert f"{len(expected)} of its wall times" in found.sentence
        told = found.sentence.partition(": ")[2]
        assert all(f"{one:%H:%M}" in told for one in expected[:3] if len(expected) <= 3)


@examples(300)
@given(cron=crons(), after=moments)
def test_a_beat_that_is_called_kept_has_even_distances(cron: Cron, after: datetime) -> None:
    for found in preview(cron, after):
        fires = all_fires(cron, found)
        even = len({later - earlier for earlier, later in pairwise(fires)}) == 1
        assert even or "keeps its beat" not in found.sentence


def test_the_change_is_what_the_clocks_of_the_zone_do() -> None:
    for tz in sorted(zone_names())[::4]:
        trigger = Cron("0 12 * * *", tz)
        for found in preview(trigger, datetime(2026, 1, 1, tzinfo=UTC)) + preview(trigger, START):
            assert wall(found.at - SECOND, tz) + SECOND == found.wall_from
            assert wall(found.at, tz) == found.wall_to
            change = found.wall_to - found.wall_from
            assert (abs(change), change > timedelta(0)) == (found.length, found.kind == "gap")
            assert change


@pytest.mark.parametrize("tz", ZONES)
def test_no_change_is_passed_over(tz: str) -> None:
    """Hour by hour for five years, every change of the offset is the one that was foretold."""
    local, trigger = zone(tz), Cron("0 12 * * *", tz)
    moment, stop = datetime(2009, 1, 1, tzinfo=UTC), datetime(2014, 1, 1, tzinfo=UTC)
    foretold = preview(trigger, moment)
    while moment < stop:
        later = moment + timedelta(minutes=30)
        if moment.astimezone(local).utcoffset() != later.astimezone(local).utcoffset():
            assert moment < foretold[0].at <= later
            foretold = preview(trigger, later)
        moment = later


def all_fires(trigger: Combinable, found: ChangePreview) -> list[datetime]:
    return list(trigger.fire_times(found.since - TICK, found.until - TICK))


def wall(moment: datetime, tz: str) -> datetime:
    return moment.astimezone(zone(tz)).replace(tzinfo=None, fold=0)
