"""A timeline: what lasted from when to when, a row each; what has not ended reaches the right edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from markupsafe import Markup

from fencepost.web.dashboard.charts.svg import element, picture

WIDTH, LEFT, RIGHT = 720.0, 132.0, 10.0
ROW, BAR, FOOT = 24.0, 14.0, 20.0
LEAST = 2.5
TICKS = 4
LABEL_LENGTH_MAX = 22
LETTER, LETTERS_MIN = 6.2, 4


class Stretch(NamedTuple):
    """One thing that lasted: in which row, from when to when, how it looks, and what its title says."""

    row: str
    begin: datetime
    end: datetime
    mark: str
    title: str
    words: str = ""
    """What stands in it, where there is room."""


def timeline(
    items: Sequence[Stretch], begin: datetime, end: datetime, label: str, shown: Callable[[datetime], str]
) -> Markup:
    """Rows in the order in which they first appear, over the time from `begin` to `end`."""
    end = max(end, begin + timedelta(milliseconds=1))
    rows = list(dict.fromkeys(one.row for one in items))
    height = len(rows) * ROW + FOOT
    names = [
        element("text", _short(row), element("title", row), x=LEFT - 8, y=index * ROW + 15, text_anchor="end")
        for index, row in enumerate(rows)
    ]
    drawn = [_bar(one, rows.index(one.row), begin, end) for one in items]
    return picture(WIDTH, height, label, *_axis(begin, end, height, shown), *names, *drawn, class_="chart")


def _bar(one: Stretch, row: int, begin: datetime, end: datetime) -> Markup:
    left, right = (_x(min(max(moment, begin), end), begin, end) for moment in (one.begin, one.end))
    left = min(left, WIDTH - RIGHT - LEAST)
    wide, y = max(right - left, LEAST), row * ROW + (ROW - BAR) / 2 - 1
    bar = element("rect", x=left, y=y, width=wide, height=BAR, rx=3, class_=f"bar is-{one.mark}")
    return element("g", element("title", one.title), bar, _inside(one.words, left, wide, y))


def _inside(words: str, left: float, wide: float, y: float) -> Markup | None:
    room = int((wide - 8) / LETTER)
    if not words or room < LETTERS_MIN:
        return None
    shown = words if len(words) <= room else f"{words[: room - 1]}…"
    return element("text", shown, x=left + 4, y=y + BAR - 3.5, class_="on-bar")


def _axis(begin: datetime, end: datetime, height: float, shown: Callable[[datetime], str]) -> list[Markup]:
    drawn = []
    for index in range(TICKS + 1):
        moment = begin + (end - begin) * index / TICKS
        x, anchor = _x(moment, begin, end), "middle" if 0 < index < TICKS else "end" if index else "start"
        drawn.append(element("line", x1=x, x2=x, y1=0, y2=height - FOOT, class_="axis"))
        drawn.append(element("text", shown(moment), x=x, y=height - 5, text_anchor=anchor))
    return drawn


def _x(moment: datetime, begin: datetime, end: datetime) -> float:
    return LEFT + (moment - begin) / (end - begin) * (WIDTH - LEFT - RIGHT)


def _short(text: str) -> str:
    return text if len(text) <= LABEL_LENGTH_MAX else f"{text[: LABEL_LENGTH_MAX - 1]}…"
