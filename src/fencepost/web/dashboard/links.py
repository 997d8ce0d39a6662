"""Where things are found. Ids and keys may hold `/`, `#` and `%`, so nothing else builds these paths."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from fencepost.model.times import to_utc_text

HOME = "/"
NEEDS_QUOTING = re.compile(r"[^A-Za-z0-9_.~-]")


def schedule(schedule_id: str, room: str = "") -> str:
    """The page of a schedule, or a room of it: `edit`, `backfill`, `versions`."""
    return f"/schedules/{quote(schedule_id, safe='')}" + (f"/{room}" if room else "")


def run(run_key: str) -> str:
    """The page of a run."""
    return f"/runs/{_in_path(run_key)}"


def job(name: str) -> str:
    """The page of a job."""
    return f"/jobs/{quote(name, safe='')}"


def why(schedule_id: str, fire_time: datetime) -> str:
    """The explanation of one tick, also of one that has no run."""
    return with_query(schedule(schedule_id, "why"), {"at": to_utc_text(fire_time)})


def _in_path(text: str) -> str:
    """Text as one part of a path. A grid has more than a thousand, and few characters of a key need it."""
    return NEEDS_QUOTING.sub(lambda found: _quoted(found[0]), text)


@lru_cache(maxsize=1_000)
def _quoted(character: str) -> str:
    return quote(character, safe="")


def with_query(path: str, values: Mapping[str, Any]) -> str:
    """The path with a query of what is given; what is None, empty or False is left out."""
    given = {name: _text(value) for name, value in values.items() if value not in (None, "", False, [], ())}
    query = urlencode(given, doseq=True)
    return f"{path}?{query}" if query else path


def is_local(path: str) -> bool:
    """Whether a browser that is sent there stays in this house: browsers read `//host` and `/\\host` as the
    address of another, and leave out tabs and line breaks."""
    plain = all("!" <= character <= "~" and character != "\\" for character in path)
    return plain and path.startswith("/") and not path.startswith("//")


def _text(value: Any) -> Any:
    if value is True:
        return "true"
    if isinstance(value, datetime):
        return to_utc_text(value)
    return [str(one) for one in value] if isinstance(value, list | tuple) else str(value)
