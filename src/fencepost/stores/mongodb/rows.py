"""Rows in MongoDB. Transactions are optimistic: each sees one snapshot, and what it locked or changed must be
as it was there, or the server refuses to commit and the rule runs again.

So a lock costs nothing until the end: a row that was locked and not changed is touched then. Another
transaction that changed it since the snapshot, or is about to, is in the way; to wait for a lock is to try
again. `take` does not wait: from the third try on it tries each row by itself, and leaves out those that are
in the way. Writes are gathered, and sent before the next look at their table and before the commit.

Fences and serial numbers are counted outside of the transaction: one that is not used is lost.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from contextvars import Context
from datetime import UTC
from typing import Any, TypeVar

import pymongo
from bson import ObjectId
from pymongo import AsyncMongoClient
from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from fencepost.drivers.mongodb.address import Target
from fencepost.drivers.mongodb.calls import in_time
from fencepost.drivers.mongodb.faults import translated
from fencepost.errors import StoreUnavailable
from fencepost.model.clocks import StoreTime
from fencepost.model.table import Key, Table
from fencepost.model.tables import RUNS
from fencepost.ports.rows import Rule
from fencepost.ports.signals import Topic
from fencepost.stores.mongodb.begun import BegunRuns
from fencepost.stores.mongodb.changes import REVISION
from fencepost.stores.mongodb.documents import Document, id_of
from fencepost.stores.mongodb.given import GivenFences
from fencepost.stores.mongodb.sharding import catch_up, shard_time
from fencepost.stores.mongodb.transaction import SIGNALS, MongoTransaction, is_conflict, left_for

T = TypeVar("T")
MAJORITY = WriteConcern(w="majority", j=True)
SNAPSHOT = ReadConcern("snapshot")
REQUEST_TIMEOUT_S = 12.0
"""How long a call may take at most."""
DRIVER_TIMEOUT_S = 10.0
"""How long the driver may look for a primary, wait, and try again."""
TRIES_MAX = 200
TRIES_BLIND = 2
"""How often `take` tries all rows at once, before it tries each by itself."""
PAUSE_MAX_S = 0.05
COMMITS_MAX = 5
ABORT_TIMEOUT_S = 2.0
SNAPSHOT_UNAVAILABLE = 246
PROBES_MAX = 16
"""How many rows are tried side by side."""


class InTheWay(Exception):
    """Another transaction has changed, or is changing, what this one depends on."""


class MongoRows:
    """See `ports.rows`."""

    def __init__(
        self,
        client: AsyncMongoClient[Document],
        target: Target,
        server_time: Callable[[], Awaitable[StoreTime]] | None = None,
    ) -> None:
        self.database: AsyncDatabase[Document] = client.get_database(
            target.database, write_concern=MAJORITY, read_concern=ReadConcern("majority")
        )
        self._client = client
        self._target = target
        self.server_time = server_time or self._server_time
        self.has_servers_clock = server_time is None
        self.is_sharded = False
        self.begun = BegunRuns()
        self.given = GivenFences()

    async def session(self, *, snapshot: bool = False) -> AsyncClientSession:
        """A session for a rule, or one that sees one moment and cannot write."""
        if self.is_sharded:
            await catch_up(self.database)
        return self._client.start_session(snapshot=snapshot)

    async def read(self, rule: Rule[T]) -> T:
        return await self.ask(self._read(rule))

    async def write(self, rule: Rule[T]) -> T:
        return await self.ask(self._write(rule))

    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Some work of the driver, which no cancellation interrupts; it ends by its own limit."""
        with translated(self._target), pymongo.timeout(DRIVER_TIMEOUT_S):
            return await in_time(work, REQUEST_TIMEOUT_S)

    async def tell(self, topics: Iterable[Topic]) -> None:
        """Leave hints outside of a transaction. One that is lost is made up for by the listeners' next
        look."""
        if said := [left_for(one) for one in topics]:
            with suppress(StoreUnavailable):
                await self.ask(self.database[SIGNALS].bulk_write(said))

    async def _read(self, rule: Rule[T]) -> T:
        """Again where the server has no snapshot just now: a collection or an index is being made."""
        for number in range(TRIES_MAX):
            try:
                async with await self.session(snapshot=True) as session:
                    return await rule(MongoTransaction(self, session, set()))
            except OperationFailure as error:
                if error.code != SNAPSHOT_UNAVAILABLE:
                    raise
            await pause(number)
        raise StoreUnavailable(f"store {self._target.address.shown}: it had no snapshot all the time")

    async def _write(self, rule: Rule[T]) -> T:
        avoided, end = set[tuple[Table, Key]](), asyncio.get_running_loop().time() + DRIVER_TIMEOUT_S
        for number in range(TRIES_MAX):
            try:
                return await self._try(rule, avoided, careful=number >= TRIES_BLIND)
            except InTheWay:
                if asyncio.get_running_loop().time() > end:
                    break
                await pause(number)
        raise StoreUnavailable(f"store {self._target.address.shown}: others were in the way all the time")

    async def _server_time(self) -> StoreTime:
        """The primary's clock."""
        if self.is_sharded:
            return await shard_time(self.database)
        hello = await self._client.admin.command("hello")
        return StoreTime(hello["localTime"].replace(tzinfo=UTC))

    async def _try(self, rule: Rule[T], avoided: set[tuple[Table, Key]], *, careful: bool) -> T:
        async with await self.session() as session:
            await session.start_transaction(read_concern=SNAPSHOT, write_concern=MAJORITY)
            transaction = MongoTransaction(self, session, avoided, self._in_the_way if careful else None)
            try:
                result = await rule(transaction)
                await transaction.flush_all()
            except BaseException as error:
                await abort(session)
                if isinstance(error, PyMongoError) and is_conflict(error):
                    raise InTheWay from error
                raise
            await commit(session)
            self.begun.keep(transaction.written(RUNS))
            return result

    async def _in_the_way(self, table: Table, keys: Sequence[Key]) -> set[Key]:
        """Those rows that another transaction is changing: each is tried by itself."""
        turn = asyncio.Semaphore(PROBES_MAX)

        async def is_free(key: Key) -> bool:
            async with turn:
                return await self._is_free(table, key)

        free = await asyncio.gather(*map(is_free, keys))
        return {key for key, is_one in zip(keys, free, strict=True) if not is_one}

    async def _is_free(self, table: Table, key: Key) -> bool:
        async with self._client.start_session() as session:
            await session.start_transaction()
            try:
                which, touched = {"_id": id_of(table, key)}, {"$set": {REVISION: ObjectId()}}
                await self.database[table.name].update_one(which, touched, session=session)
            except PyMongoError as error:
                if not is_conflict(error):
                    raise
                return False
            finally:
                await abort(session)
            return True


async def pause(number: int) -> None:
    """Before the next try, for longer after each."""
    await asyncio.sleep(random.uniform(0, min(0.001 * 2**number, PAUSE_MAX_S)))


async def abort(session: AsyncClientSession) -> None:
    """Also where the time of what failed is over: what it has locked would stay so for a minute or more."""
    if session.in_transaction:
        with suppress(PyMongoError, TimeoutError):
            await in_time(_abort(session), ABORT_TIMEOUT_S, Context())


async def _abort(session: AsyncClientSession) -> None:
    with pymongo.timeout(ABORT_TIMEOUT_S):
        await session.abort_transaction()


async def commit(session: AsyncClientSession) -> None:
    """Wait until the server says whether it is committed: to ask again does no harm. Without an answer the
    caller is not told that it was."""
    for number in range(COMMITS_MAX):
        try:
            await session.commit_transaction()
        except PyMongoError as error:
            if error.has_error_label("UnknownTransactionCommitResult") and number < COMMITS_MAX - 1:
                continue
            if is_conflict(error):
                raise InTheWay from error
            raise
        return
