"""The heat grid: a cell for each tick, in rows of time. Each leads to its run, or to why there is none.

Cells stand where their time puts them in their row, so that what happens at the same hour of each day stands
in one column. The shapes are drawn once and used by every cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from markupsafe import Markup, escape

from fencepost.web.dashboard.charts.marks import mark_shape
from fencepost.web.dashboard.charts.svg import element

CELL, STEP = 12.0, 15.0
LABEL_WIDTH, HEAD = 84.0, 16.0
GROUND = Markup('<rect width="12" height="12" fill="transparent"/>')
"""So that all of a cell can be pointed at, also where its shape is hollow."""
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
    width, height = LABEL_WIDTH + columns * STEP, HEAD + len(rows) * STEP
    used = sorted({cell.mark for row in rows for cell in row.cells})
    shapes = [
        element("symbol", GROUND, mark_shape(one), id=f"heat-{one}", viewBox="0 0 12 12") for one in used
    ]
    above = [
        element("text", words, x=LABEL_WIDTH + column * STEP, y=HEAD - 5)
        for column, words in heads
        if column < columns
    ]
    lines = [_row(row, HEAD + index * STEP) for index, row in enumerate(rows)]
    return element(
        "svg",
        element("defs", *shapes),
        *above,
        *lines,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="group",
        aria_label=label,
        class_="heat",
    )


def _row(row: HeatRow, y: float) -> Markup:
    words = (
        element("text", row.label, x=LABEL_WIDTH - 8, y=y + CELL - 2, text_anchor="end")
        if row.label
        else None
    )
    cells = "".join(_cell(cell, f"{y:g}") for cell in row.cells)
    return element("g", words, Markup(cells) if cells else None)


def _cell(cell: HeatCell, y: str) -> str:
    """One string for each, of parts that are made once: there may be more than a thousand."""
    title, href = escape(cell.title), escape(cell.href)
    quiet = ' tabindex="-1"' if cell.mark in QUIET else ""
    x = f"{LABEL_WIDTH + cell.column * STEP:g}"
    return (
        f'<a href="{href}" aria-label="{title}"{quiet}><title>{title}</title>'
        f'<use x="{x}" y="{y}" {_shape(cell.mark)}</a>'
    )


@cache
def _shape(mark: str) -> str:
    known = escape(mark)
    return f'width="{CELL:g}" height="{CELL:g}" href="#heat-{known}" class="cell is-{known}"/>'
