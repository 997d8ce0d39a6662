"""Bare driver loops on PostgreSQL, by the steps of a contender: what a program without a framework would get.

`lean` is a narrow table with two indexes, `runs` is ours: the limit of the server, and that of our table.
Both claim and finish in the batches that our tuned worker has, by two prepared statements."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count

import asyncpg

from benchmarks.peers.measuring import PAYLOAD, Answer, Counter, Meter, Options, batches, main, pick_ups
from fencepost.stores.postgres import migrate
from fencepost.stores.queries import load_queries

SQL = load_queries("benchmarks", "bare.sql")
CLAIM = 200
SETTINGS = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off"}
"""Without them the finish on our table is planned badly, and the loop would be no limit."""
COLUMNS = ["namespace", "run_key", "job", "fire_time", "state", "queue", "priority", "run_at", "payload"]


async def install(options: Options) -> None:
    if options.table == "runs":
        await migrate(options.url, shards=8)
        return
    async with _connection(options) as connection:
        await connection.execute(SQL["lean_install"])


async def copy(options: Options) -> Answer:
    numbers = count()
    async with _connection(options) as connection:
        meter = Meter(options)
        for batch in batches(options.count):
            texts = [json.dumps(payload) for payload in batch]
            if options.table == "lean":
                await connection.copy_records_to_table(
                    "lean", columns=["payload"], records=[(one,) for one in texts]
                )
                continue
            rows = [_row(next(numbers), text) for text in texts]
            await connection.copy_records_to_table(
                "runs", schema_name="fencepost", columns=COLUMNS, records=rows
            )
        return meter.read(options.count)


async def bulk(options: Options) -> Answer:
    async with _connection(options) as connection:
        statement = await connection.prepare(SQL[f"{options.table}_bulk"])
        meter = Meter(options)
        for batch in batches(options.count):
            await statement.fetch([json.dumps(payload) for payload in batch])
        return meter.read(options.count)


async def single(options: Options) -> Answer:
    async with _connection(options) as connection:
        statement = await connection.prepare(SQL[f"{options.table}_single"])
        meter = Meter(options)
        for _ in range(options.count):
            await statement.fetch(json.dumps(PAYLOAD))
        return meter.read(options.count)


async def drain(options: Options) -> Answer:
    async with _connection(options) as connection:
        claim = await connection.prepare(SQL[f"{options.table}_claim"])
        finish = await connection.prepare(SQL[f"{options.table}_finish"])
        done, meter = 0, Meter(options)
        while rows := await claim.fetch(CLAIM):
            for row in rows:
                json.loads(row["payload"])
            await finish.fetch([row["id"] for row in rows], [row["fence"] for row in rows])
            done += len(rows)
        assert done == options.count, f"{done} of {options.count}"
        return meter.read(options.count)


async def pick_up(options: Options) -> Answer:
    """One connection inserts and tells, one listens, and one claims what it was told of."""
    counter, told = Counter(), asyncio.Event()
    async with _connection(options) as client, _connection(options) as ear, _connection(options) as worker:
        await ear.add_listener("bare", lambda *_: told.set())
        insert = await client.prepare(f"{SQL[f'{options.table}_single']} RETURNING pg_notify('bare', '')")
        claim = await worker.prepare(SQL[f"{options.table}_claim"])

        async def work() -> None:
            while True:
                await told.wait()
                told.clear()
                for row in await claim.fetch(1):
                    json.loads(row["payload"])
                    counter.note()

        working = asyncio.create_task(work())
        try:
            return await pick_ups(options.count, lambda: insert.fetch(json.dumps(PAYLOAD)), counter)
        finally:
            working.cancel()


@asynccontextmanager
async def _connection(options: Options) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(options.url, server_settings=SETTINGS)
    try:
        yield connection
    finally:
        await connection.close()


def _row(number: int, payload: str) -> tuple[object, ...]:
    now = datetime.now(UTC)
    return "default", f"noop#{number}", "noop", now, "ready", "default", 2, now, payload


STEPS = {
    "install": install,
    "copy": copy,
    "bulk": bulk,
    "single": single,
    "drain": drain,
    "pick_up": pick_up,
}

if __name__ == "__main__":
    main(STEPS)
