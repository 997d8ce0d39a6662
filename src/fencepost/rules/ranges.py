"""Ranges of missed ticks."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.table import Row
from fencepost.model.tables import MISSED_RANGES
from fencepost.ports.rows import Transaction

_OF_SCHEDULE = MISSED_RANGES.all


async def range_at(tx: Transaction, namespace: str, schedule_id: str, fire_time: datetime) -> Row | None:
    """The missed range in which a fire time lies."""
    ranges = await tx.find(_OF_SCHEDULE(namespace, schedule_id))
    return next((one for one in ranges if one["first_at"] <= fire_time <= one["last_at"]), None)
