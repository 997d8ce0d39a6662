"""A block of iCalendar lines (RFC 5545, section 3.1): DTSTART, RRULE, EXDATE and RDATE."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted

BLOCK_LENGTH_MAX = 100_000
EXPECTED = "expected lines of DTSTART, RRULE, EXDATE and RDATE"
PARAMETERS = frozenset(("TZID", "VALUE"))

_FOLD = re.compile(r"\r?\n[ \t]")
_LINE = re.compile(r'([A-Za-z-]+)((?:;[A-Za-z-]+=(?:"[^"]*"|[^";:]*))*):(.*)')
_PARAMETER = re.compile(r';([A-Za-z-]+)=(?:"([^"]*)"|([^";:]*))')
_TIME = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z?))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Block:
    """What the lines say; times are RFC 3339 text, and a zone is None where no line names one."""

    rule: str
    start: str | None
    tz: str | None
    exclude: tuple[str, ...]
    include: tuple[str, ...]


class Line(NamedTuple):
    """One property: its name, its zone if it has one, and its value."""

    name: str
    tz: str | None
    value: str


def parse_block(text: str) -> Block:
    """The block behind a text; a text of one rule alone is a block too."""
    if not isinstance(text, str):
        raise InvalidTrigger(f"rrule {quoted(text)}: expected a text")
    if len(text) > BLOCK_LENGTH_MAX:
        raise InvalidTrigger(f"rrule {quoted(text)}: is longer than {BLOCK_LENGTH_MAX} characters")
    lines = [_line(line) for line in _FOLD.sub("", text).splitlines() if line.strip()]
    starts = [line for line in lines if line.name == "DTSTART"]
    if len(starts) > 1:
        raise InvalidTrigger(f"rrule has {len(starts)} DTSTART lines, expected one")
    return Block(
        rule=_one_rule([line.value for line in lines if line.name == "RRULE"]),
        start=from_icalendar(starts[0].value) if starts else None,
        tz=_one_zone(starts, lines),
        exclude=_times(lines, "EXDATE"),
        include=_times(lines, "RDATE"),
    )


def from_icalendar(text: str) -> str:
    """`2026-12-24T18:00:00Z` for 20261224T180000Z, `2026-12-24` for 20261224."""
    found = _TIME.fullmatch(text.strip().upper())
    if found is None:
        raise InvalidTrigger(f"rrule time {quoted(text)}: expected such as 20261224T180000 or 20261224")
    year, month, day, hour, minute, second, utc = found.groups()
    return f"{year}-{month}-{day}" + (f"T{hour}:{minute}:{second}{utc}" if hour else "")


def _line(text: str) -> Line:
    found = _LINE.fullmatch(text.strip())
    if found is None:
        return Line("RRULE", None, text.strip())
    name, parameters = found[1].upper(), _parameters(found[1], found[2])
    if name == "EXRULE":
        raise InvalidTrigger("rrule EXRULE is no longer part of iCalendar, write RRule(…) - RRule(…)")
    if name not in ("DTSTART", "RRULE", "EXDATE", "RDATE"):
        raise InvalidTrigger(f"rrule line {quoted(text)}: {EXPECTED}")
    value = parameters.get("VALUE", "DATE").upper()
    if value not in ("DATE", "DATE-TIME"):
        raise InvalidTrigger(f"rrule line {quoted(text)}: expected times or dates, not {value}")
    return Line(name, parameters.get("TZID"), found[3])


def _parameters(name: str, text: str) -> dict[str, str]:
    parameters = {found[1].upper(): found[2] or found[3] for found in _PARAMETER.finditer(text)}
    for unknown in sorted(parameters.keys() - PARAMETERS):
        raise InvalidTrigger(f"rrule {name} has the parameter {quoted(unknown)}, expected TZID or VALUE")
    return parameters


def _one_rule(rules: list[str]) -> str:
    if len(rules) != 1:
        remedy = "; join rules as RRule(…) | RRule(…)" if rules else ""
        raise InvalidTrigger(f"rrule has {len(rules)} rules, expected one{remedy}")
    return rules[0]


def _one_zone(starts: list[Line], lines: list[Line]) -> str | None:
    zones = {line.tz for line in lines if line.tz}
    # A start in UTC has its recurrences in UTC, whatever zone the clocks nearby show.
    zones |= {"UTC" for line in starts if line.value.strip().upper().endswith("Z")}
    if len(zones) > 1:
        raise InvalidTrigger(f"rrule names the zones {', '.join(sorted(zones))}, expected one")
    return zones.pop() if zones else None


def _times(lines: list[Line], name: str) -> tuple[str, ...]:
    values = (value for line in lines if line.name == name for value in line.value.split(","))
    return tuple(from_icalendar(value) for value in values)
