"""A lane of the matrix: the marks of one schedule over time, each a link. Its page has the shapes:
`mark_defs`.

A lane is two pictures, the earlier half and the later: side by side where there is room, one below the other
on a phone, where the marks would be too small to be told apart otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fencepost.web.dashboard.charts.heat import STEP, HeatCell, mark_link
from fencepost.web.dashboard.charts.svg import element, titled

HEIGHT = 15.0
AXIS_HEIGHT, AXIS_ROOM = 14.0, 36.0
WIDTH_MAX, SCALE_MAX = 940.0, 1.8
"""How wide a lane is where there is room, and how much larger than its units."""


def lane(cells: Sequence[HeatCell], columns: int, label: str, unknown: int = 0, why: str = "") -> Markup:
    """Marks from left to right; over the first `unknown` columns is a line, and `why` says the reason."""
    half = columns // 2
    parts = []
    for first, words in ((0, "the earlier half"), (half, "the later half")):
        shown = [one for one in cells if first <= one.column < first + half]
        marks = (
            Markup("".join(mark_link(one, (one.column - first) * STEP) for one in shown)) if shown else None
        )
        line = _line(min(max(unknown - first, 0), half), why)
        named = {"role": "group", "aria_label": f"{label}; {words}"}
        parts.append(_half(half, HEIGHT, "lane", line, marks, **named))
    return Markup("").join(parts)


def axis(heads: Sequence[tuple[int, str]], columns: int) -> Markup:
    """Words over columns; each is left out where it would not fit."""
    half = columns // 2
    parts = []
    for first in (0, half):
        words, free_from = [], 0.0
        for column, text in heads:
            x = (column - first) * STEP
            if free_from <= x <= half * STEP - AXIS_ROOM:
                words.append(element("text", text, x=x, y=AXIS_HEIGHT - 3))
                free_from = x + AXIS_ROOM
        parts.append(_half(half, AXIS_HEIGHT, "lane", *words, aria_hidden="true"))
    return Markup("").join(parts)


def _half(columns: int, height: float, kind: str, *children: Markup | None, **attributes: str) -> Markup:
    width = columns * STEP
    box, shown = f"0 0 {width:g} {height:g}", min(width * SCALE_MAX, WIDTH_MAX / 2)
    return element("svg", *children, viewBox=box, width=shown, class_=kind, **attributes)


def _line(columns: int, why: str) -> Markup | None:
    if not columns:
        return None
    return titled("rect", why, x=0.0, y=HEIGHT / 2 - 1, width=columns * STEP, height=2.0, class_="unknown")
