"""Runs in one table beside the same runs in partitions by month: `python -m benchmarks.partitions`.

Prints for each question of the ledger how many pages it touches and what planning and execution take. Pages
do not depend on the load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json

import asyncpg

from fencepost.stores.postgres import migrate
from fencepost.stores.queries import load_queries
from tests.servers.postgres import PostgresServer

SQL = load_queries("benchmarks", "partitions.sql")
QUESTIONS = ("by_key", "due", "of_schedule", "page")
TRIES = 7


async def compare(url: str, rows: int) -> None:
    """Fill both, and ask each the same."""
    await migrate(url, shards=8)
    connection = await asyncpg.connect(url, server_settings={"enable_seqscan": "off", "jit": "off"})
    try:
        await connection.execute(SQL["year"].replace("$1", str(rows)))
        await connection.execute(SQL["parent"])
        for name in ("partition", "indexes"):
            for (statement,) in await connection.fetch(SQL[name]):
                await connection.execute(statement)
        await connection.execute(SQL["copy"])
        await connection.execute(SQL["analyze"])
        print(f"{rows:,} runs | table | pages | planning ms | execution ms", flush=True)
        for question in QUESTIONS:
            for table in ("runs", "parted"):
                print(f"{question} | {table} | {await ask(connection, SQL[question], table)}", flush=True)
    finally:
        await connection.close()


async def ask(connection: asyncpg.Connection, question: str, table: str) -> str:
    """Pages, and the middle times of some tries."""
    statement = question.replace("TABLE_NAME", table)
    plans = [json.loads(await connection.fetchval(statement))[0] for _ in range(TRIES)]
    pages = plans[-1]["Plan"]["Shared Hit Blocks"] + plans[-1]["Plan"]["Shared Read Blocks"]
    times = [sorted(plan[one] for plan in plans)[TRIES // 2] for one in ("Planning Time", "Execution Time")]
    return f"{pages} | {times[0]:.2f} | {times[1]:.2f}"


def main() -> None:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partitions", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    server = PostgresServer(shared_buffers="256MB", max_wal_size="4GB")
    try:
        asyncio.run(compare(server.create_empty_database(), rows))
    finally:
        server.close()


if __name__ == "__main__":
    main()
