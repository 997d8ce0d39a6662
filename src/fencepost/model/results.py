"""What the ledger keeps of a job's result."""

from __future__ import annotations

import json


def result_text(result: object) -> str | None:
    """A text as it is, anything else as JSON, with values that JSON does not have as text."""
    if result is None or isinstance(result, str):
        return result
    try:
        return json.dumps(result, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return f"(a {type(result).__name__} that is not JSON)"
