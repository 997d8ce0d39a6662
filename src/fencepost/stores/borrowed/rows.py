"""A row that answers to names and to places, whichever driver fetched it."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Sequence
from typing import Any


class Row:
    """One row: `row["name"]`, `row[0]`, and in the order of its columns when walked."""

    __slots__ = ("_values",)

    def __init__(self, names: Sequence[str], values: Sequence[Any]) -> None:
        self._values = dict(zip(names, values, strict=True))

    def __getitem__(self, key: str | int) -> Any:
        return list(self._values.values())[key] if isinstance(key, int) else self._values[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str, otherwise: Any = None) -> Any:
        return self._values.get(name, otherwise)

    def keys(self) -> KeysView[str]:
        return self._values.keys()

    def items(self) -> ItemsView[str, Any]:
        return self._values.items()
