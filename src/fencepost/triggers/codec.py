"""Triggers from their stable JSON form, by a fixed table: data never names a type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.quoting import quoted
from fencepost.triggers.at import At
from fencepost.triggers.business.calendar import Calendar
from fencepost.triggers.business.trigger import BusinessDay, Shifted, checked_otherwise, checked_wall_trigger
from fencepost.triggers.combine import DEPTH_MAX, Combinable, Intersection, Union
from fencepost.triggers.cron import Cron
from fencepost.triggers.every import Every
from fencepost.triggers.localtime.dst import Fold, Gap, checked_fold, checked_gap
from fencepost.triggers.narrow import Difference, Limit
from fencepost.triggers.rrule import RRule
from fencepost.triggers.solar import Solar

INTEGER_END = 1 << 53
Decoder: TypeAlias = Callable[["Reader"], Combinable]


def decode(data: JsonValue) -> Combinable:
    """The trigger that a `to_json` wrote, in this release or an earlier one."""
    return _decode(data, depth=1)


def _decode(data: JsonValue, depth: int) -> Combinable:
    if not isinstance(data, dict):
        raise InvalidTrigger(f"trigger {quoted(data)}: expected an object with v and kind")
    if depth > DEPTH_MAX:
        raise InvalidTrigger(f"trigger is nested deeper than {DEPTH_MAX}")
    kind, version = data.get("kind"), data.get("v")
    decoders = DECODERS.get(kind) if isinstance(kind, str) else None
    if decoders is None:
        expected = ", ".join(DECODERS)
        raise InvalidTrigger(f"trigger kind {quoted(kind)} is unknown, expected one of {expected}")
    decoder = decoders.get(version) if type(version) is int else None
    if decoder is None:
        expected = ", ".join(map(str, decoders))
        raise InvalidTrigger(f"{kind} trigger version {quoted(version)} is unknown, expected {expected}")
    return Reader(f"{kind} trigger", data, depth).read(decoder)


class Reader:
    """The members of one object, each read once, none left over."""

    def __init__(self, what: str, data: JsonObject, depth: int) -> None:
        self._what = what
        self._depth = depth
        self._left = {name: value for name, value in data.items() if name not in ("v", "kind")}

    def read(self, decoder: Decoder) -> Combinable:
        """The trigger that the decoder makes, if it used every member."""
        trigger = decoder(self)
        for name in self._left:
            raise InvalidTrigger(f"{self._what}: {quoted(name)} is unknown")
        return trigger

    def text(self, name: str) -> str:
        """A member that must be a text."""
        value = self._left.pop(name, None)
        if not isinstance(value, str):
            raise InvalidTrigger(f"{self._what}: {name} is {quoted(value)}, expected a text")
        return value

    def text_or_none(self, name: str) -> str | None:
        """A member that may be absent."""
        if self._left.get(name) is not None:
            return self.text(name)
        self._left.pop(name, None)
        return None

    def texts(self, name: str) -> list[str]:
        """A member that must be a list of texts."""
        value = self._left.pop(name, None)
        texts = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
        if texts != value:
            raise InvalidTrigger(f"{self._what}: {name} is {quoted(value)}, expected a list of texts")
        return texts

    def integer(self, name: str) -> int:
        """A member that must be a whole number."""
        value = self._left.pop(name, None)
        if type(value) is not int:
            raise InvalidTrigger(f"{self._what}: {name} is {quoted(value)}, expected a whole number")
        return value

    def integer_or_none(self, name: str) -> int | None:
        """A member that may be absent."""
        if self._left.get(name) is not None:
            return self.integer(name)
        self._left.pop(name, None)
        return None

    def number(self, name: str) -> float:
        """A member that must be a number."""
        value = self._left.pop(name, None)
        if type(value) is float or (type(value) is int and abs(value) < INTEGER_END):
            return float(value)
        raise InvalidTrigger(f"{self._what}: {name} is {quoted(value)}, expected a number")

    def object(self, name: str) -> JsonObject:
        """A member that must be an object."""
        value = self._left.pop(name, None)
        if not isinstance(value, dict):
            raise InvalidTrigger(f"{self._what}: {name} is {quoted(value)}, expected an object")
        return value

    def trigger(self, name: str) -> Combinable:
        """A member that is itself a trigger."""
        return _decode(self._left.pop(name, None), self._depth + 1)

    def triggers(self, name: str) -> tuple[Combinable, ...]:
        """A member that is a list of triggers."""
        value = self._left.pop(name, None)
        if not isinstance(value, list):
            raise InvalidTrigger(f"{self._what}: {name} is {quoted(value)}, expected a list of triggers")
        return tuple(_decode(one, self._depth + 1) for one in value)

    def gap(self) -> Gap | None:
        """The member `gap`."""
        return checked_gap(self.text_or_none("gap"))

    def fold(self) -> Fold | None:
        """The member `fold`."""
        return checked_fold(self.text_or_none("fold"))


def _cron(reader: Reader) -> Combinable:
    return Cron(
        reader.text("expression"),
        tz=reader.text("tz"),
        gap=reader.gap(),
        fold=reader.fold(),
        seed=reader.text_or_none("seed"),
    )


def _every(reader: Reader) -> Combinable:
    return Every(
        reader.text("interval"),
        anchor=reader.text_or_none("anchor"),
        tz=reader.text_or_none("tz") or "UTC",
        gap=reader.gap(),
        fold=reader.fold(),
        jitter=reader.text_or_none("jitter"),
    )


def _at(reader: Reader) -> Combinable:
    return At(reader.texts("times"))


def _rrule(reader: Reader) -> Combinable:
    return RRule(
        reader.text("rule"),
        start=reader.text("start"),
        tz=reader.text("tz"),
        exclude=reader.texts("exclude"),
        include=reader.texts("include"),
        gap=reader.gap(),
        fold=reader.fold(),
    )


def _solar(reader: Reader) -> Combinable:
    return Solar(
        reader.text("event"),
        latitude=reader.number("latitude"),
        longitude=reader.number("longitude"),
        offset=reader.text("offset"),
    )


def _business_day(reader: Reader) -> Combinable:
    return BusinessDay(
        Calendar.from_json(reader.object("calendar")),
        at=reader.texts("at"),
        nth=reader.integer_or_none("nth"),
        tz=reader.text("tz"),
        months=reader.text_or_none("months"),
        gap=reader.gap(),
        fold=reader.fold(),
    )


def _business_shift(reader: Reader) -> Combinable:
    return Shifted(
        checked_wall_trigger(reader.trigger("of")),
        Calendar.from_json(reader.object("calendar")),
        checked_otherwise(reader.text("otherwise")),
    )


def _union(reader: Reader) -> Combinable:
    return Union(reader.triggers("of"))


def _intersection(reader: Reader) -> Combinable:
    return Intersection(reader.triggers("of"))


def _difference(reader: Reader) -> Combinable:
    return Difference(reader.trigger("of"), reader.trigger("without"))


def _between(reader: Reader) -> Combinable:
    return reader.trigger("of").between(reader.text_or_none("start"), reader.text_or_none("end"))


def _limit(reader: Reader) -> Combinable:
    return Limit(reader.trigger("of"), reader.integer("count"))


def _outside(reader: Reader) -> Combinable:
    return reader.trigger("of").outside(reader.trigger("opens"), reader.text("lasts"))


DECODERS: dict[str, dict[int, Decoder]] = {
    "cron": {1: _cron},
    "every": {1: _every},
    "at": {1: _at},
    "rrule": {1: _rrule},
    "solar": {1: _solar},
    "business_day": {1: _business_day},
    "business_shift": {1: _business_shift},
    "union": {1: _union},
    "intersection": {1: _intersection},
    "difference": {1: _difference},
    "between": {1: _between},
    "limit": {1: _limit},
    "outside": {1: _outside},
}
