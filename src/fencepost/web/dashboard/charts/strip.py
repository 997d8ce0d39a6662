"""A strip: the last runs of a schedule, oldest first, each a mark. Its page has the shapes: `mark_defs`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from markupsafe import Markup, escape

from fencepost.web.dashboard.charts.svg import picture

STEP, SIDE, HEIGHT = 9.0, 8.0, 22.0


class Stripe(NamedTuple):
    """One run: its mark, and what its title says."""

    mark: str
    title: str
    run_key: str = ""


def strip(items: Sequence[Stripe], room: int, label: str, of: str | None = None) -> Markup:
    """Marks from left to right; where there are fewer than there is room for, the left stays empty. The
    script moves it on where it says whose it is."""
    first = max(room - len(items), 0)
    marks = "".join(_mark(one, first + index) for index, one in enumerate(items))
    return picture(
        room * STEP, HEIGHT, label, Markup(marks) if marks else None, class_="strip", data_strip=of
    )


def _mark(one: Stripe, slot: int) -> str:
    """One string for each, of parts that are made once: a list has more than a thousand."""
    whose = f' data-stripe="{escape(one.run_key)}"' if one.run_key else ""
    return f"{_opened(one.mark)}{whose}><title>{escape(one.title)}</title>{_shape(one.mark, slot)}"


@cache
def _opened(mark: str) -> str:
    return f'<g class="is-{escape(mark)}"'


@cache
def _shape(mark: str, slot: int) -> str:
    """One of the shapes of `mark_defs`, in its place. There are as many as marks and places in a strip."""
    place = f'x="{slot * STEP:g}" y="{(HEIGHT - SIDE) / 2:g}" width="{SIDE:g}" height="{SIDE:g}"'
    return f'<svg {place} viewBox="0 0 12 12"><use href="#mark-{escape(mark)}"/></svg></g>'
