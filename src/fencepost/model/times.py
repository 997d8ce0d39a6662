"""Instants: RFC 3339 text, whole seconds since the epoch, and local times read in a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EXPECTED = "expected RFC 3339 such as 2026-03-29T01:30:00Z"

_TEXT = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d)?(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)?)?", re.ASCII
)

YEAR_FIRST, YEAR_LAST = 1970, 9000
"""The years that people may name: some stores have no room for the first and the last days of the
calendar."""


def to_utc_text(moment: datetime) -> str:
    """`2026-03-29T01:30:00Z`, with six digits of fraction only where there is a fraction."""
    assert moment.tzinfo is not None, "a naive datetime is no instant"
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def from_utc_text(text: str) -> datetime:
    """The instant that `to_utc_text` wrote."""
    moment = parse_local_or_instant(text)
    if not text.endswith("Z"):
        raise InvalidTrigger(f"time {quoted(text)}: {EXPECTED}, in UTC with a Z")
    return moment


def parse_time(text: str, tz: tzinfo = UTC) -> datetime:
    """The instant, in UTC, of an RFC 3339 text; one without an offset is read in `tz`."""
    return to_instant(parse_local_or_instant(text), tz)


def checked_instant(moment: object) -> datetime:
    """The moment in UTC, if it is one: a time without a zone is not."""
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidTrigger(f"time {quoted(moment)}: expected a datetime with a zone")
    return to_instant(moment, UTC)


def read_time(value: datetime | str, tz: tzinfo) -> datetime:
    """The instant, in UTC, of a text or a datetime; one without an offset is read in `tz`."""
    if isinstance(value, str):
        return parse_time(value, tz)
    if not isinstance(value, datetime):
        raise InvalidTrigger(f"time {quoted(value)}: expected a datetime or a text")
    return to_instant(value, tz)


def parse_local_or_instant(text: str) -> datetime:
    """An RFC 3339 text as it stands: aware where it has an offset, naive where it has none."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise InvalidTrigger(f"time {quoted(text)}: {EXPECTED}")
    day, minute, second, fraction, offset = found.groups()
    if fraction and not second:
        raise InvalidTrigger(f"time {quoted(text)}: {EXPECTED}")
    clock = f"{minute or '00:00'}{second or ':00'}{(fraction or '.').ljust(7, '0')}"
    try:
        return datetime.fromisoformat(f"{day}T{clock}{(offset or '').upper()}")
    except ValueError as error:
        raise InvalidTrigger(f"time {quoted(text)}: {error}") from None


def to_instant(moment: datetime, tz: tzinfo) -> datetime:
    """The moment in UTC; a naive one is read in `tz`.

    A local time that the zone's clocks skip means the first instant after the gap, and one that
    they show twice means the first of the two.
    """
    try:
        return _to_instant(moment, tz)
    except OverflowError:
        raise InvalidTrigger(f"time {moment.isoformat()} is out of range") from None


def to_epoch_s(moment: datetime) -> int:
    """Whole seconds since the epoch, rounded down."""
    return (moment - EPOCH) // SECOND


def from_epoch_s(seconds: int) -> datetime:
    """The instant that many seconds after the epoch."""
    return EPOCH + timedelta(seconds=seconds)


def offset_s(tz: tzinfo, instant_s: int) -> int:
    """How far the zone's clocks are ahead of UTC at an instant."""
    offset = from_epoch_s(instant_s).astimezone(tz).utcoffset()
    assert offset is not None
    return offset // SECOND


def transition_s(tz: tzinfo, low_s: int, high_s: int) -> int:
    """The first instant in (low, high] at which the offset of `high` is in force.

    The caller knows that the offset changes exactly once in between.
    """
    target_s = offset_s(tz, high_s)
    while high_s - low_s > 1:
        middle_s = (low_s + high_s) // 2
        if offset_s(tz, middle_s) == target_s:
            high_s = middle_s
        else:
            low_s = middle_s
    return high_s


def _to_instant(moment: datetime, tz: tzinfo) -> datetime:
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    earlier = moment.replace(tzinfo=tz, fold=0).astimezone(UTC)
    if earlier.astimezone(tz).replace(tzinfo=None, fold=0) == moment.replace(fold=0):
        return earlier
    # In a gap fold=0 reads with the offset before it, which lands after the gap; fold=1 before it.
    later = moment.replace(tzinfo=tz, fold=1).astimezone(UTC)
    return from_epoch_s(transition_s(tz, to_epoch_s(later), to_epoch_s(earlier)))
