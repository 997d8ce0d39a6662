"""How a user's own text appears in a message: short, printable, on one line."""

from __future__ import annotations

QUOTED_LENGTH_MAX = 60


def quoted(value: object) -> str:
    """The value between double quotes if it is a text, bare if it is not."""
    if not isinstance(value, str):
        return _shortened(repr(value))
    text = value if value.isprintable() else ascii(value)[1:-1]
    return f'"{_shortened(text)}"'


def _shortened(text: str) -> str:
    return text if len(text) <= QUOTED_LENGTH_MAX else f"{text[:QUOTED_LENGTH_MAX]}…"
