"""Bars over time, each in parts; and lines over the same time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from fencepost.web.dashboard.charts.svg import element, picture, titled

WIDTH, HEIGHT = 600.0, 140.0
LEFT, RIGHT, TOP, FOOT = 62.0, 4.0, 9.0, 22.0
DAY_S = 86_400.0
ROUND_S = (
    *(0.001, 0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 10.0, 20.0, 30.0, 60.0, 120.0, 240.0),
    *(600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0, 14_400.0, 28_800.0, 43_200.0, DAY_S),
)
LABELS_MAX, LABEL_WIDTH = 8, 34.0
"""On a phone every other label is left out, and letters are as large again as elsewhere."""


class Part(NamedTuple):
    """A part of a bar, by the mark whose colour it has."""

    mark: str
    value: float


class Bar(NamedTuple):
    """One stretch of time: what its title says, its parts from the ground up, its label below."""

    title: str
    parts: tuple[Part, ...]
    label: str


class Line(NamedTuple):
    """A value for each stretch, None where there is none."""

    name: str
    values: tuple[float | None, ...]


def bars(
    items: Sequence[Bar],
    label: str,
    shown: Callable[[float], str] = lambda one: f"{one:g}",
    least: float = 0,
) -> Markup:
    """Stacked bars; the tallest, or `least`, reaches the top, and the axis says how much that is."""
    most = nice_max(max([least, *(sum(part.value for part in one.parts) for one in items)]))
    wide = _room() / max(len(items), 1)
    drawn = [_stack(one, LEFT + index * wide, wide, most) for index, one in enumerate(items)]
    return _framed(label, most, shown, [one.label for one in items], *drawn)


def lines(
    items: Sequence[Line],
    titles: Sequence[str],
    labels: Sequence[str],
    label: str,
    shown: Callable[[float], str],
) -> Markup:
    """Lengths of time over stretches of time; where a value is missing the line has a gap. Titles are one a
    stretch."""
    known = [value for one in items for value in one.values if value is not None]
    most = nice_length_s(max(known, default=0))
    wide = _room() / max(len(titles), 1)
    wires = [
        element("path", d=path, class_=f"wire{' second' if index else ''}")
        for index, one in enumerate(items)
        if (path := _path(one.values, wide, most))
    ]
    dots = [
        element("circle", cx=x, cy=y, r=1.8, class_="bar")
        for one in items[:1]
        for x, y in _alone(one.values, wide, most)
    ]
    fields = [
        titled(
            "rect",
            title,
            x=LEFT + index * wide,
            y=TOP,
            width=wide,
            height=HEIGHT - TOP - FOOT,
            fill="transparent",
        )
        for index, title in enumerate(titles)
    ]
    return _framed(label, most, shown, labels, *wires, *dots, *fields)


def nice_max(value: float) -> float:
    """The next round number: 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def nice_length_s(length_s: float) -> float:
    """The next length of time that is round, and whose half is."""
    return next((one for one in ROUND_S if length_s <= one), DAY_S * nice_max(length_s / DAY_S))


def _stack(bar: Bar, x: float, wide: float, most: float) -> Markup:
    gap = min(2.0, wide * 0.2)
    parts, y = [], HEIGHT - FOOT
    for part in bar.parts:
        high = _high(part.value, most)
        if high > 0:
            y -= high
            parts.append(
                element(
                    "rect", x=x + gap / 2, y=y, width=wide - gap, height=high, class_=f"bar is-{part.mark}"
                )
            )
    room = element("rect", x=x, y=TOP, width=wide, height=HEIGHT - TOP - FOOT, fill="transparent")
    return element("g", element("title", bar.title), room, *parts)


def _framed(
    label: str, most: float, shown: Callable[[float], str], labels: Sequence[str], *drawn: Markup
) -> Markup:
    ground = HEIGHT - FOOT
    step = max(1, math.ceil(len(labels) / LABELS_MAX))
    wide = _room() / max(len(labels), 1)
    below = [
        element(
            "text", text, x=LEFT + index * wide, y=HEIGHT - 4, class_="less" if index // step % 2 else None
        )
        for index, text in enumerate(labels)
        if index % step == 0 and text and LEFT + index * wide <= WIDTH - LABEL_WIDTH
    ]
    axis = [
        element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="axis")
        for y in (TOP, (TOP + ground) / 2, ground)
    ]
    marks = [
        element("text", shown(most), x=LEFT - 5, y=TOP + 4, text_anchor="end"),
        element("text", shown(most / 2), x=LEFT - 5, y=(TOP + ground) / 2 + 4, text_anchor="end"),
        element("text", "0", x=LEFT - 5, y=ground + 4, text_anchor="end"),
    ]
    return picture(WIDTH, HEIGHT, label, *axis, *drawn, *marks, *below, class_="chart plot")


def _path(values: Sequence[float | None], wide: float, most: float) -> str:
    words, pen_down = [], False
    for index, value in enumerate(values):
        if value is None:
            pen_down = False
            continue
        x, y = _point(index, value, wide, most)
        words.append(f"{'L' if pen_down else 'M'}{x:.1f} {y:.1f}")
        pen_down = True
    return "".join(words) if "L" in "".join(words) else ""


def _alone(values: Sequence[float | None], wide: float, most: float) -> list[tuple[float, float]]:
    """Values without a neighbour, which no line shows."""
    around = (None, *values, None)
    return [
        _point(index, value, wide, most)
        for index, value in enumerate(values)
        if value is not None and around[index] is None and around[index + 2] is None
    ]


def _point(index: int, value: float, wide: float, most: float) -> tuple[float, float]:
    return LEFT + (index + 0.5) * wide, HEIGHT - FOOT - _high(value, most)


def _high(value: float, most: float) -> float:
    return max(0.0, min(value / most, 1.0)) * (HEIGHT - FOOT - TOP)


def _room() -> float:
    return WIDTH - LEFT - RIGHT
