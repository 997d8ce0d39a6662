"""Many real streams of a real server: raw HTTP/1.1 over loopback, each with what it has heard; and what the
database was asked meanwhile, by its own count."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import asyncpg

from tests.web.live.theatre import parsed

PATIENCE_S = 60.0
LOOK_AGAIN_S = 0.05
SPANS_MAX = 8
HEAD_BYTES_MAX = 2**16
LOOK = "AS leases_at"
"""Stands in the statement with which the hub looks, and in no other."""
STATEMENTS = """
    SELECT query, calls
    FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)
"""
PRELOADED = "pg_stat_statements"


class Ear(NamedTuple):
    """Whose stream it is to be, of which namespace, and what else it asks for."""

    token: str
    namespace: str
    query: str = ""

    def watching(self, run_key: str, place: str) -> Ear:
        """The same, and the log of a run behind that place."""
        return self._replace(query=f"&run={quote(run_key, safe='')}&after={place}")


@dataclass(eq=False)
class Stream:
    """One open stream."""

    ear: Ear
    writer: asyncio.StreamWriter
    status: str
    heard: list[tuple[str, Any]] = field(default_factory=list)
    is_whole: bool = False
    """Whether the server has ended it, and not only the connection."""
    reading: asyncio.Task[None] | None = None

    @property
    def names(self) -> Counter[str]:
        """How often each kind of event came."""
        return Counter(name for name, _ in self.heard)

    @property
    def is_over(self) -> bool:
        return self.reading is not None and self.reading.done()

    async def read(self, reader: asyncio.StreamReader, tell: Callable[[Stream, str], None]) -> None:
        """Write down all that comes; each chunk of the answer holds whole events."""
        while size := int(await reader.readline() or b"-1", 16):
            if size < 0:
                return
            for event in parsed((await reader.readexactly(size + 2))[:-2]):
                self.heard.append(event)
                tell(self, event[0])
        self.is_whole = True


async def opened(port: int, ear: Ear, tell: Callable[[Stream, str], None] = lambda *_: None) -> Stream:
    """A stream that is read from now on; `tell` hears of each event as it comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=HEAD_BYTES_MAX)
    writer.write(request(ear))
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
    stream = Stream(ear, writer, head.split(b"\r\n", 1)[0].decode())
    assert "200" in stream.status, (stream.status, await reader.read(HEAD_BYTES_MAX))
    stream.reading = asyncio.create_task(stream.read(reader, tell))
    return stream


@asynccontextmanager
async def connection_limit(
    port: int, ears: Iterable[Ear], tell: Callable[[Stream, str], None] = lambda *_: None
) -> AsyncIterator[list[Stream]]:
    """A stream for each, once all of them have heard how things stand; hung up at the end."""
    streams = await asyncio.gather(*(opened(port, ear, tell) for ear in ears))
    try:
        await until(lambda: all("counts" in one.names for one in streams))
        yield streams
    finally:
        for one in streams:
            assert one.reading is not None
            one.reading.cancel()
            one.writer.close()
        await asyncio.gather(*(one.reading for one in streams if one.reading), return_exceptions=True)


def deaf(port: int, ear: Ear) -> socket.socket:
    """A connection that has asked for a stream, and reads nothing of it ever."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", port))
    made.sendall(request(ear))
    return made


def request(ear: Ear) -> bytes:
    """What a stream is asked for with."""
    asked = f"/api/v1/events?namespace={ear.namespace}{ear.query}"
    return f"GET {asked} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {ear.token}\r\n\r\n".encode()


@dataclass(frozen=True)
class Spent:
    """What a database was asked in a span of its own time."""

    seconds: float
    calls: Counter[str]

    @property
    def looks(self) -> int:
        return sum(count for text, count in self.calls.items() if LOOK in text)

    @property
    def per_s(self) -> float:
        """Statements a second."""
        return self.calls.total() / self.seconds

    def beside(self, other: Spent) -> Spent:
        """Without the kinds of statements that were asked in another span too."""
        own = {text: count for text, count in self.calls.items() if text not in other.calls}
        return Spent(self.seconds, Counter(own))

    def shown(self) -> str:
        """For a failure: each statement by its beginning."""
        calls = {" ".join(text.split())[:70]: count for text, count in self.calls.most_common()}
        return f"{self.seconds:.1f} s: {json.dumps(calls, indent=1)}"


class Statistics:
    """The count that a PostgreSQL keeps of its statements, read from another of its databases."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record], database: str) -> None:
        self._connection = connection
        self._database = database

    async def while_looked(self, times: int) -> Spent:
        """What was asked until the hub has looked so many times more."""
        return await self._while(lambda spent: spent.looks >= times)

    async def during(self, seconds: float) -> Spent:
        """What was asked in so many seconds."""
        return await self._while(lambda spent: spent.seconds >= seconds)

    async def until_silent(self, seconds: float) -> Spent:
        """The first span of that length in which the hub did not look."""
        spent = await self.during(seconds)
        for _ in range(SPANS_MAX):
            if not spent.looks:
                return spent
            spent = await self.during(seconds)
        raise AssertionError(f"the hub looks still: {spent.shown()}")

    async def _while(self, done: Callable[[Spent], bool]) -> Spent:
        """The span holds whatever is counted: it begins before the count, and ends behind it."""
        since, before = await self._now(), await self._calls()
        async with asyncio.timeout(PATIENCE_S):
            while True:
                calls, at = await self._calls(), await self._now()
                spent = Spent((at - since).total_seconds(), calls - before)
                if done(spent):
                    return spent
                await asyncio.sleep(LOOK_AGAIN_S)

    async def _now(self) -> datetime:
        at: datetime = await self._connection.fetchval("SELECT clock_timestamp()")
        return at

    async def _calls(self) -> Counter[str]:
        calls: Counter[str] = Counter()
        for row in await self._connection.fetch(STATEMENTS, self._database):
            calls[row["query"]] += row["calls"]
        return calls


@asynccontextmanager
async def statistics(server_url: str, store_url: str) -> AsyncIterator[Statistics]:
    """Of the store's database, on a server that was started with `PRELOADED`."""
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {PRELOADED}")
        yield Statistics(connection, urlsplit(store_url).path[1:])
    finally:
        await connection.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a condition, within reason."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_AGAIN_S)


def ears_of(tokens: Sequence[Ear], each: int) -> list[Ear]:
    """So many streams for every token."""
    return [ear for ear in tokens for _ in range(each)]
