"""Rules that see rows otherwise than they are: what such a rule compares, it compares in vain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from fencepost.model.table import Ranges, Row, Selection
from fencepost.ports.rows import Transaction

See: TypeAlias = Callable[[Selection | Ranges, Row], Row | None]
"""A row that was selected as the rule sees it; None where it is not to see it."""


class Misled:
    """A transaction that shows rows otherwise than they are, and writes what it is told to."""

    def __init__(self, tx: Transaction, see: See) -> None:
        self._tx = tx
        self._see = see

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def find(self, selection: Selection | Ranges, **more: Any) -> list[Row]:
        return self._seen(selection, await self._tx.find(selection, **more))

    async def lock(self, selection: Selection, **more: Any) -> list[Row]:
        return self._seen(selection, await self._tx.lock(selection, **more))

    async def take(self, selection: Selection | Ranges, **more: Any) -> list[Row]:
        return self._seen(selection, await self._tx.take(selection, **more))

    def _seen(self, selection: Selection | Ranges, rows: list[Row]) -> list[Row]:
        seen = (self._see(selection, row) for row in rows)
        return [row for row in seen if row is not None]
