"""Schedules whose zone changes its clocks: other programs do something else then."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from fencepost.importing.python import TriggerText
from fencepost.importing.report import listed
from fencepost.triggers import zone

YEAR = 2026


def changing(triggers: Iterable[TriggerText]) -> str:
    """The zones of cron triggers that change their clocks."""
    zones = {one.options["tz"] for one in triggers if one.kind == "Cron" and "tz" in one.options}
    return listed(sorted(one for one in zones if _changes(one)))


def _changes(tz: str) -> bool:
    months = (datetime(YEAR, month, 1, tzinfo=UTC) for month in range(1, 13))
    return len({one.astimezone(zone(tz)).utcoffset() for one in months}) > 1
