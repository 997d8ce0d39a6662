"""What every trigger can do once it can find its fire times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Self

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted
from fencepost.model.times import checked_instant
from fencepost.triggers.patience import keep_on

if TYPE_CHECKING:
    from fencepost.triggers.business.calendar import Calendar

TICK = timedelta.resolution
FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Binding:
    """What a schedule gives to its trigger: an identity to hash, and the days of named calendars."""

    schedule_id: str
    calendars: Mapping[str, Calendar] = field(default_factory=dict)


class Series(ABC):
    """A strictly rising series of UTC instants, the same for every caller.

    `jitter` is how much later than its fire time a run may start, by a hash of the tick. There are at least
    `spacing_min_s` between two fire times.
    """

    jitter: timedelta | None = None
    spacing_min_s = 0.0

    @abstractmethod
    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none.

        A combination of triggers may give up a long search with SearchExhausted, which says how far
        it has come.
        """

    @abstractmethod
    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`, or None when there is none."""

    @abstractmethod
    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""

    @abstractmethod
    def to_json(self) -> JsonObject:
        """The stable, versioned form that the ledger keeps."""

    @abstractmethod
    def describe(self) -> str:
        """When it fires, in plain words."""

    @property
    def starts(self) -> datetime | None:
        """An instant before which it never fires; None where it has no beginning."""
        return None

    def zones(self) -> frozenset[str]:
        """The zones whose clocks it follows."""
        return frozenset()

    def calendar_names(self) -> frozenset[str]:
        """The calendars whose days it needs from the store."""
        return frozenset()

    def is_hashed(self) -> bool:
        """Whether its fire times depend on the id of its schedule."""
        return False

    def bound(self, binding: Binding) -> Self:
        """The same trigger as the trigger of one schedule."""
        return self

    def candidate_after(self, after: datetime) -> datetime | None:
        """An instant later than `after` with no fire time in between: where a search looks next."""
        return self.next_after(after)

    def candidate_before(self, before: datetime) -> datetime | None:
        """An instant earlier than `before` with no fire time in between."""
        return self.previous(before)

    def dense_after(self, after: datetime) -> Iterator[datetime]:
        """Where to look for its shortest period: some fire times of it or of its parts."""
        if (first := self.next_after(after)) is not None:
            yield first

    def __contains__(self, moment: datetime) -> bool:
        """Whether it fires at exactly that instant."""
        moment = checked_instant(moment)
        return moment > FIRST and self.next_after(moment - TICK) == moment

    def next(self, after: datetime, n: int = 1) -> list[datetime]:
        """The first `n` fire times later than `after`; fewer where the series ends."""
        _check_number("next", n)
        return list(islice(self._onwards(checked_instant(after)), n))

    def last(self, before: datetime, n: int = 1) -> list[datetime]:
        """The last `n` fire times earlier than `before`, the latest first; fewer where the series begins."""
        _check_number("last", n)
        return list(islice(self._backwards(checked_instant(before)), n))

    def _onwards(self, after: datetime) -> Iterator[datetime]:
        """The fire times later than `after`, for people, who wait longer for one than a planner does."""
        while (moment := self.next_after(after)) is not None:
            keep_on()
            yield moment
            after = moment

    def _backwards(self, before: datetime) -> Iterator[datetime]:
        """The fire times earlier than `before`, the latest first."""
        while (moment := self.previous(before)) is not None:
            keep_on()
            yield moment
            before = moment


def _check_number(what: str, n: object) -> None:
    if type(n) is not int or n < 0:
        raise InvalidTrigger(f"{what} {quoted(n)}: expected a whole number of fire times")
