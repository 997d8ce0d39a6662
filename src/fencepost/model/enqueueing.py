"""Options of a run by hand: that there is only one like it, and until when it may begin."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple, TypeAlias

from fencepost.errors import InvalidDuration, UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.model.durations import Duration, format_duration, parse_duration
from fencepost.model.identifiers import RunKey
from fencepost.model.json import JsonObject, canonical
from fencepost.model.quoting import quoted

PERIOD_MAX = timedelta(days=366)
NAME_LENGTH_MAX = 512
EXPECTED = 'expected "queued", "unfinished", or a period such as "1h"'


class UniqueWhile(StrEnum):
    """For how long a run keeps the name that it is unique by."""

    QUEUED = "queued"
    """Until its first attempt begins, or it ends without one."""
    UNFINISHED = "unfinished"
    """Until it ends."""


@dataclass(frozen=True, init=False)
class Unique:
    """One run of a job and a name at a time: while it is queued, while it is unfinished, or within a period
    after it was enqueued. Without a name from the caller the payload is the name."""

    by: UniqueWhile | timedelta
    name: str | None

    def __init__(self, by: str | timedelta, name: str | None = None) -> None:
        object.__setattr__(self, "by", _by(by))
        object.__setattr__(self, "name", name)
        if name is not None and not 1 <= len(name) <= NAME_LENGTH_MAX:
            raise UsageError(
                f"unique: name {quoted(name)}: expected a text of 1 to {NAME_LENGTH_MAX} letters"
            )

    @property
    def period(self) -> timedelta:
        """For how long after it was enqueued a run keeps its name, also once it has ended."""
        return self.by if isinstance(self.by, timedelta) else timedelta()

    def name_for(self, payload: JsonObject) -> str:
        """The name as the ledger keeps it; a caller's name never equals that of a payload."""
        return f"payload:{_digest(payload)}" if self.name is None else f"name:{self.name}"


UniqueLike: TypeAlias = Unique | str | timedelta | None
Expires: TypeAlias = datetime | Duration | None
"""An instant, or how long after a run is due."""


class Entered(NamedTuple):
    """The outcome of an enqueue: the key of the run that is there for it, and whether that run is new."""

    run_key: RunKey
    is_new: bool


def parse_unique(value: UniqueLike) -> Unique | None:
    """A caller's `unique`, or a refusal that lists the choices."""
    if value is None or isinstance(value, Unique):
        return value
    return Unique(value)


def parse_expires(value: Expires) -> datetime | timedelta | None:
    """An instant, or how long after it is due a run may still begin."""
    if value is None:
        return None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise UsageError(
                f"expires {value.isoformat()}: expected an instant with a zone, or a length of time"
            )
        return value
    length = parse_duration(value)
    if not length:
        raise UsageError('expires: expected a length of time above nothing, such as "10m"')
    return length


def _by(value: object) -> UniqueWhile | timedelta:
    if isinstance(value, str) and value in set(UniqueWhile):
        return UniqueWhile(value)
    if not isinstance(value, str | timedelta):
        raise UsageError(f"unique {quoted(value)}: {EXPECTED}")
    try:
        period = parse_duration(value)
    except InvalidDuration as error:
        raise UsageError(f"unique {quoted(value)}: {EXPECTED}") from error
    if not timedelta() < period <= PERIOD_MAX:
        longest = format_duration(PERIOD_MAX)
        raise UsageError(f"unique {quoted(value)}: a period is above nothing and at most {longest}")
    return period


def _digest(payload: JsonObject) -> str:
    return sha256(canonical(payload).encode()).hexdigest()
