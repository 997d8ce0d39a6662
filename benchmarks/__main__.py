"""`make bench`: every figure in one run on one machine, each beside its limit or its goal.

`python -m benchmarks failover` measures hand-overs instead."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from benchmarks import failover, on_postgres, on_sqlite, on_triggers, on_work, pages, pages_web, streams
from benchmarks.ground import fill
from benchmarks.report import Figure, heading, show
from fencepost.stores.postgres import migrate
from tests.servers.postgres import PostgresServer

PARTS = ["", "triggers", "sqlite", "postgres", "work", "streams", "pages"]
SHARED_BUFFERS = "512MB"
"""What a server has that keeps a ledger of this size: a million runs and their indexes take 700 MB."""


async def measure(only: str) -> list[Figure]:
    figures: list[Figure] = []
    if only in ("", "triggers"):
        figures += on_triggers.measure()
    if only in ("", "sqlite"):
        with tempfile.TemporaryDirectory() as folder:
            figures += [one async for one in on_sqlite.measure(Path(folder))]
    if only in ("", "postgres", "work", "streams"):
        heading("PostgreSQL, with fsync")
        server = await asyncio.to_thread(_start)
        try:
            url = await asyncio.to_thread(server.create_empty_database)
            await migrate(url, shards=8)
            if only in ("", "postgres"):
                figures += [one async for one in on_postgres.measure(url)]
            if only in ("", "work"):
                figures += [one async for one in on_work.measure(url)]
            if only in ("", "streams"):
                url = await asyncio.to_thread(server.create_empty_database)
                await migrate(url, shards=8)
                figures += await streams.measure(server.url, url)
        finally:
            await asyncio.to_thread(server.close)
    if only == "pages":
        heading("PostgreSQL with a million runs")
        server = await asyncio.to_thread(lambda: PostgresServer(shared_buffers=SHARED_BUFFERS))
        try:
            url = await asyncio.to_thread(server.create_empty_database)
            await migrate(url, shards=8)
            await fill(url)
            figures += [one async for one in pages.measure(url)]
            figures += await asyncio.to_thread(pages_web.measure, url)
        finally:
            await asyncio.to_thread(server.close)
    return figures


def _start() -> PostgresServer:
    return PostgresServer(durable=True, shared_preload_libraries="pg_stat_statements")


def main() -> int:
    if sys.argv[1:2] == ["failover"]:
        return failover.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--only", default="", choices=PARTS)
    options = parser.parse_args()
    logging.getLogger("fencepost").setLevel(logging.ERROR)
    figures = asyncio.run(measure(options.only))
    show(figures, options.json)
    return 0 if all(one.good is not False for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
