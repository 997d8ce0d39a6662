"""Rows that are changed each by itself. What a worker claims, and what it reports, are changes of single runs
that do not depend on each other: a transaction around them would promise what nothing needs, and costs the
server more than twice as much. Nor does a rule need one that changes a single row, or none.

The rule is the same. It reads one snapshot, and its changes are sent in one request: each is carried out
where the document is still as the rule saw it, by its revision. A rule that does anything else is refused
(`Together`) before anything is written, and runs in a transaction then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import pymongo
from bson import ObjectId
from pymongo import UpdateMany, UpdateOne
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure

from fencepost.errors import StoreUnavailable
from fencepost.model.table import Key, Keys, Range, Ranges, Row, Selection, Table
from fencepost.model.tables import RUNS
from fencepost.ports.rows import Rule
from fencepost.ports.signals import Topic
from fencepost.rules.runs import RUNNING
from fencepost.stores.mongodb.documents import Document, change_of, has_entry, key_of
from fencepost.stores.mongodb.rows import SNAPSHOT_UNAVAILABLE, MongoRows
from fencepost.stores.mongodb.transaction import REVISION, MongoTransaction

T = TypeVar("T")
WAIT_MAX_S = 4.0
"""How long a change may wait for a transaction that has its document."""
REST_S = 10.0
"""After such a wait: for so long all rules run in transactions, which pass by documents that others have."""
KEPT_MAX, PAYLOAD_MAX = 1_000, 4_096
"""How many runs are remembered from their claim to their report, and how long their payloads are at most."""
STATEMENT_MAX = 25
"""How many documents one statement changes: the server looks for the place of each among all."""


class Together(Exception):
    """The rule needs a transaction; nothing was written."""


class Overtaken(Exception):
    """Some documents had changed since they were seen, and were left as they are."""

    def __init__(self, result: Any, keys: set[Key]) -> None:
        self.result = result
        """What the rule came to, as if it had written all."""
        self.keys = keys


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
        """What it has in common with others that one statement can change."""
        return self.key[0], tuple(self.values), self.gone

    def was_written(self, document: Document | None) -> bool:
        """Whether this is what came of it. A fence is given out once: who has it was begun by this change,
        whatever came after."""
        if document is None:
            return False
        if "fence" in self.values:
            return bool(document["fence"] == self.values["fence"])
        return self.values.items() <= document.items()


class EachRows:
    """See `ports.rows`; `write` raises `Together` and `Overtaken`."""

    def __init__(self, rows: MongoRows) -> None:
        self._rows = rows
        self._rests_until = 0.0
        self._begun = _Latest()

    async def read(self, rule: Rule[T]) -> T:
        return await self._rows.read(rule)

    async def write(self, rule: Rule[T]) -> T:
        begun = asyncio.get_running_loop().time()
        if begun < self._rests_until:
            raise Together
        try:
            result, hints, lost = await self._rows.ask(self._write(rule))
        except StoreUnavailable:
            now = asyncio.get_running_loop().time()
            self._rests_until = now + REST_S if now - begun >= WAIT_MAX_S else 0.0
            raise
        await self._rows.tell(hints)
        if lost:
            raise Overtaken(result, lost)
        return result

    async def _write(self, rule: Rule[T]) -> tuple[T, Iterable[Topic], set[Key]]:
        async with await self._rows.session(snapshot=True) as session:
            transaction = EachTransaction(self._rows, session, self._begun)
            try:
                result = await rule(transaction)
            except OperationFailure as error:
                raise Together if error.code == SNAPSHOT_UNAVAILABLE else error from error
        lost, changes = set[Key](), transaction.changes()
        if changes:
            with pymongo.timeout(WAIT_MAX_S):
                done = await self._collection(changes).bulk_write(together(changes), ordered=False)
            if done.matched_count < len(changes):
                lost = await self._lost(changes)
            else:
                self._begun.keep(transaction.running())
        return result, transaction.hints(), lost

    async def _lost(self, changes: Sequence[Change]) -> set[Key]:
        """Those that are not as they were to be: others were faster."""
        wanted = {"_id": {"$in": [one.id for one in changes]}}
        found = await self._collection(changes).find(wanted).to_list()
        there = {key_of(changes[0].table, document): document for document in found}
        return {one.key for one in changes if not one.was_written(there.get(one.key))}

    def _collection(self, changes: Sequence[Change]) -> AsyncCollection[Document]:
        return self._rows.database[changes[0].table.name]


class EachTransaction(MongoTransaction):
    """A snapshot, and changes of runs, or of one other row, that were seen in it."""

    def __init__(self, rows: MongoRows, session: AsyncClientSession, known: _Latest) -> None:
        super().__init__(rows, session, set())
        self._known = known
        self._changes: dict[tuple[Table, Key], Change] = {}

    def hints(self) -> Iterable[Topic]:
        return self._hints

    def running(self) -> Mapping[Key, Document]:
        """The runs that were begun."""
        after = ((key, self._seen[table, key]) for table, key in self._changes if table is RUNS)
        return {key: one for key, one in after if one is not None and _is_kept(one)}

    def changes(self) -> Sequence[Change]:
        """What is to be written. A row that was locked and left alone needs a transaction."""
        changes = list(self._changes.values())
        alone = len(changes) == 1 or all(one.table is RUNS for one in changes)
        return changes if alone and not any(self._locked.values()) else _together()

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        return _together() if rows else []

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        if list(rows):
            _together()

    async def count(self, ranges: Sequence[Range], *, limit: int | None = None) -> list[int]:
        return _together() if ranges else []

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        _together()

    def _change(self, table: Table, key: Key, values: Mapping[str, Any]) -> None:
        document = self._seen[table, key]
        if (table, key) in self._changes or document is None:
            _together()
        update, after = change_of(table, document, values)
        new = {name: value for name, value in update["$set"].items() if document.get(name) != value}
        gone, values = tuple(update.get("$unset", ())), new | self.revision
        seen = document["_id"], document.get(REVISION)
        self._changes[table, key] = Change(table, key, *seen, values, gone)
        self._written(table, key, after | self.revision)

    async def _see(self, wanted: Keys) -> None:
        if wanted.table is RUNS:
            new = [key for key in wanted.keys if (RUNS, key) not in self._seen]
            self._seen |= {(RUNS, key): one for key, one in self._known.take(new)}
        await super()._see(wanted)

    async def find(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        """The server does not know of the changes. So a rule that looks where they show needs a
        transaction."""
        first = selection.ranges[0] if isinstance(selection, Ranges) and selection.ranges else selection
        if isinstance(first, Range):
            after = (self._seen[changed] for changed in self._changes if changed[0] is first.table)
            if any(document is not None and has_entry(document, first.index) for document in after):
                _together()
        return await super().find(selection, limit=limit, reverse=reverse)

    def _noted(self, table: Table, found: list[Document]) -> list[Document]:
        if self._changes and any((table, key_of(table, one)) in self._changes for one in found):
            _together()
        return super()._noted(table, found)

    async def _flush(self, name: str) -> None:
        """Nothing is written before the end."""
        self._begin()


class _Latest:
    """The runs that were begun last, as they were written. One that was changed since has another revision:
    what is written over it is lost."""

    def __init__(self) -> None:
        self._documents: dict[Key, Document] = {}

    def keep(self, documents: Mapping[Key, Document]) -> None:
        self._documents |= documents
        for key in list(self._documents)[:-KEPT_MAX]:
            del self._documents[key]

    def take(self, keys: Iterable[Key]) -> list[tuple[Key, Document]]:
        found = ((key, self._documents.pop(key, None)) for key in keys)
        return [(key, document) for key, document in found if document is not None]


def together(changes: Iterable[Change]) -> list[UpdateOne | UpdateMany]:
    """One statement for many documents that get values in the same fields: the server reads and plans it
    once. Where values differ it has them in a list, each in the place of its document."""
    kinds: dict[Any, list[Change]] = {}
    for one in changes:
        kinds.setdefault(one.kind, []).append(one)
    return [
        _of_one_kind(alike[start : start + STATEMENT_MAX])
        for alike in kinds.values()
        for start in range(0, len(alike), STATEMENT_MAX)
    ]


def _of_one_kind(changes: Sequence[Change]) -> UpdateOne | UpdateMany:
    first, ids = changes[0], [one.id for one in changes]
    if len(changes) == 1:
        gone = {"$unset": dict.fromkeys(first.gone, "")} if first.gone else {}
        return UpdateOne({"_id": first.id, REVISION: first.revision}, {"$set": first.values, **gone})
    place = {"$indexOfArray": [{"$literal": [one.key[1] for one in changes]}, "$run_key"]}
    values = {name: _value([one.values[name] for one in changes], place) for name in first.values}
    stages: list[Document] = [{"$set": values}, *([{"$unset": list(first.gone)}] if first.gone else ())]
    there = {"$ifNull": [f"${REVISION}", None]}
    as_seen = {"$eq": [there, _value([one.revision for one in changes], place)]}
    return UpdateMany({"_id": {"$in": ids}, "$expr": as_seen}, stages)


def _value(values: Sequence[Any], place: Any) -> Document:
    """What a field has: the same in all documents, or what is in the document's place."""
    same = all(one == values[0] for one in values)
    return {"$literal": values[0]} if same else {"$arrayElemAt": [{"$literal": values}, place]}


def _together() -> NoReturn:
    raise Together


def _is_kept(run: Document) -> bool:
    return run["state"] == RUNNING and len(run["payload"] or "") <= PAYLOAD_MAX
