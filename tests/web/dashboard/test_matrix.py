"""The matrix: every tick in its column, the worst of a cell shown, and a way to its runs."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from fencepost.model.identifiers import DEFAULT_NAMESPACE, RunKey, ScheduleId
from fencepost.model.missed import MissedRange
from fencepost.model.run import RunState
from fencepost.model.views import Outcomes, ScheduleOutcomes
from fencepost.web.dashboard import links
from fencepost.web.dashboard.charts.lane import axis, lane
from fencepost.web.dashboard.charts.marks import SHAPES
from fencepost.web.dashboard.matrix import WORDS, WORST_FIRST, MatrixRow, lane_of
from fencepost.web.dashboard.states import SHOWN
from fencepost.web.dashboard.stretches import COLUMNS, edges_of, heads_of
from fencepost.web.dashboard.tell import Tell
from tests.services.house import START, House
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import parsed
from tests.web.dashboard.test_charts import HOSTILE, tree

BERLIN, UTC_ZONE = ZoneInfo("Europe/Berlin"), ZoneInfo("UTC")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EDGES = [NOW + timedelta(hours=number) for number in range(5)]
ID, KEY = ScheduleId("nightly/eu"), RunKey("nightly/eu#2026-03-01T12:00:00Z#1")


def outcomes(state: RunState, runs: int = 1, *, late: bool = False) -> Outcomes:
    return Outcomes(state, late, runs, KEY)


def lane_with(*found: Outcomes, missed: Sequence[MissedRange] = (), known_from: Any = None) -> MatrixRow:
    """A lane that has these in its second column."""
    stretches = {1: found} if found else {}
    return lane_of(ID, ScheduleOutcomes(stretches, known_from, tuple(missed)), EDGES, Tell(NOW, UTC_ZONE))


@pytest.mark.parametrize("state", RunState)
def test_no_outcome_is_without_a_shape_and_a_word(state: RunState) -> None:
    (cell,) = lane_with(outcomes(state)).cells
    assert cell.mark == SHOWN[state].mark
    assert cell.mark in SHAPES
    assert WORDS[cell.mark] in cell.title


def test_no_two_outcomes_have_one_shape() -> None:
    shapes = [str(SHAPES[mark]) for mark in WORST_FIRST]
    assert len(set(shapes)) == len(shapes)


def test_a_failure_is_not_hidden_by_successes() -> None:
    (cell,) = lane_with(outcomes(RunState.SUCCEEDED, 59), outcomes(RunState.DEAD)).cells
    assert (cell.column, cell.mark) == (1, "dead")
    assert "1 dead, 59 on time" in cell.title


def test_a_late_success_is_not_shown_as_on_time() -> None:
    (cell,) = lane_with(outcomes(RunState.SUCCEEDED, late=True)).cells
    assert cell.mark == "late"


def test_a_cell_of_one_run_leads_to_it_and_one_of_several_to_their_list() -> None:
    (one,) = lane_with(outcomes(RunState.DEAD)).cells
    assert one.href == links.run(KEY)
    (several,) = lane_with(outcomes(RunState.DEAD, 2)).cells
    assert several.href == (
        "/runs?schedule=nightly%2Feu&since=2026-03-01T13%3A00%3A00Z&until=2026-03-01T14%3A00%3A00Z"
    )


def test_ticks_that_were_missed_without_a_run_are_not_an_empty_cell() -> None:
    missed = MissedRange(DEFAULT_NAMESPACE, ID, 1, EDGES[1], EDGES[2] - timedelta(seconds=1), 60, "too late")
    (cell,) = lane_with(missed=[missed]).cells
    assert (cell.column, cell.mark) == (1, "missed")
    assert "too late" in cell.title
    assert cell.href.startswith(links.schedule(ID))


def test_columns_that_were_not_looked_at_do_not_look_empty() -> None:
    one = lane_with(known_from=EDGES[2])
    assert one.unknown == 2
    drawn = str(lane(one.cells, 4, one.label, one.unknown, one.why))
    assert "left out" in drawn
    assert drawn.count('class="unknown"') == 1


@pytest.mark.parametrize("zone", [UTC_ZONE, BERLIN, ZoneInfo("Asia/Kathmandu")], ids=str)
@pytest.mark.parametrize("width", COLUMNS)
@pytest.mark.parametrize("day", [1, 28, 29, 30])
def test_columns_follow_each_other_and_hold_their_end(width: Any, zone: ZoneInfo, day: int) -> None:
    until = datetime(2026, 3, day, 1, 30, tzinfo=UTC)
    edges = edges_of(width, until, zone)
    assert len(edges) == COLUMNS[width].count + 1
    assert all(earlier < later for earlier, later in pairwise(edges))
    assert edges[-2] <= until < edges[-1]


def test_a_column_of_a_day_is_a_day_of_the_reader_also_where_clocks_change() -> None:
    edges = edges_of("30d", datetime(2026, 4, 2, tzinfo=UTC), BERLIN)
    assert {one.astimezone(BERLIN).hour for one in edges} == {0}
    lengths = [later - earlier for earlier, later in pairwise(edges)]
    assert lengths.count(timedelta(hours=23)) == 1


def test_words_over_columns_are_in_the_zone_of_the_reader() -> None:
    edges = edges_of("24h", NOW, BERLIN)
    assert "16:00" in [words for _, words in heads_of("24h", edges, BERLIN)]
    assert "12:00" in str(axis([(0, "12:00")], 48))


def test_a_lane_is_well_formed_whatever_is_in_it() -> None:
    found = lane_of(
        ScheduleId(HOSTILE), ScheduleOutcomes({0: (outcomes(RunState.DEAD),)}), EDGES, Tell(NOW, UTC_ZONE)
    )
    tree(f"<g>{lane(found.cells, 4, found.label)}</g>")  # type: ignore[arg-type]


async def test_the_matrix_has_a_lane_for_each_schedule_and_leads_to_its_runs(board: Dashboard) -> None:
    text = await board.page("/matrix?span=6h")
    rows = [one.attributes["href"] for one in parsed(text).named("a")]
    assert {links.schedule("minutely"), links.schedule("nightly/eu"), links.schedule("stiff")} <= set(rows)
    assert [one for one in rows if one.startswith("/runs?schedule=minutely")]
    assert "on time" in words_of(text)


async def test_a_list_of_a_cell_has_no_run_of_the_next_cell(board: Dashboard) -> None:
    text = await board.page("/matrix?span=6h")
    cells = [one for one in parsed(text).named("a") if "schedule=minutely" in one.attributes["href"]]
    for cell in cells:
        listed = parsed(await board.page(cell.attributes["href"].replace("&amp;", "&")))
        times = {
            one.attributes["data-run"].split("#")[1]
            for one in listed.elements
            if "data-run" in one.attributes
        }
        assert len({one[:15] for one in times}) == 1


async def test_only_the_schedules_of_a_label_are_shown() -> None:
    house = House()
    await house.put("one", 60, labels={"team": "red"})
    await house.put("two", 60, labels={"team": "blue"})
    text = words_of(await Dashboard(house, somebody()).page("/matrix?label=team%3Dred"))
    assert "1 schedule found" in text
    assert "two" not in text


async def test_a_page_of_the_matrix_is_one_reading_of_runs(
    board: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ledger = board.house.store.ledger
    known = ledger.outcomes

    async def counted(namespace: Any, ids: Any, *rest: Any) -> Any:
        asked.append(len(ids))
        return await known(namespace, ids, *rest)

    monkeypatch.setattr(ledger, "outcomes", counted)
    await board.page("/matrix")
    assert len(asked) == 1
    assert asked[0] <= 30


async def test_more_schedules_than_fit_are_on_the_next_page() -> None:
    house = House()
    for number in range(31):
        await house.put(f"schedule-{number:02}", 86_400)
    board = Dashboard(house, somebody())
    text = await board.page("/matrix")
    assert "schedule-30" not in words_of(text)
    (following,) = [
        one.attributes["href"] for one in parsed(text).named("a") if one.attributes.get("rel") == "next"
    ]
    assert "schedule-30" in words_of(await board.page(following))


async def test_older_columns_end_where_the_newer_ones_begin(board: Dashboard) -> None:
    text = await board.page("/matrix?span=6h")
    (older,) = [
        one.attributes["href"] for one in parsed(text).named("a") if one.attributes.get("rel") == "prev"
    ]
    before = await board.page(older)
    assert f"to {Tell(START, UTC_ZONE).words(START, 'full')[:10]}" in words_of(before)
    assert [one for one in parsed(before).named("a") if one.attributes.get("rel") == "next"]


async def test_a_span_that_is_not_offered_is_refused(board: Dashboard) -> None:
    await board.page("/matrix?span=100y", status=400)
