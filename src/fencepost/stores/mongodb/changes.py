"""Changes of documents, and the statements that make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from bson import ObjectId
from pymongo import UpdateMany, UpdateOne

from fencepost.model.table import Key, Table
from fencepost.model.tables import RUNS
from fencepost.stores.mongodb.documents import Document, Filter, encoded, entries_of, fields_of

REVISION = "revision_"
"""What every transaction that writes or locks a document leaves in it, each another."""
STATEMENT_MAX = 25
"""How many documents one statement changes: the server looks for the place of each among all."""

Statement: TypeAlias = UpdateOne | UpdateMany


class Change(NamedTuple):
    """What becomes of one document, if it has this revision."""

    table: Table
    key: Key
    id: Document
    revision: ObjectId | None
    values: Document
    gone: tuple[str, ...]

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it has in common with others that one statement can change: runs are told apart in it."""
        return (self.key[0], tuple(self.values), self.gone) if self.table is RUNS else self.key

    def was_written(self, document: Document | None) -> bool:
        """Whether this is what came of it. A fence is given out once: who has it was begun by this change,
        whatever came after."""
        if document is None:
            return False
        if "fence" in self.values:
            return bool(document["fence"] == self.values["fence"])
        return self.values.items() <= document.items()


def change_of(
    table: Table, key: Key, document: Document, values: Mapping[str, Any], revision: Document
) -> tuple[Change, Document]:
    """What gives a row new values and puts it into the indexes that it is in then, and the document after
    it."""
    new = encoded(table, values)
    entries = entries_of(table, document | new)
    moved = {name: value for name, value in (new | entries).items() if document.get(name) != value}
    gone = tuple(field for field in fields_of(table) if field in document and field not in entries)
    after = {name: value for name, value in (document | moved | revision).items() if name not in gone}
    change = Change(table, key, document["_id"], document.get(REVISION), moved | revision, gone)
    return change, after


def statements(pending: Iterable[Any]) -> list[Any]:
    """What writes all this in its order; changes of different documents one after the other go together."""
    found, group = list[Any](), dict[Key, Change]()
    for one in pending:
        if not isinstance(one, Change) or one.key in group:
            found += together(group.values())
            group = {}
        if isinstance(one, Change):
            group[one.key] = one
        else:
            found.append(one)
    return [*found, *together(group.values())]


def together(changes: Iterable[Change], *, as_seen: bool = False) -> list[Statement]:
    """One statement for many documents that get values in the same fields: the server reads and plans it
    once. Where values differ it has them in a list, each in the place of its document. Or only those are
    changed that are `as_seen`, by their revision."""
    kinds: dict[Any, list[Change]] = {}
    for one in changes:
        kinds.setdefault(one.kind, []).append(one)
    return [
        _of_one_kind(alike[start : start + STATEMENT_MAX], as_seen)
        for alike in kinds.values()
        for start in range(0, len(alike), STATEMENT_MAX)
    ]


def _of_one_kind(changes: Sequence[Change], as_seen: bool) -> Statement:
    first = changes[0]
    if len(changes) == 1:
        gone = {"$unset": dict.fromkeys(first.gone, "")} if first.gone else {}
        seen = {REVISION: first.revision} if as_seen else {}
        return UpdateOne({"_id": first.id, **seen}, {"$set": first.values, **gone})
    place = {"$indexOfArray": [{"$literal": [one.key[1] for one in changes]}, "$run_key"]}
    values = {name: _value([one.values[name] for one in changes], place) for name in first.values}
    stages: list[Document] = [{"$set": values}, *([{"$unset": list(first.gone)}] if first.gone else ())]
    wanted: Filter = {"_id": {"$in": [one.id for one in changes]}}
    if as_seen:
        there = {"$ifNull": [f"${REVISION}", None]}
        wanted["$expr"] = {"$eq": [there, _value([one.revision for one in changes], place)]}
    return UpdateMany(wanted, stages)


def _value(values: Sequence[Any], place: Any) -> Document:
    """What a field has: the same in all documents, or what is in the document's place."""
    same = all(one == values[0] for one in values)
    return {"$literal": values[0]} if same else {"$arrayElemAt": [{"$literal": values}, place]}
