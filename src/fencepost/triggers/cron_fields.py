"""One field of a cron expression, from its text to a bitmask of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.errors import InvalidTrigger
from fencepost.model.quoting import quoted

LIST_ITEMS_MAX = 100

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
SUNDAY_AGAIN = 7


@dataclass(frozen=True)
class Field:
    """The values that a field may take. `wraps_at` is the last of them before they begin again."""

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)
    is_day: bool = False
    wraps_at: int | None = None

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
DAY = Field("day", 1, 31, is_day=True)
MONTH = Field("month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)})
WEEKDAY = Field(
    "weekday",
    0,
    SUNDAY_AGAIN,
    {name: number for number, name in enumerate(WEEKDAYS)},
    is_day=True,
    wraps_at=6,
)


def is_unrestricted(text: str) -> bool:
    """Whether a field counts as a wildcard; as in Debian's cron its first letter decides."""
    return text.startswith(("*", "?"))


def parse_field(spec: Field, text: str) -> int:
    """The bitmask of the field's values: bit n is set where n matches."""
    items = text.split(",", LIST_ITEMS_MAX)
    if len(items) > LIST_ITEMS_MAX:
        raise InvalidTrigger(f"{spec.name} has more than {LIST_ITEMS_MAX} list items")
    mask = 0
    for item in items:
        mask |= _item_mask(spec, item)
    return _with_one_sunday(mask) if spec is WEEKDAY else mask


def _item_mask(spec: Field, item: str) -> int:
    base, slash, step_text = item.partition("/")
    step = _step(spec, step_text) if slash else 1
    low, high = _bounds(spec, base, stepped=bool(slash))
    return sum(1 << value for value in range(low, high + 1, step))


def _bounds(spec: Field, base: str, *, stepped: bool) -> tuple[int, int]:
    if base == "*" or (base == "?" and spec.is_day and not stepped):
        return spec.low, spec.high
    first, dash, last = base.partition("-")
    low = _value(spec, first)
    if not dash:
        return low, spec.high if stepped else low
    high = SUNDAY_AGAIN if _is_sunday_by_name(spec, last) else _value(spec, last)
    if low > high:
        raise InvalidTrigger(_backwards(spec, first, last, low, high))
    return low, high


def _value(spec: Field, text: str) -> int:
    named = spec.names.get(text.upper())
    if named is not None:
        return named
    if not (text.isascii() and text.isdigit()):
        raise InvalidTrigger(f"{spec.name} {quoted(text)} is not a value, {spec.expected}")
    if not spec.low <= int(text) <= spec.high:
        raise InvalidTrigger(f"{spec.name} {text} is out of range, {spec.expected}")
    return int(text)


def _step(spec: Field, text: str) -> int:
    longest = (spec.wraps_at or spec.high) - spec.low + 1
    if not (text.isascii() and text.isdigit()):
        complaint = f"step {quoted(text)} is not a number"
    elif not 1 <= int(text) <= longest:
        complaint = f"step {text} is out of range"
    else:
        return int(text)
    raise InvalidTrigger(f"{spec.name} {complaint}, expected 1-{longest}")


def _is_sunday_by_name(spec: Field, text: str) -> bool:
    """At the end of a range, SUN can only mean the Sunday after: FRI-SUN is three days."""
    return spec is WEEKDAY and text.upper() == WEEKDAYS[0]


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
