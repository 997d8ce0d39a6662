"""A length of time, or a share of the period between two ticks: `10m`, `50%`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TypeAlias

from fencepost.errors import InvalidDuration
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import Duration, format_duration, parse_duration
from fencepost.model.quoting import quoted

PERCENT_MAX = 100

_PERCENT = re.compile(r"([0-9]{1,3})%", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Either a length or a percentage; the other is None."""

    length: timedelta | None = None
    percent: int | None = None

    def of(self, period: timedelta | None) -> timedelta:
        """How long it is within a period, never longer than that; None is a period without an end."""
        if self.length is not None:
            return self.length if period is None else min(self.length, period)
        assert self.percent is not None
        return timedelta(0) if period is None else period * self.percent / PERCENT_MAX

    def __str__(self) -> str:
        return f"{self.percent}%" if self.length is None else format_duration(self.length)


StretchLike: TypeAlias = Stretch | Duration


def parse_stretch(value: StretchLike) -> Stretch:
    """The stretch behind a duration or a percentage."""
    if isinstance(value, Stretch):
        return value
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return Stretch(length=parse_duration(value))
    if not 1 <= int(found[1]) <= PERCENT_MAX:
        raise InvalidDuration(f"share {quoted(value)}: expected 1% to {PERCENT_MAX}%")
    return Stretch(percent=int(found[1]))
