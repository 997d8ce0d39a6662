"""Bare loops on SQLite, by the steps of a contender: WAL, synchronous FULL, a transaction for each batch."""

from __future__ import annotations

import asyncio
import json
import time

import apsw

from benchmarks.peers.measuring import PAYLOAD, Answer, Meter, Options, batches, main
from fencepost import Fencepost
from fencepost.stores.queries import load_queries

SQL = load_queries("benchmarks", "bare_sqlite.sql")
CLAIM = 200


def install(options: Options) -> None:
    if options.table == "runs":
        asyncio.run(_migrate(options.url))
        return
    connection = _connection(options)
    connection.execute(SQL["lean_install"])
    connection.close()


def bulk(options: Options) -> Answer:
    connection, meter = _connection(options), Meter(options)
    for batch in batches(options.count):
        with connection:
            rows = [(_now_us(), json.dumps(payload)) for payload in batch]
            connection.executemany(SQL[f"{options.table}_insert"], rows)
    return meter.read(options.count)


def single(options: Options) -> Answer:
    connection, meter = _connection(options), Meter(options)
    for _ in range(options.count):
        connection.execute(SQL[f"{options.table}_insert"], (_now_us(), json.dumps(PAYLOAD)))
    return meter.read(options.count)


def drain(options: Options) -> Answer:
    connection, done, meter = _connection(options), 0, Meter(options)
    while rows := list(connection.execute(SQL[f"{options.table}_claim"], (_now_us(), CLAIM))):
        with connection:
            finished = [(_now_us(), row[0], row[1]) for row in rows if json.loads(row[2])]
            connection.executemany(SQL[f"{options.table}_finish"], finished)
        done += len(rows)
    assert done == options.count, f"{done} of {options.count}"
    return meter.read(options.count)


async def _migrate(url: str) -> None:
    async with Fencepost(url):
        pass


def _connection(options: Options) -> apsw.Connection:
    connection = apsw.Connection(options.url.removeprefix("sqlite:///"))
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _now_us() -> int:
    return time.time_ns() // 1_000


STEPS = {"install": install, "bulk": bulk, "single": single, "drain": drain}

if __name__ == "__main__":
    main(STEPS)
