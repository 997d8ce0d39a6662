"""Amounts of memory as people write them: 512, 64KB, 2MiB."""

from __future__ import annotations

import re
from typing import TypeAlias

from fencepost.errors import InvalidSpec
from fencepost.model.quoting import quoted

Size: TypeAlias = str | int

UNITS = {
    "": 1,
    "B": 1,
    "KB": 1_000,
    "MB": 1_000_000,
    "GB": 1_000_000_000,
    "TB": 1_000_000_000_000,
    "KIB": 1 << 10,
    "MIB": 1 << 20,
    "GIB": 1 << 30,
    "TIB": 1 << 40,
}

_TEXT = re.compile(r"([0-9]{1,15}) ?([KMGT]i?B|B|)", re.ASCII | re.IGNORECASE)


def parse_size(value: object) -> int:
    """The number of bytes behind a text or a number."""
    if type(value) is int and value >= 0:
        return value
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidSpec(f"size {quoted(value)}: expected bytes such as 512, 64KB or 2MiB")
    return int(found[1]) * UNITS[found[2].upper()]
