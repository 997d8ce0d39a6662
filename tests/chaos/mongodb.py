"""A ledger on MongoDB as a drill sees it: past all code of the store but the form of its documents.

The drill's questions are SQL: the rows that one is about are put into a table in memory. What happens to runs
and epochs is told by a change stream with the documents before and after, once a majority has it; the stream
goes on where it was when the primary is lost.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import apsw
from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from fencepost.model.tables import EPOCHS, RUNS, TABLES
from fencepost.stores.mongodb.documents import to_row
from fencepost.stores.sqlite.moments import fetch, to_us

PATIENCE_S = 120.0
AGAIN_S = 0.2
ASKED = re.compile(r"FROM \{0\}(\w+)")
BY_NAME = {table.name: table for table in TABLES}
MARKS = "chaos_marks"
BEATS = {"alive_until"}
"""What a heartbeat changes of a run."""

Note = dict[str, Any]


class Mirror:
    """The runs as the change stream has told of them: to read them all for each question takes too long."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._copy = apsw.Connection(":memory:")
        self._copy.execute(
            f"CREATE TABLE runs ({', '.join(RUNS.columns)}, PRIMARY KEY ({', '.join(RUNS.key)}))"
        )

    def put(self, document: Mapping[str, Any]) -> None:
        marks = ", ".join("?" * len(RUNS.columns))
        with self._turn:
            self._copy.execute(
                f"INSERT OR REPLACE INTO runs VALUES ({marks})", [document[name] for name in RUNS.columns]
            )

    def ask(self, sql: str, moments: Sequence[datetime]) -> Sequence[Mapping[str, Any]]:
        with self._turn:
            return list(fetch(self._copy.execute(sql.format(""), [to_us(one) for one in moments])))


class MongoLedger:
    """See `ledgers.Ledger`; asked until it answers."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.runs = Mirror()
        self._client = MongoClient[dict[str, Any]](url)
        self._database = self._client.get_default_database(
            read_concern=ReadConcern("majority"), write_concern=WriteConcern("majority")
        )

    async def query(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return await asyncio.to_thread(self._ask, sql, moments)
            except PyMongoError:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(AGAIN_S)

    async def is_locked(self) -> bool:
        """Never: rows are locked there, and for a while only."""
        return False

    async def close(self) -> None:
        self._client.close()

    def _ask(self, sql: str, moments: Sequence[datetime]) -> Sequence[Mapping[str, Any]]:
        asked = ASKED.search(sql)
        assert asked is not None, sql
        if asked[1] == RUNS.name:
            return self.runs.ask(sql, moments)
        table = BY_NAME[asked[1]]
        columns = [one for one in table.columns if sql.startswith("SELECT *") or one in sql]
        found = self._database[table.name].find({}, dict.fromkeys(columns, 1))
        with closing(apsw.Connection(":memory:")) as copy:
            copy.execute(f"CREATE TABLE {table.name} ({', '.join(columns) or 'nothing'})")
            marks = ", ".join("?" * max(len(columns), 1))
            rows = [[one[name] for name in columns] or [None] for one in found]
            copy.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)
            return list(fetch(copy.execute(sql.format(""), [to_us(one) for one in moments])))


class MongoSource:
    """See `recording.Source`: notes are kept in this process."""

    def __init__(self, ledger: MongoLedger) -> None:
        self._ledger = ledger
        self._client = MongoClient[dict[str, Any]](ledger.url)
        self._database = self._client.get_default_database(write_concern=WriteConcern("majority"))
        self._notes: list[Note] = []
        self._marks = 0
        self._failure: Exception | None = None
        self._is_open, self._is_over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._record, daemon=True)

    def start(self) -> None:
        """Have every change noted, from now on."""
        there = self._database.list_collection_names()
        for name in (RUNS.name, EPOCHS.name, MARKS):
            if name not in there:
                self._database.create_collection(name)
            self._database.command("collMod", name, changeStreamPreAndPostImages={"enabled": True})
        self._thread.start()
        assert self._is_open.wait(PATIENCE_S)

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        self._client.close()

    async def rows(self, sql: str) -> Sequence[Mapping[str, Any]]:
        return await self._ledger.query(sql)

    async def changes_after(self, seq: int) -> Sequence[Mapping[str, Any]]:
        if seq == 0:
            await asyncio.to_thread(self._catch_up)
        return self._notes[seq:]

    def parsed(self, text: Any) -> Mapping[str, Any]:
        """A note is a row already; what the row of a table does not have is empty."""
        return defaultdict(lambda: None, text)

    def _catch_up(self) -> None:
        """Until a mark that is written now has been told of."""
        wanted = self._marks + 1
        self._database[MARKS].insert_one({})
        deadline = time.monotonic() + PATIENCE_S
        while self._marks < wanted:
            assert self._failure is None, self._failure
            assert time.monotonic() < deadline, "the change stream does not catch up"
            time.sleep(0.05)

    def _record(self) -> None:
        try:
            self._follow()
        except Exception as error:
            self._failure = error

    def _follow(self) -> None:
        """The driver resumes the stream by itself; where there is no primary for long it is opened again."""
        about = [{"$match": {"ns.coll": {"$in": [RUNS.name, EPOCHS.name, MARKS]}}}]
        how: dict[str, Any] = {"full_document": "required", "full_document_before_change": "required"}
        token = None
        while not self._is_over.is_set():
            try:
                with self._database.watch(about, max_await_time_ms=500, resume_after=token, **how) as stream:
                    self._is_open.set()
                    while not self._is_over.is_set():
                        if (event := stream.try_next()) is not None:
                            self._note(event)
                        token = stream.resume_token
            except PyMongoError as error:
                if not error.timeout and not error.has_error_label("ResumableChangeStreamError"):
                    raise
            time.sleep(AGAIN_S)

    def _note(self, event: Mapping[str, Any]) -> None:
        name = event["ns"]["coll"]
        if name == MARKS:
            self._marks += 1
            return
        before, after = event.get("fullDocumentBeforeChange"), event.get("fullDocument")
        old = None if before is None else to_row(BY_NAME[name], before)
        new = None if after is None else to_row(BY_NAME[name], after)
        if old == new:
            return
        if name == RUNS.name and after is not None:
            self._ledger.runs.put(after)
        kind = "epoch" if name == EPOCHS.name else _kind(old, new)
        self._notes.append(
            {
                "seq": len(self._notes) + 1,
                "at": event["wallTime"].replace(tzinfo=UTC),
                "place": f"{event.get('lsid')} {event.get('txnNumber')}",
                "kind": kind,
                "old": old if kind == "run" else None,
                "content": new or old,
            }
        )


class Followed(MongoLedger):
    """A ledger whose runs are followed for as long as it is open."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._source = MongoSource(self)
        self._source.start()

    async def query(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        await self._source.changes_after(0)
        return await super().query(sql, *moments)

    async def close(self) -> None:
        await asyncio.to_thread(self._source.close)
        await super().close()


def _kind(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    if new is None:
        return "pruned"
    if old is None or {name for name in new if new[name] != old[name]} - BEATS:
        return "run"
    return "pulse"
