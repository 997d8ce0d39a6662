"""What a rule looks at first, in one question that brings the server's time as well.

A rule asks one thing after the other, and each is a way to the server and back. For a verb that is carried
out all day the store names what its rule begins with. The rule asks as it always does: what is known from the
batch is not asked for again, and the rest is. So a batch that names too little, or too much, costs time and
nothing else.

All of a batch is of the snapshot that the rule goes on with, and `$$NOW` is taken after that was chosen. It
is no question for a transaction or a router: neither has `$unionWith`, and a router's `$$NOW` is its own
clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC
from typing import Any, NamedTuple

from fencepost.model.clocks import StoreTime
from fencepost.model.table import Index, Key, Keys, Range, Row, Selection
from fencepost.model.tables import META
from fencepost.stores.mongodb.documents import Document, filter_of, order_of, prefix_of, to_row

PLACE = "place_"
"""Which part of a batch a document answers."""


class ReadBatch(NamedTuple):
    """Rows by their keys; ranges without bounds, of each a number of first rows, or all; and counters."""

    keys: Sequence[Keys] = ()
    ranges: Sequence[tuple[Range, int | None]] = ()
    counters: Sequence[str] = ()

    def question(self, counters: str) -> list[Document]:
        """To `meta`: its row of the schema is always there, and has the time put into it."""
        parts = [_part(one) for one in self.keys]
        parts += [_part(one, most) for one, most in self.ranges]
        parts += [{"coll": counters, "pipeline": [{"$match": {"_id": one}}]} for one in self.counters]
        for place, part in enumerate(parts):
            part["pipeline"].append({"$set": {PLACE: {"$literal": place}}})
        time: list[Document] = [
            {"$match": filter_of(META.at("schema"))},
            {"$project": {"_id": 0, "now": "$$NOW"}},
        ]
        return [*time, *({"$unionWith": part} for part in parts)]

    def answer(self, documents: Iterable[Document]) -> BatchAnswer:
        """What came of the question, told apart by the places."""
        parts: list[list[Document]] = [[] for part in (*self.keys, *self.ranges, *self.counters)]
        now = None
        for document in documents:
            if (place := document.pop(PLACE, None)) is None:
                now = StoreTime(document["now"].replace(tzinfo=UTC))
            else:
                parts[place].append(document)
        keys, others = parts[: len(self.keys)], parts[len(self.keys) :]
        ranges, counted = others[: len(self.ranges)], others[len(self.ranges) :]
        last = [int(found[0]["last"]) if found else 0 for found in counted]
        return BatchAnswer(now, keys, ranges, dict(zip(self.counters, last, strict=True)))


class BatchAnswer(NamedTuple):
    """The documents of each part, the numbers that counters gave out last, and the server's time."""

    now: StoreTime | None
    keys: Sequence[list[Document]]
    ranges: Sequence[list[Document]]
    counters: dict[str, int]


class KnownRanges:
    """The first documents of ranges."""

    def __init__(self) -> None:
        self._first: dict[tuple[Index, Key], tuple[int | None, list[Document]]] = {}

    def keep(self, one: Range, most: int | None, documents: list[Document]) -> None:
        assert (one.low, one.high) == (None, None), one
        self._first[one.index, one.equal] = most, documents

    def find(self, wanted: Range, limit: int | None, *, reverse: bool = False) -> list[Document] | None:
        """The first documents of a range, which may be a part of one whose first are known; None where some
        of them may not be known."""
        if not self._first or wanted.low is not None or reverse:
            return None
        prefixes = (wanted.equal[:length] for length in range(len(wanted.equal), -1, -1))
        places = ((wanted.index, prefix) for prefix in prefixes)
        most, documents = next((self._first[one] for one in places if one in self._first), (0, []))
        rows = [to_row(wanted.table, one) for one in documents]
        found = [one for one, row in zip(documents, rows, strict=True) if wanted.covers(row)]
        is_all = most is None or len(documents) < most or (bool(rows) and _is_behind(wanted, rows[-1]))
        return found[:limit] if is_all or (limit is not None and limit <= len(found)) else None


def _is_behind(wanted: Range, row: Row) -> bool:
    """Whether a row comes after all of a range, in the order of its index. No column of both is empty."""
    place = prefix_of(wanted, row)
    return place > wanted.equal or (place == wanted.equal and not wanted.covers(row))


def _part(wanted: Selection, most: int | None = None) -> dict[str, Any]:
    stages: list[Document] = [{"$match": filter_of(wanted)}]
    if isinstance(wanted, Range):
        stages.append({"$sort": dict(order_of(wanted, reverse=False))})
    if most is not None:
        stages.append({"$limit": most})
    return {"coll": wanted.table.name, "pipeline": stages}
