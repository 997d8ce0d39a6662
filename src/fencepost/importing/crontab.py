"""A crontab, line by line: settings, entries, and what is neither.

The rules are those of Vixie's cron, which Debian's and the others descend from: a line is a setting if it
reads `name = value`, else an entry; quotes around a name or a value are taken off, and nothing is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fencepost.errors import UsageError

LINES_MAX = 100_000
LINE_LENGTH_MAX = 100_000
FIELDS = 5
BYTE_ORDER_MARK = "\ufeff"
BLANKS = " \t"

_SETTING = re.compile(
    r"""(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s"'=][^\s=]*))[ \t]*=[ \t]*(?P<value>.*)""",
    re.DOTALL,
)
_GAP = re.compile(r"[ \t]+")


@dataclass(frozen=True)
class Setting:
    """A variable for the lines below it."""

    line: int
    name: str
    value: str


@dataclass(frozen=True)
class Entry:
    """A command, when it runs, and in a system's crontab as whom."""

    line: int
    expression: str
    user: str | None
    command: str


@dataclass(frozen=True)
class Unreadable:
    """A line that cron would not take, or that we will not."""

    line: int
    why: str


Line: TypeAlias = Setting | Entry | Unreadable


def read_crontab(text: str, *, system: bool) -> Iterator[Line]:
    """What stands in the file, without comments and blank lines."""
    raw_lines = text.removeprefix(BYTE_ORDER_MARK).split("\n")
    if len(raw_lines) > LINES_MAX:
        raise UsageError(
            f"crontab: has {len(raw_lines)} lines, expected at most {LINES_MAX}; import it in parts"
        )
    for number, raw in enumerate(raw_lines, 1):
        line = raw.removesuffix("\r").lstrip(BLANKS)
        if line and not line.startswith("#"):
            yield _read_line(number, line, system)


def _read_line(number: int, line: str, system: bool) -> Line:
    if len(line) > LINE_LENGTH_MAX:
        return Unreadable(number, f"has {len(line)} characters, expected at most {LINE_LENGTH_MAX}")
    if "\0" in line:
        return Unreadable(number, "holds a NUL, which no command can")
    found = _SETTING.fullmatch(line)
    return _read_entry(number, line, system) if found is None else _read_setting(number, found)


def _read_setting(number: int, found: re.Match[str]) -> Setting | Unreadable:
    name = found["double"] or found["single"] or found["bare"] or ""
    value = found["value"].rstrip(BLANKS)
    if not name or "=" in name:
        return Unreadable(number, f"sets a variable that can have no such name: {name!r}")
    if value[:1] in ("'", '"'):
        mark = value[0]
        if len(value) < 2 or not value.endswith(mark) or mark in value[1:-1]:
            return Unreadable(number, f"{name}: the quote {mark} is not closed at the end of the line")
        value = value[1:-1]
    return Setting(number, name, value)


def _read_entry(number: int, line: str, system: bool) -> Entry | Unreadable:
    when = 1 if line.startswith("@") else FIELDS
    columns = when + 1 if system else when
    words = _GAP.split(line, columns)
    if len(words) <= columns or not words[columns]:
        fields = "a word such as @daily" if when == 1 else f"{FIELDS} fields of time"
        who = ", a user" if system else ""
        return Unreadable(number, f"expected {fields}{who} and a command")
    return Entry(number, " ".join(words[:when]), words[when] if system else None, words[columns])
