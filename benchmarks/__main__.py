"""`make bench`: every figure in one run on one machine, each beside its limit or its goal.

`python -m benchmarks failover` measures hand-overs instead."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from pathlib import Path

from benchmarks import failover, on_postgres, on_sqlite, on_triggers
from benchmarks.report import Figure, heading, show
from fencepost.stores.postgres import migrate
from tests.servers.postgres import PostgresServer


async def measure(only: str) -> list[Figure]:
    figures: list[Figure] = []
    if only in ("", "triggers"):
        figures += on_triggers.measure()
    if only in ("", "sqlite"):
        with tempfile.TemporaryDirectory() as folder:
            figures += [one async for one in on_sqlite.measure(Path(folder))]
    if only in ("", "postgres"):
        heading("PostgreSQL, with fsync")
        server = await asyncio.to_thread(_start)
        try:
            url = await asyncio.to_thread(server.create_empty_database)
            await migrate(url, shards=8)
            figures += [one async for one in on_postgres.measure(url)]
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
    parser.add_argument("--only", default="", choices=["", "triggers", "sqlite", "postgres"])
    options = parser.parse_args()
    logging.getLogger("fencepost").setLevel(logging.ERROR)
    figures = asyncio.run(measure(options.only))
    show(figures, options.json)
    return 0 if all(one.good is not False for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
