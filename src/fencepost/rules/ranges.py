"""Ranges of missed ticks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from fencepost.model.table import Row


def range_at(ranges: Iterable[Row], fire_time: datetime) -> Row | None:
    """The missed range in which a fire time lies."""
    return next((one for one in ranges if one["first_at"] <= fire_time <= one["last_at"]), None)
