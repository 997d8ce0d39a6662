"""Charts: pure, escaped, with a title for each mark and words for the whole."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from fencepost.web.dashboard.charts.bars import Bar, Line, Part, bars, lines, nice_length_s, nice_max
from fencepost.web.dashboard.charts.gauge import gauge
from fencepost.web.dashboard.charts.heat import HeatCell, HeatRow, heat
from fencepost.web.dashboard.charts.marks import SHAPES
from fencepost.web.dashboard.charts.strip import Stripe, strip
from fencepost.web.dashboard.charts.timeline import Stretch, timeline
from fencepost.web.dashboard.grid import WORDS
from fencepost.web.dashboard.states import SHOWN
from fencepost.web.dashboard.tell import count, span, whole
from fencepost.web.dashboard.trends import Point, trend

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOSTILE = '"><script>alert(1)</script>&'
HOURS = [Bar(f"at {hour} {HOSTILE}", (Part("fine", hour), Part("dead", 1)), f"{hour}h") for hour in range(5)]


def tree(chart: Markup) -> ElementTree.Element:
    """A chart is well-formed, whatever is in it, and refers to nothing outside."""
    return ElementTree.fromstring(str(chart))


def rects(chart: Markup, look: str) -> list[ElementTree.Element]:
    return [one for one in tree(chart).iter("rect") if look in (one.get("class") or "").split()]


def test_a_bar_is_as_high_as_its_value() -> None:
    heights = [float(one.get("height") or 0) for one in rects(bars(HOURS, "hours"), "is-fine")]
    assert heights == sorted(heights)
    assert heights[-1] == pytest.approx(4 * heights[0], abs=0.1)


def test_bars_without_anything_are_an_empty_picture() -> None:
    assert rects(bars([], "nothing"), "bar") == []
    assert rects(bars([Bar("none", (Part("fine", 0),), "")], "nothing"), "bar") == []


@pytest.mark.parametrize(
    ("value", "most"), [(0, 1), (0.3, 0.5), (1, 1), (1.1, 2), (4, 5), (7, 10), (1_000, 1_000), (1_001, 2_000)]
)
def test_an_axis_ends_at_a_round_number(value: float, most: float) -> None:
    assert nice_max(value) == pytest.approx(most)


def test_an_axis_says_numbers_as_the_pages_do() -> None:
    assert whole(12_000.0) == count(12_000) == "12\u202f000"
    assert whole(0.5) == ""


def test_a_line_has_a_gap_where_a_value_is_missing() -> None:
    wire = Line("p50", (1.0, 2.0, None, 3.0, 4.0, None, 9.0))
    chart = lines([wire], [str(one) for one in range(7)], [""] * 7, "lateness", str)
    (path,) = tree(chart).iter("path")
    assert (path.get("d") or "").count("M") == 3
    assert len(list(tree(chart).iter("circle"))) == 1


@pytest.mark.parametrize("part", [-1.0, 0.0, 0.5, 0.999, 1.0, 7.0])
def test_a_gauge_stays_within_its_ring(part: float) -> None:
    chart = tree(gauge(part, "words", "label"))
    assert chart.get("aria-label") == "label"
    assert len(list(chart.iter("path"))) == (1 if part <= 0 else 2)


def test_a_strip_is_filled_from_the_right() -> None:
    chart = tree(strip([Stripe("fine", "one"), Stripe("dead", "two")], 30, "two runs"))
    places = [float(one.get("x") or 0) for one in chart.iter("svg") if one.get("x")]
    assert places == [28 * 9, 29 * 9]


def test_a_cell_of_the_grid_leads_somewhere_and_says_what_it_is() -> None:
    cells = (HeatCell(0, "fine", "on time", "/runs/a"), HeatCell(4, "dead", HOSTILE, "/runs/b"))
    chart = tree(heat([HeatRow("12:00", cells)], "ticks", [(0, ":00")]))
    links = list(chart.iter("a"))
    assert [one.get("href") for one in links] == ["/runs/a", "/runs/b"]
    assert [one.get("aria-label") for one in links] == ["on time", HOSTILE]
    assert [one.get("tabindex") for one in links] == ["-1", None]
    assert [one.get("href") for one in chart.iter("use")] == ["#mark-fine", "#mark-dead"]
    assert not list(chart.iter("script"))


def test_a_row_of_the_grid_is_cut_into_pieces_that_fit_a_phone() -> None:
    cells = tuple(HeatCell(number, "fine", f"tick {number}", "/runs/a") for number in range(70))
    chart = tree(heat([HeatRow("", cells)], "ticks", [(0, "+0 h"), (12, "+1 h")]))
    heads, row = chart.findall("div")
    assert [float(one.get("width") or 0) for one in row.iter("svg")] == [180.0] * 6
    assert [len(list(one.iter("a"))) for one in row.iter("svg")] == [12] * 5 + [10]
    assert [[text.text for text in one.iter("text")] for one in heads.iter("svg")][:2] == [["+0 h"], ["+1 h"]]


@pytest.mark.parametrize("most", [0.0, 0.3, 0.9, 1.5, 7.0, 70.0, 500.0, 5_000.0, 40_000.0, 90_000.0, 3e6])
def test_an_axis_of_time_ends_at_a_round_length_whose_half_is_round(most: float) -> None:
    end = nice_length_s(most)
    assert most <= end
    assert all(len(span(one).split()) == 2 for one in (end, end / 2))


def test_no_label_of_an_axis_reaches_over_the_end() -> None:
    points = [Point(f"{number:02}:00", 1.0, 2.0, 3.0) for number in range(61)]
    for one in tree(trend(points, "how long").chart).iter("text"):
        x = float(one.get("x") or 0)
        assert x > 0
        if one.get("text-anchor") != "end":
            assert x + 30 <= 600


def test_a_stretch_of_the_timeline_stays_inside_of_it() -> None:
    items = [
        Stretch("attempt 1", NOW - timedelta(hours=1), NOW, "dead", "before"),
        Stretch("attempt 2", NOW, NOW + timedelta(hours=9), "running", HOSTILE),
        Stretch("attempt 3", NOW, NOW, "fine", "an instant"),
    ]
    chart = timeline(items, NOW - timedelta(minutes=1), NOW + timedelta(minutes=1), "attempts", str)
    for one in rects(chart, "bar"):
        left, wide = float(one.get("x") or 0), float(one.get("width") or 0)
        assert 0 < wide <= 720
        assert left >= 132
        assert left + wide <= 720


@pytest.mark.parametrize(
    "chart",
    [
        bars(HOURS, HOSTILE),
        strip([Stripe("fine", HOSTILE)], 3, HOSTILE),
        timeline([Stretch(HOSTILE, NOW, NOW, "fine", HOSTILE)], NOW, NOW, HOSTILE, lambda _: HOSTILE),
        gauge(0.5, HOSTILE, HOSTILE),
        heat([HeatRow(HOSTILE, (HeatCell(0, "late", HOSTILE, "/"),))], HOSTILE, [(0, HOSTILE)]),
    ],
)
def test_nothing_in_a_chart_becomes_markup(chart: Markup) -> None:
    assert not list(tree(chart).iter("script"))
    assert "style=" not in chart


def test_every_state_has_a_shape_of_its_own() -> None:
    marks = {look.mark for look in SHOWN.values()} | WORDS.keys()
    assert marks - SHAPES.keys() == set()
    assert len(set(map(str, SHAPES.values()))) == len(SHAPES)
