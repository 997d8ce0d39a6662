"""The words that several operations share, each with its bounds."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, TypeAlias, overload

from msgspec import Meta

from fencepost.errors import InvalidDuration, UsageError
from fencepost.model.durations import meant_duration, parse_duration
from fencepost.model.identifiers import KEY_LENGTH_MAX, NAME_LENGTH_MAX
from fencepost.model.times import YEAR_FIRST, YEAR_LAST, parse_time, to_utc_text

NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$(?!\n)"
"""To Python `$` is also before a last line break, to JSON Schema it is not; this means the same to both."""
PLAIN_PATTERN = r"^[^\u0000]*$"
"""No database keeps a text with a NUL in it."""
WHEN, WHEN_OR_AFTER, MOMENT, LENGTH = "when", "when_or_after", "moment", "length"
"""How a command line reads a text: as an instant or a length of time before now, as an instant or a length of
time after something, as an instant, or as a length of time, which is asked for in seconds."""
INTEGER_MAX = 2**31 - 1
SHARDS_MAX = 1_024
BIG_INTEGER_MAX = 2**63 - 1
RUN_KEY_LENGTH_MAX = NAME_LENGTH_MAX + KEY_LENGTH_MAX + 1
TEXT_LENGTH_MAX = 1_000

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX, pattern=NAME_PATTERN)]
Text: TypeAlias = Annotated[str, Meta(max_length=TEXT_LENGTH_MAX, pattern=PLAIN_PATTERN)]
Word: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64, pattern=PLAIN_PATTERN)]
RunKeyText: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=RUN_KEY_LENGTH_MAX,
        description="The run's key; in a path every `#`, `:`, `/` and `%` of it is percent-encoded.",
        examples=["invoices#2026-03-01T00:00:00Z#3"],
    ),
]
ScheduleIdText: TypeAlias = Annotated[Name, Meta(description="The schedule's id.", examples=["invoices"])]
Moment: TypeAlias = Annotated[
    str,
    Meta(
        extra_json_schema={"format": "date-time"},
        extra={"reads": MOMENT},
        examples=["2026-03-01T00:00:00Z"],
    ),
]
When: TypeAlias = Annotated[
    str,
    Meta(
        max_length=64,
        description="An instant (RFC 3339), or a length of time before now, such as `2h`.",
        examples=["2026-03-01T00:00:00Z", "2h"],
        extra={"reads": WHEN},
    ),
]
Seconds: TypeAlias = Annotated[float, Meta(examples=[30.0], extra={"reads": LENGTH})]


@overload
def moment(value: datetime) -> str: ...


@overload
def moment(value: datetime | None) -> str | None: ...


def moment(value: datetime | None) -> str | None:
    """RFC 3339 in UTC, or null."""
    return None if value is None else to_utc_text(value)


def read_when(name: str, text: str, now: datetime) -> datetime:
    """The instant that a `When` names."""
    length = _length(name, text)
    try:
        return read_instant(name, text) if length is None else now - length
    except OverflowError:
        raise UsageError(f"{name} {text}: is too long ago") from None


def read_instant_or_length(name: str, text: str) -> datetime | timedelta:
    """An instant or a length of time."""
    length = _length(name, text)
    return read_instant(name, text) if length is None else length


def _length(name: str, text: str) -> timedelta | None:
    """A length of time; None where the text is something else."""
    try:
        return parse_duration(text)
    except InvalidDuration:
        if (meant := meant_duration(text)) is not None:
            raise UsageError(f"{name} {text}: write {meant}") from None
    return None


def read_instant(name: str, text: str) -> datetime:
    """An instant, within the years that every store has a place for."""
    try:
        instant = parse_time(text)
    except (UsageError, OverflowError, ValueError) as error:
        raise UsageError(f"{name}: {error}") from None
    if not YEAR_FIRST <= instant.year <= YEAR_LAST:
        raise UsageError(f"{name} {text}: expected a year from {YEAR_FIRST} to {YEAR_LAST}")
    return instant
