"""A ledger as a drill sees it: straight from its tables, past all code that is under attack."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import apsw
import asyncpg

from fencepost.stores.sqlite.moments import fetch, to_us
from tests.chaos.accounting import Account, account

BUSY_MS = 5_000
LOCKED_MS = 300
"""No transaction of a process that runs takes that long."""

LEADER = "SELECT holder, epoch, since FROM {0}epochs WHERE shard = 0"
ALIVE = "SELECT node_id, report FROM {0}nodes WHERE alive_until > $1"
PLANNED = "SELECT min(planned_through) AS planned_through FROM {0}cursors"
VERSIONS = "SELECT schedule_id, version, spec, in_force_from FROM {0}schedule_versions"
RECORDED = "SELECT schedule_id, fire_time FROM {0}runs WHERE schedule_id IS NOT NULL AND fire_time <= $1"
STARTS = "SELECT state, attempt, fire_time, started_at FROM {0}runs WHERE fire_time > $1 AND fire_time <= $2"


@dataclass(frozen=True)
class Leader:
    """Whose plans count, under which epoch, since when."""

    holder: str
    epoch: int
    since: datetime


class Ledger(Protocol):
    """One that answers questions."""

    url: str

    async def query(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        """Rows; `{0}` stands for the schema."""
        ...

    async def is_locked(self) -> bool:
        """Whether somebody keeps everybody else from writing."""
        ...

    async def close(self) -> None: ...


class PostgresLedger:
    """On a connection of its own."""

    def __init__(self, url: str, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self.url = url
        self._connection = connection
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, url: str) -> PostgresLedger:
        return cls(url, await asyncpg.connect(url))

    async def query(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        async with self._turn:
            return [dict(row) for row in await self._connection.fetch(sql.format("fencepost."), *moments)]

    async def is_locked(self) -> bool:
        """Never: rows are locked there, and for a while only."""
        return False

    async def close(self) -> None:
        await self._connection.close()


class SqliteLedger:
    """By a reader of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.url = f"sqlite:///{path}"
        self._connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        self._connection.set_busy_timeout(BUSY_MS)

    async def query(self, sql: str, *moments: datetime) -> Sequence[Mapping[str, Any]]:
        return list(fetch(self._connection.execute(sql.format(""), [to_us(one) for one in moments])))

    async def is_locked(self) -> bool:
        return await asyncio.to_thread(self._is_locked)

    async def close(self) -> None:
        self._connection.close()

    def _is_locked(self) -> bool:
        with closing(apsw.Connection(str(self._path))) as writer:
            writer.set_busy_timeout(LOCKED_MS)
            try:
                writer.execute("BEGIN IMMEDIATE")
            except apsw.BusyError:
                return True
            writer.execute("ROLLBACK")
            return False


async def leader(ledger: Ledger) -> Leader | None:
    """Who was registered last."""
    rows = await ledger.query(LEADER)
    return Leader(**rows[0]) if rows else None


async def believers(ledger: Ledger) -> Mapping[str, Sequence[int]]:
    """Every live node, with the epochs under which it believes to lead."""
    rows = await ledger.query(ALIVE, now())
    return {row["node_id"]: [led[1] for led in json.loads(row["report"])["leads"]] for row in rows}


async def planned_for_s(ledger: Ledger) -> float:
    """How far ahead every schedule is planned."""
    (row,) = await ledger.query(PLANNED)
    through = row["planned_through"]
    return (through - now()).total_seconds() if through else 0.0


async def accounted(ledger: Ledger, until: datetime) -> Account:
    """What should be there until then, held against what is."""
    return account(await ledger.query(VERSIONS), await ledger.query(RECORDED, until), until)


def now() -> datetime:
    """The time by which both kinds of ledger count: that of this machine."""
    return datetime.now(UTC)
