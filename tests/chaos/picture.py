"""The picture of a chaos run: one panel a fleet over one axis of time, as SVG.

A panel has the ticks of each second as a line, what happened to its stores as bands over everything, and a
row for each place of the fleet: what happened to the process there, and over it, for workers, some of its
runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import MappingProxyType

WIDTH, LEFT, RIGHT = 1400, 120, 24
CHART, ROW, TITLE, GAP = 72, 15, 26, 20
LEGEND_STEP, LEGEND_CELL = 22, 172
TICK_STEPS_S = (5, 10, 15, 30, 60, 120, 300, 600)
TICKS_MAX = 16
THINNEST = 1.2
BAND_THINNEST = 3.0
INK, FAINT, GRID = "#22272e", "#6b7280", "#e2e5ea"


@dataclass(frozen=True)
class Style:
    """How one kind of thing is drawn; `thinnest` is how wide at least, in pixels."""

    colour: str
    opacity: float = 1.0
    thinnest: float = THINNEST


RUN, LOST_RUN, TICKING, REFUSAL = "run", "attempt lost and rescued", "ticks per second", "stale write refused"
STYLES: Mapping[str, Style] = MappingProxyType(
    {
        TICKING: Style("#1f5fbf"),
        RUN: Style("#4a9d5f"),
        LOST_RUN: Style("#d1242f"),
        REFUSAL: Style("#8b1a8b"),
        "kill": Style("#111111", 0.9, 2.2),
        "stall": Style("#9aa7b8", 0.8),
        "stall in mid-write": Style("#51657f", 0.85),
        "partition": Style("#c98a4b", 0.75),
        "partition one way": Style("#e3bd94", 0.9),
        "reset": Style("#0e8f9c", 0.9, 2.2),
        "lost answer": Style("#5bc6d0", 0.9, 2.2),
        "clock jump": Style("#d9b400", 0.8),
        "store restart": Style("#f59f00", 0.38, BAND_THINNEST),
        "failover": Style("#e8590c", 0.45, BAND_THINNEST),
        "lease store restart": Style("#74b816", 0.38, BAND_THINNEST),
        "lease store wiped": Style("#2b8a3e", 0.38, BAND_THINNEST),
    }
)


@dataclass(frozen=True)
class Bar:
    """Something from one second to another; in a row, or over all of them where none is named."""

    kind: str
    since_s: float
    until_s: float
    row: str = ""


@dataclass(frozen=True)
class Panel:
    """One fleet, or several one after the other, each with a caption where it begins. `line` has a value for
    each of its moments, `marks` are moments of refusals."""

    title: str
    rows: Sequence[str]
    bars: Sequence[Bar]
    line: Sequence[tuple[float, float]]
    marks: Sequence[float] = ()
    captions: Sequence[tuple[float, str]] = ()

    @property
    def height(self) -> int:
        return TITLE + CHART + ROW * len(self.rows) + GAP

    @property
    def peak(self) -> float:
        return max((value for _, value in self.line), default=0.0) or 1.0


def draw(title: str, panels: Sequence[Panel], seconds: float) -> str:
    """The whole picture, of so many seconds."""
    scale = _Scale(seconds)
    legend = list(_legend(panels))
    top = 52 + LEGEND_STEP * _legend_lines(panels)
    height = top + sum(panel.height for panel in panels) + 30
    parts = [
        _opening(height),
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(LEFT, 26, title, size=17, weight="bold"),
        *legend,
    ]
    y = float(top)
    for panel in panels:
        parts += _panel(panel, y, scale)
        y += panel.height
    parts += [*_axis(y, scale), "</svg>"]
    return "\n".join(parts) + "\n"


def _opening(height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="Helvetica, Arial, sans-serif">'
    )


@dataclass(frozen=True)
class _Scale:
    """Seconds to pixels."""

    seconds: float

    def x(self, at_s: float) -> float:
        share = min(max(at_s / max(self.seconds, 1e-9), 0.0), 1.0)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    @property
    def ticks(self) -> list[int]:
        """Round moments, not too many of them."""
        step = next((one for one in TICK_STEPS_S if self.seconds / one <= TICKS_MAX), TICK_STEPS_S[-1])
        return list(range(0, int(self.seconds) + 1, step))


def _panel(panel: Panel, top: float, scale: _Scale) -> Iterator[str]:
    chart, rows = top + TITLE, top + TITLE + CHART
    bottom = rows + ROW * len(panel.rows)
    yield _text(LEFT - 8, top + TITLE - 8, panel.title, anchor="end", size=13, weight="bold")
    for at_s, caption in panel.captions:
        yield _text(scale.x(at_s) + 3, top + TITLE - 8, caption, size=12)
    for at_s in scale.ticks:
        yield _line(scale.x(at_s), chart, scale.x(at_s), bottom)
    for share in (0.5, 1.0):
        y = chart + CHART * (1 - 0.9 * share)
        yield _line(LEFT, y, WIDTH - RIGHT, y)
        yield _text(LEFT - 8, y + 4, f"{panel.peak * share:.0f}/s", anchor="end", colour=FAINT)
    for bar in panel.bars:
        if not bar.row:
            yield _bar(bar, chart, bottom - chart, scale)
    for number, name in enumerate(panel.rows):
        yield from _row(panel, name, rows + ROW * number, scale)
    yield _curve(panel, chart, scale)
    yield from (_mark(scale.x(at_s), rows) for at_s in panel.marks)
    yield _line(LEFT, rows, WIDTH - RIGHT, rows, colour=FAINT)


def _row(panel: Panel, name: str, top: float, scale: _Scale) -> Iterator[str]:
    yield _text(LEFT - 8, top + ROW - 4, name, anchor="end", colour=FAINT)
    yield _line(LEFT, top + ROW, WIDTH - RIGHT, top + ROW)
    mine = [bar for bar in panel.bars if bar.row == name]
    for bar in mine:
        if bar.kind not in (RUN, LOST_RUN):
            yield _bar(bar, top + 1, ROW - 2, scale)
    for kind in (RUN, LOST_RUN):
        yield from (_bar(bar, top + 5, ROW - 9, scale) for bar in mine if bar.kind == kind)


def _bar(bar: Bar, top: float, height: float, scale: _Scale) -> str:
    style = STYLES[bar.kind]
    x = scale.x(bar.since_s)
    width = max(scale.x(bar.until_s) - x, style.thinnest)
    return (
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{style.colour}" fill-opacity="{style.opacity:g}"/>'
    )


def _curve(panel: Panel, top: float, scale: _Scale) -> str:
    points = " ".join(
        f"{scale.x(at_s):.1f},{top + CHART * (1 - 0.9 * value / panel.peak):.1f}"
        for at_s, value in panel.line
    )
    return f'<polyline points="{points}" fill="none" stroke="{STYLES[TICKING].colour}" stroke-width="1.3"/>'


def _mark(x: float, y: float) -> str:
    return (
        f'<path d="M{x - 4:.1f},{y - 9:.1f} L{x + 4:.1f},{y - 9:.1f} L{x:.1f},{y - 1:.1f} Z" '
        f'fill="{STYLES[REFUSAL].colour}"/>'
    )


def _axis(y: float, scale: _Scale) -> Iterator[str]:
    for at_s in scale.ticks:
        yield _text(scale.x(at_s), y + 4, f"{at_s // 60}:{at_s % 60:02d}", anchor="middle", colour=FAINT)


def _legend(panels: Sequence[Panel]) -> Iterator[str]:
    for number, kind in enumerate(_kinds(panels)):
        line, column = divmod(number, _legend_columns())
        x, y = LEFT + column * LEGEND_CELL, 44 + line * LEGEND_STEP
        style = STYLES[kind]
        yield (
            f'<rect x="{x}" y="{y}" width="14" height="11" fill="{style.colour}" '
            f'fill-opacity="{style.opacity:g}"/>'
        )
        yield _text(x + 20, y + 10, kind)


def _kinds(panels: Sequence[Panel]) -> list[str]:
    """What is to be seen, in the order of the styles."""
    seen = {bar.kind for panel in panels for bar in panel.bars} | {TICKING}
    if any(panel.marks for panel in panels):
        seen.add(REFUSAL)
    return [kind for kind in STYLES if kind in seen]


def _legend_columns() -> int:
    return (WIDTH - LEFT - RIGHT) // LEGEND_CELL


def _legend_lines(panels: Sequence[Panel]) -> int:
    return -(-len(_kinds(panels)) // _legend_columns())


def _text(
    x: float, y: float, text: str, size: int = 11, anchor: str = "start", weight: str = "", colour: str = INK
) -> str:
    bold = f' font-weight="{weight}"' if weight else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
        f'fill="{colour}"{bold}>{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str = GRID) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'
