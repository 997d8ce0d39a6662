"""The picture of a chaos run is well-formed, shows what happened, and explains every colour that it uses."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.chaos.nemesis import ACTIONS, MASSACRE, STORE_FAULTS
from tests.chaos.picture import (
    LEFT,
    LOST_RUN,
    REFUSAL,
    RIGHT,
    RUN,
    STYLES,
    TICKING,
    WIDTH,
    Bar,
    Panel,
    draw,
)

SVG = "{http://www.w3.org/2000/svg}"
SECONDS = 600.0
PANEL = Panel(
    "a fleet <of two>",
    ["scheduler-1", "worker-1"],
    [
        Bar("failover", 100, 110),
        Bar("kill", 200, 200, "scheduler-1"),
        Bar(RUN, 10, 13, "worker-1"),
        Bar(LOST_RUN, 20, 26, "worker-1"),
    ],
    [(0.0, 0.0), (300.0, 50.0), (600.0, 100.0)],
    marks=[205.0],
    captions=[(5.0, "begins here")],
)


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def boxes(svg: str, colour: str) -> list[tuple[float, float]]:
    """Left edge and width of everything of that colour."""
    found = [one for one in ElementTree.fromstring(svg).iter(f"{SVG}rect") if one.get("fill") == colour]
    return [(float(one.get("x") or 0), float(one.get("width") or 0)) for one in found]


def test_what_is_to_be_seen_is_in_the_legend_and_nothing_else() -> None:
    shown = set(texts(draw("title", [PANEL], SECONDS))) & STYLES.keys()
    assert shown == {TICKING, RUN, LOST_RUN, REFUSAL, "kill", "failover"}


def test_names_are_written_as_they_are() -> None:
    said = texts(draw("0 & 1", [PANEL], SECONDS))
    assert {"0 & 1", "a fleet <of two>", "scheduler-1", "worker-1", "begins here"} <= set(said)


def test_a_bar_lies_where_its_time_is() -> None:
    _, (x, width) = boxes(draw("title", [PANEL], SECONDS), STYLES["failover"].colour)
    per_second = (WIDTH - LEFT - RIGHT) / SECONDS
    assert x == pytest.approx(LEFT + 100 * per_second, abs=0.1)
    assert width == pytest.approx(10 * per_second, abs=0.1)


def test_what_is_over_at_once_is_still_to_be_seen() -> None:
    _, (_, width) = boxes(draw("title", [PANEL], SECONDS), STYLES["kill"].colour)
    assert width == pytest.approx(STYLES["kill"].thinnest, abs=0.1)


def test_the_axis_has_round_moments_and_not_too_many() -> None:
    moments = [one for one in texts(draw("title", [PANEL], SECONDS)) if one.count(":") == 1]
    assert moments[:3] == ["0:00", "1:00", "2:00"]
    assert moments[-1] == "10:00"


def test_every_fault_has_a_colour_of_its_own() -> None:
    assert (ACTIONS.keys() - {MASSACRE}) | STORE_FAULTS <= STYLES.keys()
    assert len({style.colour for style in STYLES.values()}) == len(STYLES)


def test_a_run_that_was_over_before_it_began_is_drawn() -> None:
    assert texts(draw("nothing", [Panel("empty", [], [], [])], 0.0))
