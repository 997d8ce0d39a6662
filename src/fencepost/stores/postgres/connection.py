"""Connections: the pool, the settings of a session, and the way every statement goes.

A statement by itself is a transaction by itself and takes one round trip. Session settings bound what a
stalled client can do to others: a lock is waited for at most five seconds, a transaction that its client
left idle ends after five, and a peer that has gone is noticed by TCP. They also make what is acknowledged
durable where the server's default is otherwise (`synchronous_commit=off`), and run at read committed.

Where the server has a synchronous standby, a commit is answered once the standby has it. That wait can be
cancelled; the server then answers success with a warning, the commit stands and is seen by all, and the
loss of the primary would take it back. So the warning means that the outcome is unknown, and a caller that
takes something for done because it is there to be read asks for it to be confirmed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from fencepost.errors import StoreUnavailable
from fencepost.model.text import cleaned
from fencepost.stores.postgres.address import Address
from fencepost.stores.postgres.faults import UNKNOWN, translated, translated_at_open
from fencepost.stores.queries import load_queries

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    BaseConnection = asyncpg.Connection[asyncpg.Record]
else:
    BaseConnection = asyncpg.Connection

Row: TypeAlias = asyncpg.Record
Session: TypeAlias = "PoolConnectionProxy[Row]"

QUERIES = load_queries(__package__, "connection.sql")
COMMAND_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10.0
ACQUIRE_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 5.0
KEPT_MAX = 2
POOL: dict[str, Any] = {"min_size": 0, "max_inactive_connection_lifetime": 300.0}

NAMED_SETTINGS = {"application_name": "fencepost", "timezone": "UTC"}
BOUNDS = {
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "5s",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "default_transaction_isolation": "read committed",
}
# Every statement here is a handful of index ranges whatever the size of the tables, so planning it once
# per connection is enough, and a plan made while a table was small must not read all of it later.
PLANNING = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off", "jit": "off"}
STANDBY_WAIT = "syncrep.c"
"""Where in the server a warning comes from, in any language, that a wait for the standby was cancelled."""
KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}


class Connection(BaseConnection):
    """A connection that is given back as it was taken: no statement here leaves session state."""

    is_unconfirmed = False
    """Whether the standby may lack what was committed here."""

    def get_reset_query(self) -> str:
        return ""

    async def reset(self, *, timeout: float | None = None) -> None:
        await super().reset(timeout=timeout)
        self.is_unconfirmed = False

    def _process_log_message(self, fields: dict[str, str], last_query: str) -> None:
        # A listener would have to be taken away whenever the pool gets the connection back.
        if fields.get("F") == STANDBY_WAIT:
            self.is_unconfirmed = True


class GuestConnection(Connection):
    """A connection for the statements of jobs: what one has set is gone before the next one comes."""

    def get_reset_query(self) -> str:
        return str(BaseConnection.get_reset_query(self))


class Database:
    """The pool behind all parts of the store.

    Taking a connection from the pool and giving it back costs as much as a small statement. So a few stay
    out for the next call; one whose statement or transaction did not end well goes back to the
    pool, which knows what to do with it.
    """

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record], first: Session) -> None:
        self._pool = pool
        self._kept, self._kept_max = [first], KEPT_MAX
        self._waiting = 0
        self._returning: set[asyncio.Task[None]] = set()

    async def fetch(self, statement: str, *arguments: Any, within_s: float | None = None) -> list[Row]:
        """All rows of one statement, within so long, or within what every statement may take."""
        async with self._session() as session:
            return await session.fetch(statement, *arguments, timeout=within_s)

    async def fetch_one(self, statement: str, *arguments: Any) -> Row | None:
        """The first row of one statement."""
        async with self._session() as session:
            return await session.fetchrow(statement, *arguments)

    async def fetch_value(self, statement: str, *arguments: Any) -> Any:
        """The first column of the first row of one statement."""
        row = await self.fetch_one(statement, *arguments)
        return None if row is None else row[0]

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Session]:
        """A connection, and what went wrong on it in the words of the store."""
        with translated():
            session = await self._take()
            try:
                yield session
                check_confirmed(session)
            except BaseException:
                self._give_back(session)
                raise
            self._keep(session)

    async def _take(self) -> Session:
        while self._kept:
            session = self._kept.pop()
            if _is_open(session):
                return session
            self._give_back(session)
        self._waiting += 1
        try:
            return await self._pool.acquire(timeout=ACQUIRE_TIMEOUT_S)
        finally:
            self._waiting -= 1

    def _keep(self, session: Session) -> None:
        """For the next call, unless one waits for the pool."""
        if len(self._kept) < self._kept_max and not self._waiting:
            self._kept.append(session)
        else:
            self._give_back(session)

    def _give_back(self, session: Session) -> None:
        task = asyncio.ensure_future(self._pool.release(session))
        self._returning.add(task)
        task.add_done_callback(self._returned)

    def _returned(self, task: asyncio.Task[None]) -> None:
        """A connection that broke on its way back is the pool's loss alone."""
        self._returning.discard(task)
        if not task.cancelled():
            task.exception()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        """Several statements that happen together or not at all, each with a snapshot of its own."""
        async with self._session() as session, session.transaction(isolation="read_committed"):
            yield session

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Session]:
        """Several statements that see the same moment, and write nothing."""
        async with (
            self._session() as session,
            session.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield session

    async def confirm(self) -> None:
        """Until all that can be read now would also survive the loss of the primary."""
        await self.fetch(QUERIES["confirm"])

    async def close(self) -> None:
        """Give the connections back; those that do not end in time are cut off."""
        self._kept_max = 0
        while self._kept:
            self._give_back(self._kept.pop())
        try:
            await asyncio.wait_for(self._pool.close(), CLOSE_TIMEOUT_S)
        except (*UNKNOWN, asyncpg.InterfaceError):
            self._pool.terminate()


async def open_database(address: Address, pool_max: int) -> Database:
    """A pool with one connection that works."""
    with translated_at_open(address):
        init = partial(_init_ledger, address)
        pool = await asyncpg.create_pool(max_size=pool_max, init=init, **POOL | _options(address))
        return Database(pool, await pool.acquire(timeout=ACQUIRE_TIMEOUT_S))


async def open_guest_pool(address: Address, open_max: int) -> asyncpg.Pool[asyncpg.Record]:
    """Connections for the statements of others: the server plans them as it is set up to."""
    guests = {"server_settings": NAMED_SETTINGS, "command_timeout": None, "connection_class": GuestConnection}
    return await asyncpg.create_pool(max_size=open_max, init=_init, **POOL | _options(address) | guests)


async def connect(address: Address, *, patient: bool = False) -> Connection:
    """One connection outside the pool, with the same settings; a patient one waits for a statement and its
    locks as long as that takes."""
    options = _options(address)
    if patient:
        options["command_timeout"] = None
        options["server_settings"] = {**options["server_settings"], "lock_timeout": "0"}
    connection: Connection = await asyncpg.connect(**options)
    await _init_ledger(address, connection)
    return connection


def clean(text: str | None) -> str | None:
    """The text as PostgreSQL can keep it."""
    return None if text is None else cleaned(text)


def _is_open(session: Session) -> bool:
    """A connection that broke while it was not used was taken back by the pool, and cannot be asked."""
    try:
        return not session.is_closed()
    except asyncpg.InterfaceError:
        return False


def check_confirmed(session: Session) -> None:
    """Raise where the last commit on this connection was answered before the standby had it, or was none: a
    call that was cancelled may leave its transaction open, and what comes after it would be in that."""
    if getattr(session, "is_unconfirmed", False):
        raise StoreUnavailable("the store did not answer: the wait for its standby was cancelled")
    if _is_open(session) and session.is_in_transaction():
        raise StoreUnavailable("the store did not answer: a transaction was left open")


def _options(address: Address) -> dict[str, Any]:
    return {
        "dsn": address.dsn,
        "connection_class": Connection,
        "timeout": CONNECT_TIMEOUT_S,
        "command_timeout": COMMAND_TIMEOUT_S,
        "statement_cache_size": address.statement_cache_size,
        "server_settings": NAMED_SETTINGS if address.pooled else NAMED_SETTINGS | BOUNDS | PLANNING,
    }


async def _init_ledger(address: Address, connection: BaseConnection) -> None:
    """Behind a pooler a setting would be the next client's."""
    await _init(connection)
    if not address.pooled:
        await connection.execute(QUERIES["durable"])


async def _init(connection: BaseConnection) -> None:
    # The driver has no public way to its socket; without one the kernel's own bounds apply.
    transport = getattr(connection, "_transport", None)
    peer = None if transport is None else transport.get_extra_info("socket")
    if peer is None or peer.family == socket.AF_UNIX:
        return
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
