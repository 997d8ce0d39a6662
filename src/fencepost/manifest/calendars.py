"""`[calendars.NAME]`: which days are worked."""

from __future__ import annotations

from datetime import date
from typing import Any

from fencepost.manifest.table import Table
from fencepost.manifest.triggers import TableVoice
from fencepost.model.quoting import quoted
from fencepost.triggers import Calendar
from fencepost.triggers.business.wording import CalendarWords, build_calendar

KEYS = ("weekend", "holidays", "workdays", "region", "years")


def read_calendar(name: str, table: Table) -> Calendar:
    """The calendar of one table."""
    table.only(*KEYS)
    words = CalendarWords(
        weekend=_weekend(table),
        holidays=_dates(table, "holidays"),
        workdays=_dates(table, "workdays"),
        region=table.text("region"),
        years=_years(table),
    )
    return build_calendar(name, words, TableVoice(table))


def _weekend(table: Table) -> str | list[str] | None:
    value = table.raw("weekend")
    return value if isinstance(value, str) else _list(table, "weekend", (str,), "days such as SAT,SUN")


def _dates(table: Table, key: str) -> list[Any] | None:
    return _list(table, key, (str, date), "a list of dates such as [2026-12-25]")


def _list(table: Table, key: str, kinds: tuple[type, ...], expected: str) -> list[Any] | None:
    value = table.raw(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, kinds) for one in value):
        table.refuse(key, f"= {quoted(value)}: expected {expected}")
    return value


def _years(table: Table) -> str | None:
    """A text, or a whole number for one year."""
    value = table.raw("years")
    if type(value) is int:
        return f"{value:04}"
    return table.text("years")
