"""Time zones from the `tzdata` package alone, so that every node computes with the same rules.

The system's zone files may be older or newer than a neighbour's. They are never read here, and the
search path that the rest of the process uses for `zoneinfo` is left as it is.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from zoneinfo import ZoneInfo

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted

ZONES_MAX = 1024
NAME_LENGTH_MAX = 64
SUGGESTIONS_MAX = 3
SIMILARITY_MIN = 0.85


def zone(name: object) -> ZoneInfo:
    """The zone of that IANA name; the same object each time."""
    if not isinstance(name, str) or name not in zone_names():
        raise InvalidTrigger(_complaint(name))
    return _load(name)


@cache
def zone_names() -> frozenset[str]:
    """Every name that `zone` knows."""
    return frozenset((files("tzdata") / "zones").read_text("utf-8").split())


def tzdata_version() -> str:
    """The release of the zone rules in use, such as 2026a."""
    return str(import_module("tzdata").IANA_VERSION)


@lru_cache(maxsize=ZONES_MAX)
def _load(name: str) -> ZoneInfo:
    # The name stands in the package's own list, so it cannot lead out of the package.
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as source:
        return ZoneInfo.from_file(source, key=name)


def _complaint(name: object) -> str:
    if not isinstance(name, str):
        return f"time zone {quoted(name)}: expected a name like Europe/Berlin"
    near = _near_matches(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "expected a name like Europe/Berlin"
    return f"time zone {quoted(name)} is unknown, {hint}"


def _near_matches(name: str) -> list[str]:
    by_folded = {known.casefold(): known for known in sorted(zone_names())}
    by_city = {known.casefold().rpartition("/")[2]: known for known in sorted(zone_names())}
    folded = name[:NAME_LENGTH_MAX].casefold().replace(" ", "_")
    if folded in by_folded or folded in by_city:
        return [by_folded.get(folded) or by_city[folded]]
    near = get_close_matches(folded, by_folded, n=SUGGESTIONS_MAX, cutoff=SIMILARITY_MIN)
    return [by_folded[match] for match in near]
