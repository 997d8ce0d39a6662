"""When a schedule of a manifest fires: from its table to the words that `triggers.wording` understands."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime

from fencepost.manifest.table import Table
from fencepost.model.durations import Duration
from fencepost.model.quoting import quoted
from fencepost.triggers import Combinable
from fencepost.triggers.localtime.dst import checked_fold, checked_gap
from fencepost.triggers.wording import EVERY_BUSINESS_DAY, Window, Words, build

PLAIN_KEYS = ("cron", "every", "at", "rrule", "business_day", "time", "calendar", "on_business_days", "tz")
KEYS = (*PLAIN_KEYS, "dst", "anchor", "start", "end", "outside")
WINDOW_KEYS = (*PLAIN_KEYS, "dst", "anchor", "start", "lasts")
NAMES = {"at_time": "time", "gap": "dst", "fold": "dst"}
RULE_NAMES = {**NAMES, "anchor": "start"}
WINDOWS_MAX = 20
EXAMPLE_TIME = "a time such as 2026-12-24T18:00:00"


class TableVoice:
    """Speaks of words by the keys of a table."""

    def __init__(self, table: Table, names: Mapping[str, str] | None = None) -> None:
        self._table = table
        self._names = names or {}

    def called(self, key: str) -> str:
        """The key that stands for a word."""
        return self._names.get(key, key)

    def blaming(self, key: str) -> AbstractContextManager[None]:
        """Name the file, the table and the key of whatever is refused within."""
        return self._table.blaming(self.called(key))


def read_trigger(table: Table) -> Combinable:
    """The trigger of a schedule."""
    return build(_words(table, _windows(table)), _voice(table))


def _words(table: Table, outside: tuple[Window, ...]) -> Words:
    gap, fold = _policy(table)
    # A rule's own start is where it begins to count; a window around it would say nothing more.
    is_rule = "rrule" in table
    if is_rule and "anchor" in table:
        table.refuse("anchor", "has no meaning with rrule, which counts from start")
    start = _moment(table, "start")
    return Words(
        cron=table.text("cron"),
        every=_interval(table),
        at=_times(table),
        rrule=table.text("rrule"),
        business_day=_business_day(table),
        at_time=_day_times(table),
        calendar=table.text("calendar"),
        on_business_days=table.text("on_business_days"),
        tz=table.text("tz"),
        gap=gap,
        fold=fold,
        anchor=start if is_rule else _moment(table, "anchor"),
        start=None if is_rule else start,
        end=_moment(table, "end"),
        outside=outside,
    )


def _windows(table: Table) -> tuple[Window, ...]:
    value = table.raw("outside")
    if value is None:
        return ()
    if not isinstance(value, list) or not 1 <= len(value) <= WINDOWS_MAX:
        example = 'such as [{ cron = "0 2 * * SUN", lasts = "3h" }]'
        table.refuse(
            "outside", f"= {quoted(value)}: expected a list of 1 to {WINDOWS_MAX} windows, {example}"
        )
    return tuple(_window(inner) for inner in table.list_of_tables("outside"))


def _window(table: Table) -> Window:
    table.only(*WINDOW_KEYS)
    lasts = table.length("lasts")
    if lasts is None:
        table.refuse("lasts", 'is missing; say how long the window lasts, such as lasts = "3h"')
    if "start" in table and "rrule" not in table:
        table.refuse("start", "belongs to rrule in a window")
    return Window(build(_words(table, ()), _voice(table)), lasts)


def _voice(table: Table) -> TableVoice:
    return TableVoice(table, RULE_NAMES if "rrule" in table else NAMES)


def _policy(table: Table) -> tuple[str | None, str | None]:
    policy = table.table("dst")
    policy.only("gap", "fold")
    return policy.checked("gap", checked_gap), policy.checked("fold", checked_fold)


def _interval(table: Table) -> Duration | None:
    value: Duration | None = table.raw("every")
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        table.refuse("every", f"= {quoted(value)}: expected an interval such as 15m or 1 month")
    return value


def _times(table: Table) -> tuple[str | datetime, ...]:
    value = table.raw("at")
    if value is None:
        return ()
    times = value if isinstance(value, list) else [value]
    if not times or not all(isinstance(one, str | datetime) for one in times):
        table.refuse("at", f"= {quoted(value)}: expected one time or a list, such as 2026-12-24T18:00:00")
    return tuple(times)


def _moment(table: Table, key: str) -> str | datetime | None:
    """A time as text or as TOML has it; a date begins at midnight."""
    value = table.raw(key)
    match value:
        case None | str() | datetime():
            return value
        case date():
            return value.isoformat()
    return table.refuse(key, f"= {quoted(value)}: expected {EXAMPLE_TIME}")


def _business_day(table: Table) -> int | str | None:
    value: int | str | None = table.raw("business_day")
    if value is not None and type(value) is not int and value != EVERY_BUSINESS_DAY:
        expected = f'a whole number such as -1 for the last, or "{EVERY_BUSINESS_DAY}"'
        table.refuse("business_day", f"= {quoted(value)}: expected {expected}")
    return value


def _day_times(table: Table) -> tuple[str, ...]:
    value = table.raw("time")
    if value is None:
        return ()
    times = value if isinstance(value, list) else [value]
    if not times or not all(isinstance(one, str) for one in times):
        table.refuse("time", f'= {quoted(value)}: expected a text such as "18:00", or a list of them')
    return tuple(times)
