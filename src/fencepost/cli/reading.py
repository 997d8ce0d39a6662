"""What people type, read: JSON, times, lengths of time, labels."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fencepost.errors import InvalidDuration, InvalidPayload, UsageError
from fencepost.model.durations import meant_duration, parse_duration
from fencepost.model.quoting import quoted
from fencepost.model.rate import parse_rate
from fencepost.model.times import YEAR_FIRST, YEAR_LAST, parse_local_or_instant, to_instant, to_utc_text
from fencepost.operations.schedule_words import GateWords
from fencepost.triggers import zone

NONE = "none"
GATE_KINDS = {"waiting_max": int, "failed_share": float, "of_last": int}


def read_payload(text: str | None) -> dict[str, Any] | None:
    """The payload behind a JSON text, which must be an object."""
    if text is None:
        return None
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidPayload(f"--payload: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidPayload('--payload: expected a JSON object, such as {"region": "eu"}')
    return value


def read_time(option: str, text: str, tz: str | None) -> datetime:
    """An instant; a time without an offset is read in `tz`, or in this machine's own zone."""
    try:
        moment = parse_local_or_instant(text)
        instant = to_instant(moment, zone(tz)) if tz is not None else moment.astimezone(UTC)
    except (UsageError, OverflowError, OSError, ValueError) as error:
        raise UsageError(f"{option}: {error}") from None
    if not YEAR_FIRST <= instant.year <= YEAR_LAST:
        raise UsageError(f"{option} {text}: expected a year from {YEAR_FIRST} to {YEAR_LAST}")
    return instant


def read_when(option: str, text: str, tz: str | None) -> str:
    """As operations take it: a length of time before now as it stands, anything else as an instant."""
    try:
        parse_duration(text)
    except InvalidDuration:
        _check_duration(option, text)
        return to_utc_text(read_time(option, text, tz))
    return text


def read_instant(option: str, text: str, tz: str | None) -> str:
    """An instant, as operations take it."""
    return to_utc_text(read_time(option, text, tz))


def read_duration(option: str, text: str) -> timedelta:
    """A length of time."""
    try:
        return parse_duration(text)
    except InvalidDuration as error:
        raise UsageError(f"{option}: {error}") from None


def read_labels(pairs: tuple[str, ...]) -> dict[str, str]:
    """Labels from `key=value` texts."""
    labels = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"--label {pair}: expected key=value")
        labels[key] = value
    return labels


def read_gate(text: str) -> GateWords | str:
    """Terms of a gate from `waiting_max=500,failed_share=0.3`, or `none` for the usual ones."""
    if text == NONE:
        return NONE
    terms: dict[str, Any] = {}
    for pair in text.split(","):
        name, _, value = pair.partition("=")
        kind = checked_choice("--gate", name.strip(), list(GATE_KINDS))
        try:
            terms[kind] = GATE_KINDS[kind](value)
        except ValueError:
            raise UsageError(f"--gate {pair.strip()}: expected {kind}= and a number") from None
    return GateWords(**terms)


def read_rate(option: str, text: str | None) -> float:
    """How many seconds lie between two; none at all where no rate was given."""
    try:
        return 0.0 if text is None else parse_rate(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def read_dates(option: str, path: str) -> tuple[str, ...]:
    """The dates of a text file, one a line; `#` begins a comment."""
    try:
        text = Path(path).read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{option} {path}: expected UTF-8 text, one date a line") from None
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(
        _date(f"{option} {path}, line {number}", line) for number, line in enumerate(lines, 1) if line
    )


def checked_choice(option: str, text: str, known: list[str]) -> str:
    """The text, if it is one of the known ones."""
    if text in known:
        return text
    near = get_close_matches(text, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known)}"
    raise UsageError(f"{option} {text}: unknown; {hint}")


def _check_duration(option: str, text: str) -> None:
    """Refuse a length of time in words that are not ours, such as 7days."""
    if (meant := meant_duration(text)) is not None:
        raise UsageError(f"{option} {text}: write {meant}")


def _date(where: str, text: str) -> str:
    try:
        # Other ISO forms, of weeks for example, would be read too; a calendar is written in plain dates.
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise UsageError(f"{where}: {quoted(text)}: expected a date such as 2026-12-25")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
