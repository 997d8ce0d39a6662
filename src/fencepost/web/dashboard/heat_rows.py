"""Cells into rows of the heat grid: each stands in the slot of its row in which its time lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from fencepost.web.dashboard.charts.heat import HeatCell, HeatRow
from fencepost.web.dashboard.grid import WORDS, Cell
from fencepost.web.dashboard.spans import Cut, Row, row_label, row_start
from fencepost.web.dashboard.tell import Tell

EXTRA_SLOTS = 4
"""A day of 25 hours has a few more slots than others; what does not fit begins another line."""


def heat_rows(cells: Sequence[Cell], cut: Cut, tell: Tell, href: Callable[[Cell], str]) -> list[HeatRow]:
    """The rows, oldest first."""
    rows: list[tuple[str, list[HeatCell]]] = []
    start = None
    for one in cells:
        begins = row_start(one.fire_time, cut.row, tell.zone)
        if begins != start:
            start = begins
            rows.append((row_label(begins, cut.row), []))
        column = _column(one, cut, begins.timestamp(), rows[-1][1])
        if column >= cut.slots + EXTRA_SLOTS:
            rows.append(("", []))
            column = 0
        rows[-1][1].append(HeatCell(column, one.mark, title_of(one, tell), href(one)))
    return [HeatRow(label, tuple(found)) for label, found in rows]


def title_of(cell: Cell, tell: Tell) -> str:
    """One tick in a line."""
    words = f"{tell.words(cell.fire_time, 'full')}: {WORDS[cell.mark]}"
    return f"{words}, {cell.words}" if cell.words and cell.words != WORDS[cell.mark] else words


def heads(cut: Cut) -> list[tuple[int, str]]:
    """Words over the columns, where all rows have the same."""
    match cut.row:
        case Row.HOUR:
            return [(_slot(cut, minute * 60), f":{minute:02}") for minute in range(0, 60, 10)]
        case Row.DAY:
            return [(_slot(cut, hour * 3_600), f"{hour:02}h") for hour in range(0, 24, 3)]
        case Row.SIX_HOURS:
            return [(_slot(cut, hour * 3_600), f"+{hour} h") for hour in range(6)]
        case Row.MINUTE:
            return [(_slot(cut, second), f"{second} s") for second in range(0, 60, 15)]
        case Row.TEN_MINUTES:
            return [(_slot(cut, minute * 60), f"+{minute} min") for minute in range(0, 10, 2)]
        case Row.WEEK:
            days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
            return [(_slot(cut, index * 86_400), day) for index, day in enumerate(days)]
        case Row.MONTH:
            return [(_slot(cut, (day - 1) * 86_400), str(day)) for day in (1, 8, 15, 22, 29)]
    months = ("Jan", "Apr", "Jul", "Oct")
    return [(_slot(cut, index * 91.3 * 86_400), month) for index, month in enumerate(months)]


def _column(cell: Cell, cut: Cut, row_s: float, before: list[HeatCell]) -> int:
    wanted = _slot(cut, cell.fire_time.timestamp() - row_s)
    return max(wanted, before[-1].column + 1) if before else wanted


def _slot(cut: Cut, offset_s: float) -> int:
    return int(timedelta(seconds=offset_s + cut.slot_s * 0.001) / timedelta(seconds=cut.slot_s))
