"""Characters that turn the direction of writing, made visible.

Nobody sees them, and with them a text can look like another: the words behind it are turned round too, ours
among them. So they are shown as what they are.
"""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup

TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def shown(value: Any) -> Any:
    """The value with the name of every such character in its place, in brackets that mean nothing to HTML."""
    text = value if isinstance(value, str) else str(value)
    if not TURNS.search(text):
        return value
    named = TURNS.sub(lambda found: f"\u27e8U+{ord(found[0]):04X}\u27e9", text)
    return Markup(named) if isinstance(value, Markup) else named


def in_json(text: str) -> str:
    """JSON that says the same, with its turns written out: it can be sent back as it is."""
    return TURNS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
