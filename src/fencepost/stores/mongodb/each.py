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
from typing import Any, NoReturn, TypeVar

import pymongo
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import OperationFailure

from fencepost.drivers.mongodb.calls import begun
from fencepost.errors import StoreUnavailable
from fencepost.model.table import Key, Keys, Range, Ranges, Row, Selection, Table
from fencepost.model.tables import RUNS
from fencepost.ports.rows import Rule
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb.begun import BegunRuns
from fencepost.stores.mongodb.changes import Change, change_of, together
from fencepost.stores.mongodb.documents import Document, has_entry, key_of
from fencepost.stores.mongodb.rows import SNAPSHOT_UNAVAILABLE, MongoRows
from fencepost.stores.mongodb.transaction import MongoTransaction

T = TypeVar("T")
WAIT_MAX_S = 4.0
"""How long a change may wait for a transaction that has its document."""
REST_S = 10.0
"""After such a wait: for so long all rules run in transactions, which pass by documents that others have."""


class Together(Exception):
    """The rule needs a transaction; nothing was written."""


class Overtaken(Exception):
    """Some documents had changed since they were seen, and were left as they are."""

    def __init__(self, result: Any, keys: set[Key]) -> None:
        self.result = result
        """What the rule came to, as if it had written all."""
        self.keys = keys


class EachRows:
    """See `ports.rows`; `write` raises `Together` and `Overtaken`. A rule that changes nothing needs its
    locks where it answers by them: a new primary may show what is older than was acknowledged. One that looks
    again later may do without."""

    def __init__(self, rows: MongoRows, *, may_only_look: bool = False) -> None:
        self._rows = rows
        self._may_only_look = may_only_look
        self._rests_until = 0.0
        self.has_servers_clock = rows.has_servers_clock

    async def read(self, rule: Rule[T]) -> T:
        return await self._rows.read(rule)

    async def write(self, rule: Rule[T]) -> T:
        asked_at = asyncio.get_running_loop().time()
        if asked_at < self._rests_until:
            raise Together
        try:
            result, hints, lost = await self._rows.ask(self._write(rule))
        except StoreUnavailable:
            now = asyncio.get_running_loop().time()
            self._rests_until = now + REST_S if now - asked_at >= WAIT_MAX_S else 0.0
            raise
        await self._rows.tell(hints)
        if lost:
            raise Overtaken(result, lost)
        return result

    async def _write(self, rule: Rule[T]) -> tuple[T, Iterable[Topic], set[Key]]:
        async with await self._rows.session(snapshot=True) as session:
            transaction = EachTransaction(
                self._rows, session, self._rows.begun, may_only_look=self._may_only_look
            )
            try:
                result = await rule(transaction)
            except OperationFailure as error:
                raise Together if error.code == SNAPSHOT_UNAVAILABLE else error from error
        lost, changes = set[Key](), transaction.changes()
        if changes:
            with pymongo.timeout(WAIT_MAX_S):
                done = await self._collection(changes).bulk_write(
                    together(changes, as_seen=True), ordered=False
                )
            if done.matched_count < len(changes):
                lost = await self._lost(changes)
            else:
                self._rows.begun.keep(transaction.written(RUNS))
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

    def __init__(
        self, rows: MongoRows, session: AsyncClientSession, known: BegunRuns, *, may_only_look: bool
    ) -> None:
        super().__init__(rows, session, set())
        self._begun = known
        self._may_only_look = may_only_look
        self._changes: dict[tuple[Table, Key], Change] = {}
        self._drawn: asyncio.Task[Sequence[int]] | None = None

    def hints(self) -> Iterable[Topic]:
        return self._hints

    def changes(self) -> Sequence[Change]:
        """What is to be written. A row that was locked and left alone needs a transaction."""
        changes = list(self._changes.values())
        if self._may_only_look and not changes:
            return []
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

    def draw_fence(self) -> None:
        """Have the next fence drawn while other questions are asked."""
        self._drawn = begun(super().fences(1))

    async def fences(self, count: int) -> Sequence[int]:
        drawn, self._drawn = self._drawn, None
        return await drawn if drawn is not None and count == 1 else await super().fences(count)

    def _change(self, table: Table, key: Key, values: Mapping[str, Any]) -> None:
        """A fence may have been drawn before the snapshot, and another attempt of the run have one since."""
        document = self._seen[table, key]
        if (table, key) in self._changes or document is None:
            _together()
        if "fence" in values and values["fence"] <= document["fence"]:
            _together()
        change, after = change_of(table, key, document, values, self.revision)
        self._changes[table, key] = change
        self._written(table, key, after)

    async def _see(self, wanted: Keys) -> None:
        if wanted.table is RUNS:
            new = [key for key in wanted.keys if (RUNS, key) not in self._seen]
            self._seen |= {(RUNS, key): one for key, one in self._begun.take(new)}
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


def _together() -> NoReturn:
    raise Together
