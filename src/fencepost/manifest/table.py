"""The tables of a manifest, read so that nothing in them is overlooked.

Every refusal is one line: the file, the table and the key, what was expected, and a near match if a name
looks misspelt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn, TypeVar

from fencepost.errors import InvalidSpec, InvalidTrigger, SearchExhausted, UsageError
from fencepost.model.durations import parse_duration
from fencepost.model.identifiers import checked_name
from fencepost.model.job import PRIORITIES, PRIORITY_FIRST, PRIORITY_LAST
from fencepost.model.json import JsonObject
from fencepost.model.quoting import quoted

T = TypeVar("T")


class Table:
    """One table: its keys, each read by name, none of them unknown."""

    def __init__(self, file: str, name: str, data: Mapping[str, Any]) -> None:
        self.file = file
        self.name = name
        self._data = data

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def only(self, *known: str) -> None:
        """Refuse any key that is not among these."""
        for key in self._data:
            if key not in known:
                self.refuse(key, f"is unknown; {suggestion(key, known)}")

    def refuse(self, key: str, complaint: str) -> NoReturn:
        """The one line of a refusal."""
        raise InvalidSpec(f"{self._place(key)} {complaint}")

    @contextmanager
    def blaming(self, key: str = "") -> Iterator[None]:
        """Name the place of whatever is refused within."""
        try:
            yield
        except UsageError as error:
            # A search that was cut carries more than its line; here the line alone counts.
            kind = InvalidTrigger if isinstance(error, SearchExhausted) else type(error)
            raise kind(f"{self._place(key)}: {error}") from None

    def raw(self, key: str) -> Any:
        """The value as it stands, None where there is none."""
        return self._data.get(key)

    def text(self, key: str) -> str | None:
        """A text."""
        return self._typed(key, str, "a text")

    def checked(self, key: str, check: Callable[[str], object]) -> str | None:
        """A text that the check does not refuse."""
        value = self.text(key)
        if value is not None:
            with self.blaming(key):
                check(value)
        return value

    def queue(self) -> str | None:
        """The name of a queue."""
        return self.checked("queue", partial(checked_name, "queue"))

    def priority(self) -> int | None:
        """A priority."""
        value = self.whole("priority")
        if value is not None and value not in PRIORITIES:
            self.refuse("priority", f"= {value}: expected {PRIORITY_FIRST} (first) to {PRIORITY_LAST} (last)")
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where it is absent."""
        return bool(self._typed(key, bool, "true or false"))

    def whole(self, key: str) -> int | None:
        """A whole number."""
        return self._typed(key, int, "a whole number")

    def length(self, key: str) -> str | int | float | None:
        """A length of time, as text or in seconds."""
        value: str | int | float | None = self.raw(key)
        if value is not None:
            with self.blaming(key):
                parse_duration(value)
        return value

    def texts(self, key: str) -> list[str] | None:
        """A list of texts, not empty."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
            self.refuse(key, f"= {quoted(value)}: expected a list of texts")
        return list(value)

    def text_table(self, key: str) -> dict[str, str]:
        """A table in which every value is a text; empty where it is absent."""
        inner = self.table(key)
        return {name: inner.text(name) or "" for name in inner}

    def table(self, key: str) -> Table:
        """A table within this one; empty where it is absent."""
        value = self.raw(key)
        if value is not None and not isinstance(value, dict):
            self.refuse(key, f"= {quoted(value)}: expected a table")
        return Table(self.file, f"{self.name}.{key}" if self.name else key, value or {})

    def tables(self, key: str) -> Iterator[tuple[str, Table]]:
        """The tables of a table, by name."""
        outer = self.table(key)
        return ((name, outer.table(name)) for name in outer)

    def list_of_tables(self, key: str) -> list[Table]:
        """The tables of a list, each named by its place in it."""
        value = self.raw(key)
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self.refuse(key, f"= {quoted(value)}: expected a list of tables")
        return [Table(self.file, f"{self.name}.{key}.{place}", one) for place, one in enumerate(value, 1)]

    def json_object(self, key: str) -> JsonObject | None:
        """A table that can be written as JSON."""
        value = self.raw(key)
        if value is None:
            return None
        moment = _first_moment(self.table(key)._data)
        if moment is not None:
            self.refuse(key, f"holds the date or time {moment}: expected plain JSON; write it as a text")
        return dict(value)

    def _typed(self, key: str, kind: type[T], expected: str) -> T | None:
        value: T | None = self.raw(key)
        if value is not None and type(value) is not kind:
            self.refuse(key, f"= {quoted(value)}: expected {expected}")
        return value

    def _place(self, key: str) -> str:
        parts = (f"{self.file}:", f"[{self.name}]" if self.name else "", key)
        return " ".join(part for part in parts if part)


def suggestion(name: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """What the writer may have meant."""
    near = get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}?" if near else f"expected one of {', '.join(known) or 'none'}"


def _first_moment(value: Any) -> date | time | None:
    """The first TOML date or time inside a value: JSON has no such thing."""
    if isinstance(value, datetime | date | time):
        return value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for one in inner if (found := _first_moment(one)) is not None), None)
