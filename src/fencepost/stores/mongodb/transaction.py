"""One transaction on rows in MongoDB: a snapshot, and what is to be written over it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from bson import ObjectId
from pymongo import DeleteOne, InsertOne, ReturnDocument, UpdateMany, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, PyMongoError
from pymongo.read_concern import ReadConcern

from fencepost.model.clocks import StoreTime
from fencepost.model.table import Key, Keys, Range, Ranges, Row, Selection, Table
from fencepost.model.tables import META
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb.changes import REVISION, change_of, statements
from fencepost.stores.mongodb.documents import (
    Document,
    Filter,
    are_alike,
    are_distinct,
    counted,
    filter_of,
    filter_of_each,
    first_of_each,
    id_of,
    ids_of,
    key_of,
    order_of,
    prefix_of,
    to_document,
    to_row,
)
from fencepost.stores.mongodb.given import GivenFences
from fencepost.stores.mongodb.read_batch import KnownRanges, ReadBatch

RANGES_MAX = 200
"""How many ranges are asked for at once."""
BATCH = 10_000
DUPLICATE_KEY = 11000
COUNTERS, TURNS, SIGNALS = "counters", "turns", "signals"
FENCES = "fences"
SHARES = 16
"""The parts of a turn: those that share it take one, a transaction that wants it alone takes all."""


class Ledger(Protocol):
    """What a transaction needs beside its session. The database is one whose calls are awaited."""

    @property
    def database(self) -> Any: ...

    @property
    def server_time(self) -> Callable[[], Awaitable[StoreTime]]:
        """The primary's clock."""
        ...

    @property
    def given(self) -> GivenFences: ...

    @property
    def is_sharded(self) -> bool:
        """Whether a router is asked, before a sharded cluster."""
        ...


class MongoTransaction:
    """One snapshot, and what is to be written over it. Rows that were seen in it are not asked for again by
    their keys: where another transaction has changed them, this one is not committed."""

    def __init__(
        self,
        rows: Ledger,
        session: Any,
        avoided: set[tuple[Table, Key]],
        in_the_way: Callable[[Table, Sequence[Key]], Awaitable[set[Key]]] | None = None,
    ) -> None:
        self._rows = rows
        self._session = session
        self._avoided = avoided
        self._in_the_way = in_the_way
        self._changed: set[tuple[Table, Key]] = set()
        self._seen: dict[tuple[Table, Key], Document | None] = {}
        self._pending: dict[str, list[Any]] = defaultdict(list)
        self._locked: dict[Table, dict[Key, None]] = defaultdict(dict)
        self._hints: dict[Topic, None] = {}
        self._now: StoreTime | None = None
        self._known = KnownRanges()
        self._last_fence: int | None = None
        self.revision = {REVISION: ObjectId()}
        self._has_begun = False

    async def now(self) -> StoreTime:
        """Asked for once after the snapshot: what is seen in it is not younger."""
        if self._now is None:
            self._now = await self._rows.server_time()
        return self._now

    async def read_batch(self, batch: ReadBatch, *, with_time: bool) -> None:
        """Have all this known before it is asked for, and the time if it is wanted."""
        self._begin()
        meta = self._collection(META)
        found = await meta.aggregate(batch.question(COUNTERS), session=self._session, batchSize=BATCH)
        answer = batch.answer(await found.to_list())
        for wanted, documents in zip(batch.keys, answer.keys, strict=True):
            self._seen |= dict.fromkeys((wanted.table, key) for key in wanted.keys)
            self._noted(wanted.table, documents)
        for (one, most), documents in zip(batch.ranges, answer.ranges, strict=True):
            self._known.keep(one, most, self._noted(one.table, documents))
        self._last_fence = answer.counters.get(FENCES)
        self._now = answer.now if with_time else None

    def assume_absent(self, wanted: Keys) -> None:
        """Do not look for rows that are hardly ever there. Where one is, the server refuses to write it
        again, and the rule runs again."""
        self._seen |= dict.fromkeys((wanted.table, key) for key in wanted.keys)

    async def find(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        if limit == 0:
            return []
        if isinstance(selection, Ranges):
            return await self._find_each(selection.ranges, limit, reverse)
        if isinstance(selection, Keys):
            await self._see(selection)
            known = (self._seen[selection.table, key] for key in sorted(selection.keys, reverse=reverse))
            found = [one for one in known if one is not None][:limit]
        elif (first := self._known.find(selection, limit, reverse=reverse)) is not None:
            found = self._noted(selection.table, first)
        else:
            order = order_of(selection, reverse=reverse)
            found = await self._ask(selection.table, filter_of(selection), sort=order, limit=limit or 0)
        return [to_row(selection.table, one) for one in found]

    async def find_columns(self, one: Range, names: Sequence[str], limit: int) -> list[tuple[Any, ...]]:
        """Only these columns, in which no moments are, of the first rows of a range."""
        await self._flush(one.table.name)
        how = {"sort": order_of(one, reverse=False), "limit": limit, "session": self._session}
        found = self._collection(one.table).find(filter_of(one), {"_id": 0, **dict.fromkeys(names, 1)}, **how)
        return [tuple(map(document.__getitem__, names)) for document in await found.to_list()]

    async def count(self, ranges: Sequence[Range], *, limit: int | None = None) -> list[int]:
        firsts = [first for one in ranges if (first := self._known.find(one, limit)) is not None]
        if len(firsts) == len(ranges):
            return list(map(len, firsts))
        # Neither a transaction nor a router has `$unionWith`.
        parts = 1 if self._session.in_transaction or self._rows.is_sharded else RANGES_MAX
        found = list[int]()
        for start in range(0, len(ranges), parts):
            found += await self._count_each(ranges[start : start + parts], limit)
        return found

    async def _count_each(self, ranges: Sequence[Range], limit: int | None) -> list[int]:
        """By one question, also where they are of several tables."""
        for name in {one.table.name for one in ranges}:
            await self._flush(name)
        (first, looked), *others = enumerate(ranges)
        stages = counted(looked, first, limit)
        stages += [
            {"$unionWith": {"coll": one.table.name, "pipeline": counted(one, place, limit)}}
            for place, one in others
        ]
        answer = await self._collection(looked.table).aggregate(stages, session=self._session)
        rows = {one["place"]: one["rows"] for one in await answer.to_list()}
        return [rows.get(place, 0) for place in range(len(ranges))]

    async def lock(self, selection: Selection, *, limit: int | None = None) -> list[Row]:
        rows = await self.find(selection, limit=limit)
        self._own(selection.table, rows)
        return rows

    async def take(
        self, selection: Selection | Ranges, *, limit: int | None = None, reverse: bool = False
    ) -> list[Row]:
        table = selection.table
        while True:
            rows = await self._find_more(selection, limit, reverse)
            free = [row for row in rows if (table, table.key_of(row)) not in self._avoided]
            free = free[:limit] if isinstance(selection, Range) else free
            if not await self._avoid(table, free):
                break
        self._own(table, free)
        return free

    async def _find_more(self, selection: Selection | Ranges, limit: int | None, reverse: bool) -> list[Row]:
        """Of one range, more by as many as are left out."""
        more = len(self._avoided) if isinstance(selection, Range) and limit is not None else 0
        return await self.find(selection, limit=limit and limit + more, reverse=reverse)

    async def _avoid(self, table: Table, rows: Sequence[Row]) -> bool:
        """Whether some of these rows are in another's hands, and are left out from now on."""
        if self._in_the_way is None:
            return False
        keys = [key for key in map(table.key_of, rows) if (table, key) not in self._changed]
        met = await self._in_the_way(table, keys)
        self._avoided |= {(table, key) for key in met}
        return bool(met)

    async def put_if_absent(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        # A key that is counted here is new in any case.
        numbered = table.brings_serial(rows)
        counted = table.serial in table.key and not numbered
        fresh: dict[Key, Row] = {}
        for values in rows:
            row = table.row(values)
            fresh.setdefault((len(fresh),) if counted else table.key_of(row), row)
        if not counted:
            await self._see(table.among(fresh))
            fresh = {key: row for key, row in fresh.items() if self._seen[table, key] is None}
        written = list(fresh.values())
        if table.serial is not None and written and numbered:
            await self._count_through(table.name, max(row[table.serial] for row in written))
        elif table.serial is not None and written:
            last = await self._count(table.name, len(written))
            for number, row in enumerate(written, last - len(written) + 1):
                row[table.serial] = number
        for row in written:
            document = to_document(table, row) | self.revision
            self._pending[table.name].append(InsertOne(document))
            self._written(table, table.key_of(row), document)
        return written

    async def change(self, table: Table, changes: Iterable[tuple[Row, Mapping[str, Any]]]) -> list[Row]:
        changed = []
        for row, values in changes:
            if values:
                self._change(table, table.key_of(row), values)
            changed.append({**row, **values})
        return changed

    async def delete(self, table: Table, rows: Iterable[Row]) -> None:
        for row in rows:
            key = table.key_of(row)
            self._pending[table.name].append(DeleteOne({"_id": id_of(table, key)}))
            self._written(table, key, None)

    async def fences(self, count: int) -> Sequence[int]:
        if not count:
            return [await self._last_given()]
        before = self._rows.given.last
        self._last_fence = last = await self._count(FENCES, count)
        self._rows.given.note(last, first=last - count + 1, before=before)
        return range(last - count + 1, last + 1)

    async def take_turn(self, name: str, *, shared: bool = False) -> None:
        parts = [random.randrange(SHARES)] if shared else range(SHARES)
        for part in parts:
            self._pending[TURNS].append(
                UpdateOne({"_id": f"{name} {part}"}, {"$inc": {"taken": 1}}, upsert=True)
            )
        await self._flush(TURNS)

    def hint(self, topic: Topic) -> None:
        self._hints[topic] = None

    def written(self, table: Table) -> Mapping[Key, Document | None]:
        """What was changed of a table, as it is then."""
        return {key: self._seen[which, key] for which, key in self._changed if which is table}

    async def flush_all(self) -> None:
        """Send what is left, touch what was locked and left alone, and tell listeners with the commit."""
        for table, keys in self._locked.items():
            if keys:
                touched = UpdateMany({"_id": {"$in": ids_of(table, keys)}}, {"$set": self.revision})
                self._pending[table.name].append(touched)
        for topic in self._hints:
            self._pending[SIGNALS].append(left_for(topic))
        for name in list(self._pending):
            await self._flush(name)

    async def _flush(self, name: str) -> None:
        writes = self._pending.pop(name, None)
        self._begin()
        if writes:
            await self._rows.database[name].bulk_write(statements(writes), session=self._session)

    def _begin(self) -> None:
        """What comes now sees the snapshot. A time that was asked for before it is too old."""
        if not self._has_begun:
            self._has_begun, self._now = True, None

    async def _ask(self, table: Table, wanted: Filter, **how: Any) -> list[Document]:
        await self._flush(table.name)
        found = self._collection(table).find(wanted, session=self._session, **how)
        return self._noted(table, await found.to_list())

    def _noted(self, table: Table, found: list[Document]) -> list[Document]:
        self._seen |= {(table, key_of(table, document)): document for document in found}
        return found

    async def _find_each(self, ranges: Sequence[Range], limit: int | None, reverse: bool) -> list[Row]:
        """Those of several ranges of one index, told apart by their equal columns, in few questions."""
        if len(ranges) < 2 or not are_distinct(ranges):
            return [row for one in ranges for row in await self.find(one, limit=limit, reverse=reverse)]
        table, found = ranges[0].table, dict[Key, list[Row]]()
        for start in range(0, len(ranges), RANGES_MAX):
            # What is found beside these may be cut off by their bounds: it is left to its own part.
            part = ranges[start : start + RANGES_MAX]
            asked: dict[Key, list[Row]] = {one.equal: [] for one in part}
            for document in await self._ask_each(part, limit, reverse):
                row = to_row(table, document)
                asked.get(prefix_of(part[0], row), []).append(row)
            found |= asked
        return [row for one in ranges for row in within(one, found[one.equal])[:limit]]

    async def _ask_each(self, ranges: Sequence[Range], limit: int | None, reverse: bool) -> list[Document]:
        """All of them at once. Where that may be many and few are wanted of each, range by range."""
        table, order = ranges[0].table, order_of(ranges[0], reverse=reverse)
        most = 0 if limit is None else len(ranges)
        found = await self._ask(table, filter_of_each(ranges), sort=order, limit=most, batch_size=BATCH)
        if limit is None or len(found) < most:
            return found
        # Before 8.0 a router refuses to look up in a sharded collection within a transaction.
        if self._rows.is_sharded or not are_alike(ranges):
            each = [await self._ask(table, filter_of(one), sort=order, limit=limit) for one in ranges]
            return [document for found in each for document in found]
        firsts = first_of_each(ranges, limit, reverse=reverse)
        answer = await self._rows.database.aggregate(firsts, session=self._session, batchSize=BATCH)
        return self._noted(table, [document for each in await answer.to_list() for document in each["found"]])

    async def _see(self, wanted: Keys) -> None:
        """Have these rows been seen, or known not to be there."""
        new = tuple(key for key in wanted.keys if (wanted.table, key) not in self._seen)
        if new:
            self._seen |= dict.fromkeys((wanted.table, key) for key in new)
            await self._ask(wanted.table, filter_of(Keys(wanted.table, new)))

    async def _last_given(self) -> int:
        """The last fence that was given out: it was read just now, or is. A majority confirms that this is
        its primary, which may not know yet what the one before has given out."""
        if self._last_fence is None:
            counters = self._rows.database[COUNTERS].with_options(read_concern=ReadConcern("linearizable"))
            found = await counters.find_one({"_id": FENCES})
            self._last_fence = 0 if found is None else int(found["last"])
        return self._last_fence

    async def _count(self, name: str, by: int) -> int:
        """The last number that a counter has given out, after it has given out that many more."""
        found = await self._rows.database[COUNTERS].find_one_and_update(
            {"_id": name}, {"$inc": {"last": by}}, upsert=True, return_document=ReturnDocument.AFTER
        )
        return int(found["last"])

    async def _count_through(self, name: str, number: int) -> None:
        """Give out no number of a counter again up to this one."""
        counters = self._rows.database[COUNTERS]
        await counters.update_one({"_id": name}, {"$max": {"last": number}}, upsert=True)

    def _own(self, table: Table, rows: Sequence[Row]) -> None:
        self._locked[table] |= dict.fromkeys(map(table.key_of, rows))

    def _change(self, table: Table, key: Key, values: Mapping[str, Any]) -> None:
        document = self._seen[table, key]
        assert document is not None
        change, after = change_of(table, key, document, values, self.revision)
        if len(change.values) > len(self.revision) or change.gone:
            self._pending[table.name].append(change)
            self._written(table, key, after)

    def _written(self, table: Table, key: Key, document: Document | None) -> None:
        self._seen[table, key] = document
        self._changed.add((table, key))
        self._locked[table].pop(key, None)

    def _collection(self, table: Table) -> Any:
        return self._rows.database[table.name]


def within(one: Range, rows: Sequence[Row]) -> Sequence[Row]:
    """Those between the bounds of a range."""
    return [row for row in rows if one.covers(row)] if one.low or one.high else rows


def left_for(topic: Topic) -> UpdateOne:
    """A new document, with the server's time, by which it is removed some day."""
    said = {"$set": {"topic": topic.value}, "$currentDate": {"at": True}}
    return UpdateOne({"_id": ObjectId()}, said, upsert=True)


def is_conflict(error: PyMongoError) -> bool:
    """Whether another transaction is in the way, so that the rule may run again."""
    duplicate = isinstance(error, DuplicateKeyError) or (
        isinstance(error, BulkWriteError)
        and any(one["code"] == DUPLICATE_KEY for one in error.details["writeErrors"])
    )
    return duplicate or error.has_error_label("TransientTransactionError")
