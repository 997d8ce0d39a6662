"""A rate as people write it: 10/m is ten a minute."""

from __future__ import annotations

import re

from fencepost.errors import UsageError
from fencepost.model.quoting import quoted

UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
COUNT_MAX = 100_000
EXPECTED = f"expected a number from 1 to {COUNT_MAX} and a unit, such as 5/s, 10/m, 100/h or 4/d"

_TEXT = re.compile(r"([0-9]{1,6})\s*/\s*([smhd])", re.ASCII)


def parse_rate(text: str) -> float:
    """How many seconds lie between two at this rate."""
    found = _TEXT.fullmatch(text.strip())
    count = 0 if found is None else int(found[1])
    if found is None or not 1 <= count <= COUNT_MAX:
        raise UsageError(f"rate {quoted(text)}: {EXPECTED}")
    return UNITS_S[found[2]] / count
