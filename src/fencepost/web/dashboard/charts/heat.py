"""The heat grid: a cell for each tick, in rows of time. Each leads to its run, or to why there is none.

Cells stand where their time puts them in their row, so that what happens at the same hour of each day stands
in one column. A row is several pictures beside each other; on a phone they go on in the next line. The page
has the shapes: `mark_defs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from fencepost.web.dashboard.charts.svg import element

CELL, STEP, HEIGHT = 12.0, 15.0, 15.0
HEAD = 14.0
PIECE = 12
"""The columns of one picture: two pictures are as wide as a phone."""
QUIET = frozenset({"fine", "planned", "forgotten"})
"""What nobody has to stop at with the keyboard."""


class HeatCell(NamedTuple):
    """One tick: its column, its mark, what its title says, and where it leads."""

    column: int
    mark: str
    title: str
    href: str


class HeatRow(NamedTuple):
    """One stretch of time."""

    label: str
    cells: tuple[HeatCell, ...]


def heat(rows: Sequence[HeatRow], label: str, heads: Sequence[tuple[int, str]] = ()) -> Markup:
    """The grid; `heads` are words over columns."""
    columns = 1 + max((cell.column for row in rows for cell in row.cells), default=0)
    columns += -columns % PIECE if columns > PIECE else 0
    lines = [_row(row, columns) for row in rows]
    return element("div", _heads(heads, columns), *lines, role="group", aria_label=label, class_="heat")


def _heads(heads: Sequence[tuple[int, str]], columns: int) -> Markup:
    pieces = []
    for first in range(0, columns, PIECE):
        words = [
            element("text", words, x=(column - first) * STEP, y=HEAD - 4)
            for column, words in heads
            if first <= column < min(first + PIECE, columns)
        ]
        pieces.append(piece(first, columns, HEAD, *words, aria_hidden="true"))
    return _line("", pieces, "heat-row heat-heads")


def _row(row: HeatRow, columns: int) -> Markup:
    pieces = []
    for first in range(0, columns, PIECE):
        cells = [one for one in row.cells if first <= one.column < first + PIECE]
        drawn = Markup("".join(mark_link(one, (one.column - first) * STEP) for one in cells))
        named = {"role": "group", "aria_label": row.label or "more"} if cells else {"aria_hidden": "true"}
        pieces.append(piece(first, columns, HEIGHT, drawn or None, **named))
    return _line(row.label, pieces, "heat-row")


def _line(label: str, pieces: Sequence[Markup], kind: str) -> Markup:
    words = element("span", label or "\u00a0", class_="heat-label")
    return element("div", words, element("div", *pieces, class_="heat-cells"), class_=kind)


def piece(first: int, columns: int, height: float, *children: Markup | None, **attributes: str) -> Markup:
    """A picture of the columns from `first` on."""
    width = min(PIECE, columns - first) * STEP
    return element("svg", *children, viewBox=f"0 0 {width:g} {height:g}", width=width, **attributes)


def mark_link(cell: HeatCell, x: float) -> str:
    """A mark that leads somewhere. One string, of parts that are few: there may be more than a thousand."""
    title, mark = escape(cell.title), escape(cell.mark)
    quiet = ' tabindex="-1"' if cell.mark in QUIET else ""
    return (
        f'<a href="{escape(cell.href)}" aria-label="{title}" class="is-{mark}"{quiet}>'
        f'<title>{title}</title><use x="{x:g}" y="1.5" href="#mark-{mark}"/></a>'
    )
