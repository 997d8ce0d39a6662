"""One migration after another on a ledger that others work on.

Migrators take turns by an advisory lock of a session that does nothing else and ends with its process. No
migrator waits inside a statement for the turn, and none stays in a transaction: a concurrent build waits for
every transaction that has a snapshot.

A transaction waits for the locks of its tables only briefly, gives up and tries again: every lease and claim
queues behind such a wait. An index is built or dropped concurrently. Nothing queues behind that, so it may
wait as long as it must. A build that was cut off leaves an index that is not valid, or a server that still
builds it. What is being built is waited for; what is not valid then is dropped and built again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import asyncpg

from fencepost.errors import StoreUnavailable
from fencepost.model.migration_progress import MigrationProgress, Tell
from fencepost.stores.migrations import Migration
from fencepost.stores.postgres.connection import Connection
from fencepost.stores.postgres.migration_parts import Part, Way, index_built, parts_of
from fencepost.stores.queries import load_queries

QUERIES = load_queries(__package__, "migrations.sql")
TURN_TRIES_MAX = 300
TURN_PAUSE_S = 0.2
LOCK_TIMEOUT = "2s"
LOCK_TRIES_MAX = 60
LOCK_PAUSE_S = 1.0
BATCH_ROWS_MAX = 5_000
BATCHES_MAX = 1_000_000
LOOK_EVERY_S = 0.5
BUILD_LOOKS_MAX = 172_800
REFUSED = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


class Migrator:
    """What applies migrations, while it has the turn."""

    def __init__(self, work: Connection, turn: Connection, tell: Tell) -> None:
        self._work = work
        self._turn = turn
        self._tell = tell

    async def take_turn(self) -> None:
        """Until no other migrator is at work. The turn ends with its connection."""
        for _ in range(TURN_TRIES_MAX):
            if await self._turn.fetchval(QUERIES["take_turn"]):
                return
            await asyncio.sleep(TURN_PAUSE_S)
        raise StoreUnavailable(
            "another fencepost migrate has been at work on this store for a minute, and goes on; "
            "run this one again when it has ended"
        )

    async def apply(self, step: Migration, shards: int) -> None:
        """Apply one migration and record it."""
        *before, last = parts_of(step.script)
        for part in before:
            await self._apply_part(step, part)
        if last.way is Way.TRANSACTION:
            await self._persist(step, partial(self._at_once, step, last, shards))
        else:
            await self._apply_part(step, last)
            await self._persist(step, partial(self._at_once, step, None, shards))

    async def _apply_part(self, step: Migration, part: Part) -> None:
        match part.way:
            case Way.TRANSACTION:
                await self._persist(step, partial(self._at_once, step, part, None))
            case Way.CONCURRENTLY:
                for statement in part.statements:
                    await self._persist(step, partial(self._beside_others, step, statement))
            case Way.BATCHES:
                (statement,) = part.statements
                await self._in_batches(step, statement)

    async def _persist(self, step: Migration, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work; where a lock is not to be had, again."""
        for tried in range(1, LOCK_TRIES_MAX + 1):
            await self._turn.execute(QUERIES["has_turn"])
            try:
                return await work()
            except REFUSED:
                self._say(step, "waits for the lock of a table", tried, LOCK_TRIES_MAX)
            await asyncio.sleep(LOCK_PAUSE_S)
        raise StoreUnavailable(
            f"migration {step.name}: a table stayed locked through {LOCK_TRIES_MAX} tries; "
            "end what holds it, as pg_stat_activity shows it, and run fencepost migrate again"
        )

    async def _at_once(self, step: Migration, part: Part | None, shards: int | None) -> None:
        """A part and, with the number of shards, the record of the migration."""
        async with self._work.transaction():
            await self._work.fetch(QUERIES["bounds"], LOCK_TIMEOUT)
            if part is not None:
                await self._work.execute(part.text)
            if shards is not None:
                await self._work.fetch(QUERIES["record"], str(step.number))
                await self._work.fetch(QUERIES["record_shards"], str(shards))

    async def _in_batches(self, step: Migration, statement: str) -> None:
        changed, rows = 0, -1
        for _ in range(BATCHES_MAX):
            rows = await self._batch(step, statement)
            if rows == 0:
                return
            changed += rows
            self._say(step, "changes rows", changed, None)
        raise AssertionError(f"{step.name}: a batch changes rows again and again")

    async def _batch(self, step: Migration, statement: str) -> int:
        changed = 0

        async def change() -> None:
            nonlocal changed
            async with self._work.transaction():
                await self._work.fetch(QUERIES["bounds"], LOCK_TIMEOUT)
                changed = len(await self._work.fetch(statement, BATCH_ROWS_MAX))

        await self._persist(step, change)
        return changed

    async def _beside_others(self, step: Migration, statement: str) -> None:
        """Build or drop an index while others write, and tell how far it is."""
        index = index_built(statement)
        if index is not None:
            await self._drop_unless_valid(step, index)
        done = asyncio.Event()
        watching = asyncio.create_task(self._tell_progress(step, index, done))
        try:
            await self._work.execute(statement)
        finally:
            done.set()
            await watching

    async def _drop_unless_valid(self, step: Migration, index: str) -> None:
        for _ in range(BUILD_LOOKS_MAX):
            if not await self._is_being_built(step, index):
                break
            await asyncio.sleep(LOOK_EVERY_S)
        if await self._work.fetchval(QUERIES["is_invalid"], index):
            self._say(step, f"drops index {index}, whose build was cut off", 0, None)
            await self._work.execute(QUERIES["drop_index"].replace("INDEX_NAME", index))

    async def _tell_progress(self, step: Migration, index: str | None, done: asyncio.Event) -> None:
        while index is not None and not done.is_set():
            await self._is_being_built(step, index)
            try:
                await asyncio.wait_for(done.wait(), LOOK_EVERY_S)
            except TimeoutError:
                continue

    async def _is_being_built(self, step: Migration, index: str) -> bool:
        """Whether any server process builds the index, and tell how far it is."""
        rows = await self._turn.fetch(QUERIES["progress"], index)
        for phase, done, total in rows:
            self._say(step, f"builds index {index}: {phase}", done, total)
        return bool(rows)

    def _say(self, step: Migration, doing: str, done: int, total: int | None) -> None:
        self._tell(MigrationProgress(step.name, doing, done, total or None))
