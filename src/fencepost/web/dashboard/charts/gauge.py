"""A gauge: how much of the whole there is."""

from __future__ import annotations

import math

from markupsafe import Markup

from fencepost.web.dashboard.charts.svg import element, picture

WIDTH, HEIGHT, RADIUS, THICK = 152.0, 92.0, 62.0, 13.0
SMALL_FROM = 7


def gauge(part: float, words: str, label: str, kind: str = "") -> Markup:
    """Half a ring, full where `part` is 1; `kind` is empty, `warn` or `bad`."""
    filled = min(max(part, 0.0), 1.0)
    track = element("path", d=_arc(1.0), class_="track", stroke_width=THICK)
    arc = element("path", d=_arc(filled), class_=f"arc {kind}".strip(), stroke_width=THICK)
    look = "large small" if len(words) > SMALL_FROM else "large"
    text = element("text", words, x=WIDTH / 2, y=HEIGHT - 18, text_anchor="middle", class_=look)
    return picture(
        WIDTH, HEIGHT, label, element("title", label), track, arc if filled else None, text, class_="chart"
    )


def _arc(part: float) -> str:
    angle = math.pi * (1 - part)
    cx, cy = WIDTH / 2, HEIGHT - 14
    x, y = cx + RADIUS * math.cos(angle), cy - RADIUS * math.sin(angle)
    return f"M{cx - RADIUS:.1f} {cy:.1f}A{RADIUS:.0f} {RADIUS:.0f} 0 0 1 {x:.2f} {y:.2f}"
