"""One field of a cron expression, from its text to a bitmask of its values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted
from fencepost.triggers.cron.days import (
    DayField,
    LastDay,
    LastWorkingDay,
    NearestWorkingDay,
    NthWeekday,
    SpecialDay,
)

LIST_ITEMS_MAX = 100

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
SUNDAY_AGAIN = 7
NTH_MAX = 5
LAST_BEFORE_MAX = 30
NUMBER_SHOWN_MAX = 20

_HASHED = re.compile(r"H(?:\((?P<range>[^()]*)\))?", re.IGNORECASE)
_LAST_DAY = re.compile(r"L(?:-(?P<before>\w*))?", re.IGNORECASE)


@dataclass(frozen=True)
class Field:
    """The values that a field may take.

    `wraps_at` is the last of them before they begin again, `hashed_high` the last that an H may mean.
    """

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)
    is_day: bool = False
    wraps_at: int | None = None
    hashed_high: int | None = None

    @property
    def expected(self) -> str:
        """The range, in the words of an error message."""
        if not self.names:
            return f"expected {self.low}-{self.high}"
        first, *_, last = self.names
        return f"expected {self.low}-{self.high} or {first}-{last}"


SECOND = Field("second", 0, 59)
MINUTE = Field("minute", 0, 59)
HOUR = Field("hour", 0, 23)
DAY = Field("day", 1, 31, is_day=True, hashed_high=28)
MONTH = Field("month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)})
WEEKDAY = Field(
    "weekday",
    0,
    SUNDAY_AGAIN,
    {name: number for number, name in enumerate(WEEKDAYS)},
    is_day=True,
    wraps_at=6,
    hashed_high=6,
)


def is_unrestricted(text: str) -> bool:
    """Whether a field counts as a wildcard; as in Debian's cron its first letter decides."""
    return text.startswith(("*", "?"))


def is_beat(text: str) -> bool:
    """Whether a field of the time of day means a beat: a wildcard, or a step to the field's end."""
    return is_unrestricted(text) or any("/" in item and "-" not in item for item in text.split(","))


def is_hashed(text: str) -> bool:
    """Whether the field leaves a value to the identity of the schedule."""
    return any(item[:1] in ("H", "h") for item in text.split(","))


def parse_field(spec: Field, text: str, seed: str | None) -> int:
    """The bitmask of the field's values: bit n is set where n matches.

    Without a seed an H stands for every value that it could take.
    """
    mask = 0
    for item in _items(spec, text):
        mask |= _item_mask(spec, item, seed)
    return mask


def forwards(spec: Field, text: str) -> str:
    """The field with each range that runs backwards, which some crons let run past the end, as one that does
    not. What is no such range stays as it is."""
    return ",".join(_forward(spec, item) for item in text.split(","))


def _forward(spec: Field, item: str) -> str:
    base, slash, step_text = item.partition("/")
    first, dash, last = base.partition("-")
    try:
        low, high = _value(spec, first), _value(spec, last)
        step = _step(spec, step_text) if slash else 1
    except InvalidTrigger:
        return item
    top = spec.wraps_at or spec.high
    if not dash or low <= high or low > top or _is_sunday_by_name(spec, last):
        return item
    if step == 1:
        return ",".join(f"{a}-{b}" if a < b else str(a) for a, b in ((low, top), (spec.low, high)))
    return ",".join(map(str, [*range(low, top + 1), *range(spec.low, high + 1)][::step]))


def parse_day_field(spec: Field, text: str, seed: str | None) -> DayField:
    """One of the two day fields, with its special days."""
    mask, specials = 0, []
    for item in _items(spec, text):
        special = _special_day(item) if spec is DAY else _special_weekday(item)
        if special is None:
            mask |= _item_mask(spec, item, seed)
        else:
            specials.append(special)
    return DayField(_with_one_sunday(mask) if spec is WEEKDAY else mask, tuple(specials))


def _items(spec: Field, text: str) -> list[str]:
    items = text.split(",", LIST_ITEMS_MAX)
    if len(items) > LIST_ITEMS_MAX:
        raise InvalidTrigger(f"{spec.name} has more than {LIST_ITEMS_MAX} list items")
    return items


def _special_day(item: str) -> SpecialDay | None:
    if item.upper() == "LW":
        return LastWorkingDay()
    if found := _LAST_DAY.fullmatch(item):
        before = found["before"]
        if before is not None and before[-1:] in ("W", "w"):
            raise InvalidTrigger(
                f"day {quoted(item)}: no weekday is looked for near a day that is counted from the end; "
                f"{item[:-1]} is that day, LW the last weekday"
            )
        if before is None:
            return LastDay()
        return LastDay(_number(f"day {quoted(item)}", before, 1, LAST_BEFORE_MAX, prefix="L-"))
    if item[-1:] in ("W", "w"):
        return NearestWorkingDay(_value(DAY, item[:-1]))
    return None


def _special_weekday(item: str) -> SpecialDay | None:
    weekday, hash_sign, nth = item.partition("#")
    if not hash_sign:
        if item[-1:] not in ("L", "l"):
            return None
        if len(item) == 1:
            raise InvalidTrigger('weekday "L" stands alone, expected the weekday before it, such as FRIL')
        return NthWeekday(_value(WEEKDAY, item[:-1]) % SUNDAY_AGAIN, -1)
    number = _value(WEEKDAY, weekday) % SUNDAY_AGAIN
    if nth.upper() == "L":
        return NthWeekday(number, -1)
    return NthWeekday(number, _number(f"weekday {quoted(item)}", nth, 1, NTH_MAX, prefix="#"))


def _number(what: str, text: str, low: int, high: int, prefix: str) -> int:
    if not (_is_number(text) and low <= int(text) <= high):
        raise InvalidTrigger(f"{what} is out of range, expected {prefix}{low} to {prefix}{high}")
    return int(text)


def _item_mask(spec: Field, item: str, seed: str | None) -> int:
    base, slash, step_text = item.partition("/")
    step = _step(spec, step_text) if slash else 1
    if hashed := _HASHED.fullmatch(base):
        low, high = _hashed_range(spec, hashed["range"])
        if seed is None:
            step = 1
        else:
            low += _hash(seed, spec.name) % (min(step, high - low + 1) if slash else high - low + 1)
            high = high if slash else low
    else:
        low, high = _bounds(spec, base, stepped=bool(slash))
    return sum(1 << value for value in range(low, high + 1, step))


def _hashed_range(spec: Field, text: str | None) -> tuple[int, int]:
    if text is None:
        return spec.low, spec.hashed_high or spec.high
    if "-" not in text:
        raise InvalidTrigger(f"{spec.name} {quoted(f'H({text})')} has no range, expected H(LOW-HIGH)")
    return _bounds(spec, text, stepped=False)


def _hash(seed: str, name: str) -> int:
    """The same number for ever for the same schedule and field."""
    return int.from_bytes(hashlib.blake2b(f"{name}\n{seed}".encode(), digest_size=8).digest(), "big")


def _bounds(spec: Field, base: str, *, stepped: bool) -> tuple[int, int]:
    if base == "*" or (base == "?" and spec.is_day and not stepped):
        return spec.low, spec.high
    first, dash, last = base.partition("-")
    low = _value(spec, first)
    if not dash:
        return low, spec.high if stepped else low
    high = SUNDAY_AGAIN if low and _is_sunday_by_name(spec, last) else _value(spec, last)
    if low > high:
        raise InvalidTrigger(_backwards(spec, first, last, low, high))
    return low, high


def _value(spec: Field, text: str) -> int:
    named = spec.names.get(text.upper()) if text.isascii() else None
    if named is not None:
        return named
    if not _is_number(text):
        raise InvalidTrigger(f"{spec.name} {quoted(text)} is not a value, {spec.expected}")
    if not spec.low <= int(text) <= spec.high:
        raise InvalidTrigger(f"{spec.name} {_shown(text)} is out of range, {spec.expected}")
    return int(text)


def _step(spec: Field, text: str) -> int:
    longest = (spec.wraps_at or spec.high) - spec.low + 1
    if not _is_number(text):
        complaint = f"step {quoted(text)} is not a number"
    elif not 1 <= int(text) <= longest:
        complaint = f"step {_shown(text)} is out of range"
    else:
        return int(text)
    raise InvalidTrigger(f"{spec.name} {complaint}, expected 1-{longest}")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _shown(number: str) -> str:
    """A number as it was written, bare unless it is absurdly long."""
    return number if len(number) <= NUMBER_SHOWN_MAX else quoted(number)


def _is_sunday_by_name(spec: Field, text: str) -> bool:
    """At the end of a range, SUN can only mean the Sunday after: FRI-SUN is three days."""
    return spec is WEEKDAY and text.isascii() and text.upper() == WEEKDAYS[0]


def _with_one_sunday(mask: int) -> int:
    folded = mask & ((1 << SUNDAY_AGAIN) - 1)
    return folded | 1 if mask >> SUNDAY_AGAIN else folded


def _backwards(spec: Field, first: str, last: str, low: int, high: int) -> str:
    """The complaint about a range such as FRI-MON, with the two ranges that say the same."""
    top, bottom = spec.wraps_at or spec.high, spec.low
    by_name = {number: name for name, number in spec.names.items()}
    named = not (first.isdigit() or last.isdigit())
    top_text = by_name[top] if named else str(top)
    bottom_text = by_name[bottom] if named else str(bottom)
    head = first if low >= top else f"{first}-{top_text}"
    tail = last if high == bottom else f"{bottom_text}-{last}"
    return f"{spec.name} range {first}-{last} runs backwards, write {head},{tail}"
