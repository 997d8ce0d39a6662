"""Limits of a job across the fleet: how many of its runs may run at a time, and how fast they may start.

With a `key`, a name in the payload, `concurrency` holds for each of its values by itself. A run counts for
its *slot*: the value of the key, or the empty slot where there is no key.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Namespace, RunKey
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted
from fencepost.model.rate import parse_rate
from fencepost.model.text import cleaned

if TYPE_CHECKING:
    from fencepost.model.run import Hold

CONCURRENCY_MAX = 100_000
SLOT_LENGTH_MAX = 120
BURST_MAX = 10
BURST_SHARE = 20
"""A burst is this fraction of the number that the rate allows in its unit, at most `BURST_MAX`."""


@dataclass(frozen=True)
class JobLimit:
    """The limits of a job; each of the two may be missing."""

    concurrency: int | None = None
    key: str | None = None
    rate: str | None = None

    def __post_init__(self) -> None:
        if self.concurrency is not None and not _is_count(self.concurrency):
            raise InvalidSpec(
                f"concurrency {quoted(self.concurrency)}: expected a whole number from 1 to {CONCURRENCY_MAX}"
            )
        if self.key is not None and self.concurrency is None:
            raise InvalidSpec(f"concurrency_key {quoted(self.key)}: say also how many, with concurrency")
        if self.key is not None and not str(self.key).isidentifier():
            raise InvalidSpec(f"concurrency_key {quoted(self.key)}: expected a name in the payload")
        if self.rate is not None:
            _every_s(self.rate)

    @property
    def every_s(self) -> float | None:
        """The number of seconds between two starts."""
        return None if self.rate is None else _every_s(self.rate)

    @property
    def burst(self) -> int:
        """How many runs may start at the same moment after a rest."""
        count = 1 if self.rate is None else int(self.rate.partition("/")[0])
        return max(1, min(count // BURST_SHARE, BURST_MAX))

    def slot_of(self, payload: JsonObject) -> str:
        """The slot that a run with this payload counts for; a run without the key shares the empty slot."""
        value = None if self.key is None else payload.get(self.key)
        if value is None:
            return ""
        text = cleaned(value if isinstance(value, str) else json.dumps(value, sort_keys=True))
        return text if len(text) <= SLOT_LENGTH_MAX else sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run that would start if its job's limits let it."""

    run_key: RunKey
    slot: str


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """All that a verdict may depend on, read under the lock of the job's limits.

    The candidates come in the order of their turn. `running` counts the running runs of the ledger, by slot;
    `paid_until` is how far ahead the starts so far have used up the rate."""

    namespace: Namespace
    job: JobName
    limit: JobLimit
    candidates: tuple[Candidate, ...]
    running: Mapping[str, int]
    paid_until: StoreTime | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A candidate that has to wait: `LIMITED` for a slot, or `PACED` for the rate."""

    run_key: RunKey
    slot: str
    hold: Hold
    reason: str


@dataclass(frozen=True, slots=True)
class LimitVerdict:
    """Which candidates start and which wait. The others were not judged, because the room was used up.

    `next_at` is when the rate lets the next one go, None where it always does."""

    starts: tuple[Candidate, ...] = ()
    waits: tuple[Waiting, ...] = ()
    paid_until: StoreTime | None = None
    next_at: StoreTime | None = None
    running: Mapping[str, int] = field(default_factory=dict)
    """How many run once these have started."""


Limiter: TypeAlias = Callable[[LimitFacts, StoreTime, int], LimitVerdict]
"""(facts, the store's time, how many may start) → verdict."""


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value <= CONCURRENCY_MAX


def _every_s(rate: object) -> float:
    try:
        return parse_rate(rate if isinstance(rate, str) else repr(rate))
    except UsageError as error:
        raise InvalidSpec(str(error)) from None
