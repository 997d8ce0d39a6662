"""JSON as people read it."""

from __future__ import annotations

import json
from typing import Any

from fencepost.web.dashboard.turning import in_json

LENGTH_MAX = 20_000


def shown_json(value: Any) -> str:
    """Indented, and cut where it is too long to be read anyway."""
    text = in_json(json.dumps(value, indent=2, ensure_ascii=False, default=str))
    return (
        text
        if len(text) <= LENGTH_MAX
        else f"{text[:LENGTH_MAX]}\n… {len(text) - LENGTH_MAX} characters more"
    )
