"""Triggers from their stable JSON form, by a fixed table: data never names a type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fencepost.errors import InvalidTrigger
from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.quoting import quoted
from fencepost.model.trigger import Trigger
from fencepost.triggers.at import At
from fencepost.triggers.cron import Cron
from fencepost.triggers.dst import checked_fold, checked_gap
from fencepost.triggers.every import Every

Decoder: TypeAlias = Callable[["Reader"], Trigger]


def decode(data: JsonValue) -> Trigger:
    """The trigger that a `to_json` wrote, in this release or an earlier one."""
    if not isinstance(data, dict):
        raise InvalidTrigger(f"trigger {quoted(data)}: expected an object with v and kind")
    kind, version = data.get("kind"), data.get("v")
    decoders = DECODERS.get(kind) if isinstance(kind, str) else None
    if decoders is None:
        expected = ", ".join(DECODERS)
        raise InvalidTrigger(f"trigger kind {quoted(kind)} is unknown, expected one of {expected}")
    decoder = decoders.get(version) if type(version) is int else None
    if decoder is None:
        expected = ", ".join(map(str, decoders))
        raise InvalidTrigger(f"{kind} trigger version {quoted(version)} is unknown, expected {expected}")
    return Reader(f"{kind} trigger", data).read(decoder)


class Reader:
    """The members of one object, each read once, none left over."""

    def __init__(self, what: str, data: JsonObject) -> None:
        self._what = what
        self._left = {name: value for name, value in data.items() if name not in ("v", "kind")}

    def read(self, decoder: Decoder) -> Trigger:
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


def _cron(reader: Reader) -> Trigger:
    return Cron(
        reader.text("expression"),
        tz=reader.text("tz"),
        gap=checked_gap(reader.text_or_none("gap")),
        fold=checked_fold(reader.text_or_none("fold")),
    )


def _every(reader: Reader) -> Trigger:
    return Every(reader.text("interval"), anchor=reader.text_or_none("anchor"))


def _at(reader: Reader) -> Trigger:
    return At(reader.texts("times"))


DECODERS: dict[str, dict[int, Decoder]] = {
    "cron": {1: _cron},
    "every": {1: _every},
    "at": {1: _at},
}
