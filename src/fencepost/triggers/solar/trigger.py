"""Solar: sunrise, sunset, civil dawn and dusk, or noon at a place, with an offset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite

from fencepost.errors import InvalidDuration, InvalidTrigger
from fencepost.model.durations import Duration, format_duration, parse_duration
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted
from fencepost.model.times import EPOCH
from fencepost.triggers.combine import Combinable
from fencepost.triggers.patience import PRICE_SUN
from fencepost.triggers.solar.position import DAY_MINUTES, MINUTES_PER_DEGREE, crossing_minute, noon_minute

VERSION = 1
OFFSET_MAX = timedelta(hours=12)
MINUTE = timedelta(minutes=1)
FIRST = datetime(10, 1, 1, tzinfo=UTC)
LAST = datetime(9990, 1, 1, tzinfo=UTC)

# A millionth of a degree is a hand's breadth.
DEGREE_DIGITS = 6
SHOWN_DIGITS = 2

# At the poles the sun rises once a year.
SEARCH_DAYS = 400
# A sundial is up to 17 minutes off the mean sun, by which an instant's day is guessed.
MARGIN_DAYS = 1

# The altitude of the sun's center: when its upper edge is seen on the horizon, and as civil twilight ends.
HORIZON = -0.833
TWILIGHT = -6.0
CROSSINGS = {
    "sunrise": (HORIZON, True),
    "sunset": (HORIZON, False),
    "dawn": (TWILIGHT, True),
    "dusk": (TWILIGHT, False),
}
WORDS = {
    "sunrise": "sunrise",
    "sunset": "sunset",
    "dawn": "civil dawn",
    "dusk": "civil dusk",
    "noon": "solar noon",
}


@dataclass(frozen=True, init=False)
class Solar(Combinable):
    """An event of the sun at a place, on every day that has it, or so long before or after.

    It fires at the first whole minute at which the event has happened. Degrees count north and east; the
    offset is a whole number of minutes up to 12 hours, negative for before: `"-30m"`.
    """

    event: str
    latitude: float
    longitude: float
    offset: timedelta

    def __init__(
        self, event: str, latitude: float, longitude: float, offset: Duration = timedelta(0)
    ) -> None:
        if str(event) not in WORDS:
            raise InvalidTrigger(
                f"solar event {quoted(event)} is unknown, expected one of {', '.join(WORDS)}"
            )
        object.__setattr__(self, "event", str(event))
        object.__setattr__(self, "latitude", _degrees("latitude", latitude, 90))
        object.__setattr__(self, "longitude", _degrees("longitude", longitude, 180))
        object.__setattr__(self, "offset", _offset(offset))

    @property
    def price(self) -> int:
        return PRICE_SUN

    def next_after(self, after: datetime) -> datetime | None:
        """The first fire time strictly later than `after`, or None when there is none."""
        if after >= LAST:
            return None
        after = max(after, FIRST)
        day = self._day(after) - MARGIN_DAYS
        for number in range(day, day + SEARCH_DAYS):
            found = self._on(number)
            if found is not None and found > after:
                return found if found < LAST else None
        return None

    def previous(self, before: datetime) -> datetime | None:
        """The last fire time strictly earlier than `before`, or None when there is none."""
        if before <= FIRST:
            return None
        before = min(before, LAST)
        day = self._day(before) + MARGIN_DAYS
        for number in range(day, day - SEARCH_DAYS, -1):
            found = self._on(number)
            if found is not None and found < before:
                return found if found > FIRST else None
        return None

    def fire_times(self, after: datetime, through: datetime) -> Iterator[datetime]:
        """All fire times in (after, through], ascending, one at a time."""
        while (moment := self.next_after(after)) is not None and moment <= through:
            yield moment
            after = moment

    def to_json(self) -> JsonObject:
        """The stable form; its version is also that of the formula."""
        return {
            "v": VERSION,
            "kind": "solar",
            "event": self.event,
            "latitude": self.latitude,
            "longitude": self.longitude,
            "offset": ("-" if self.offset < timedelta(0) else "") + format_duration(abs(self.offset)),
        }

    def describe(self) -> str:
        """30 minutes before sunset at 52.52°N 13.41°E."""
        where = f"{_shown(self.latitude, 'NS')} {_shown(self.longitude, 'EW')}"
        return f"{_distance(self.offset)} {WORDS[self.event]} at {where}"

    def _day(self, moment: datetime) -> int:
        minute = (moment - self.offset - EPOCH) // MINUTE
        return int((minute + MINUTES_PER_DEGREE * self.longitude) // DAY_MINUTES)

    def _on(self, day: int) -> datetime | None:
        if self.event == "noon":
            minute: int | None = noon_minute(day, self.longitude)
        else:
            altitude, upward = CROSSINGS[self.event]
            minute = crossing_minute(day, self.latitude, self.longitude, altitude, upward)
        return None if minute is None else EPOCH + minute * MINUTE + self.offset


def _degrees(what: str, value: float, limit: int) -> float:
    expected = f"expected degrees from -{limit} to {limit}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidTrigger(f"solar {what} {quoted(value)}: {expected}")
    if not isfinite(value) or abs(value) > limit:
        raise InvalidTrigger(f"solar {what} {value!r}: {expected}")
    # Adding nothing makes a zero of a negative zero.
    return round(float(value), DEGREE_DIGITS) + 0.0


def _offset(value: Duration) -> timedelta:
    try:
        length = _signed(value)
    except InvalidDuration as error:
        raise InvalidTrigger(f"solar offset: {error}") from None
    if abs(length) > OFFSET_MAX or length % MINUTE:
        expected = f"expected whole minutes, at most {format_duration(OFFSET_MAX)} before or after"
        raise InvalidTrigger(f"solar offset {quoted(value)}: {expected}")
    return length


def _signed(value: Duration) -> timedelta:
    """A length of time that may be negative, which other lengths may not."""
    match value:
        case str() if value[:1] in ("-", "+"):
            length = parse_duration(value[1:])
            return -length if value[0] == "-" else length
        case timedelta() if value < timedelta(0):
            return -parse_duration(-value)
        case int() | float() if value < 0:
            return -parse_duration(-value)
    return parse_duration(value)


def _distance(offset: timedelta) -> str:
    if not offset:
        return "at"
    hours, minutes = divmod(abs(offset) // MINUTE, 60)
    counts = [(hours, "hour"), (minutes, "minute")]
    parts = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in counts if count]
    return f"{' '.join(parts)} {'before' if offset < timedelta(0) else 'after'}"


def _shown(value: float, letters: str) -> str:
    return f"{round(abs(value), SHOWN_DIGITS):g}°{letters[value < 0]}"
