"""The shape of each state in a box of 12 by 12: told apart without any colour."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

GROUND = '<rect width="12" height="12" fill="transparent"/>'
"""So that all of a mark can be pointed at, also where its shape is hollow."""
BOX = '<rect x="1" y="1" width="10" height="10" rx="2" class="m-fill"/>'
HOLLOW = '<rect x="1.75" y="1.75" width="8.5" height="8.5" rx="1.75" class="m-line"/>'
DOTTED = '<rect x="1.75" y="1.75" width="8.5" height="8.5" rx="1.75" class="m-line m-dotted"/>'

SHAPES: Mapping[str, Markup] = {
    "fine": Markup(BOX),
    "late": Markup(BOX + '<path d="M6 3.5V6.2L7.8 7.6" class="m-ink"/>'),
    "replayed": Markup(BOX + '<path d="M8.4 4.4A3 3 0 1 0 9 6.5M8.9 2.8V4.8H6.9" class="m-ink"/>'),
    "dead": Markup(BOX + '<path d="M3.8 3.8 8.2 8.2M8.2 3.8 3.8 8.2" class="m-ink"/>'),
    "skipped": Markup(HOLLOW + '<path d="M3.5 8.5 8.5 3.5" class="m-line"/>'),
    "missed": Markup(HOLLOW + '<path d="M4 4 8 8M8 4 4 8" class="m-line"/>'),
    "cancelled": Markup(HOLLOW + '<path d="M3.5 6H8.5" class="m-line"/>'),
    "withdrawn": Markup(DOTTED + '<path d="M4 6H8" class="m-line"/>'),
    "unaccounted": Markup(
        '<path d="M6 .6 11.4 6 6 11.4 .6 6z" class="m-fill"/><path d="M6 3.2V6.6M6 8.3V8.7" class="m-ink"/>'
    ),
    "planned": Markup(DOTTED),
    "ready": Markup(HOLLOW + '<circle cx="6" cy="6" r="1.6" class="m-fill"/>'),
    "running": Markup(HOLLOW + '<path d="M4.5 3.6 8.6 6 4.5 8.4z" class="m-fill"/>'),
    "held": Markup(HOLLOW + '<path d="M4.6 3.8V8.2M7.4 3.8V8.2" class="m-line"/>'),
    "forgotten": Markup('<circle cx="6" cy="6" r="1.2" class="m-fill"/>'),
}


def mark_shape(name: str) -> Markup:
    """The inside of a mark."""
    return SHAPES[name]


def mark_defs() -> Markup:
    """All shapes, drawn once for a page that uses them often."""
    shapes = "".join(f'<g id="mark-{name}">{GROUND}{shape}</g>' for name, shape in SHAPES.items())
    return Markup(f'<svg width="0" height="0" aria-hidden="true" class="quiet"><defs>{shapes}</defs></svg>')
