"""`make bench`: every figure in one run on one machine, each beside its limit or its goal.

`python -m benchmarks failover` measures hand-overs instead."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from benchmarks import (
    failover,
    on_brokers,
    on_mongodb,
    on_postgres,
    on_schedules,
    on_sqlite,
    on_start,
    on_triggers,
    on_work,
    pages,
    pages_web,
    streams,
)
from benchmarks.contest import Ground, StepFailed
from benchmarks.ground import fill
from benchmarks.peers.measuring import PAYLOAD
from benchmarks.report import Figure, circumstances, heading, missed, show
from fencepost.stores.postgres import migrate
from tests.servers.postgres import PostgresServer

SHARED_BUFFERS = "512MB"
"""What a server has that keeps a ledger of this size: a million runs and their indexes take 700 MB."""
NOTES = (
    f"payload: {len(json.dumps(PAYLOAD))} bytes of JSON",
    "PostgreSQL: fsync and synchronous commit; VACUUM ANALYZE and CHECKPOINT before each measured step",
    f"medians of {on_postgres.TRIES} tries in turns, or of as many as a part says; log lines go to a file",
)


def measure(only: str, large: bool) -> Iterator[Figure]:
    """The parts that are asked for; pages are not among all."""
    parts: dict[str, Callable[[], Iterator[Figure]]] = {
        "triggers": on_triggers.measure,
        "start": on_start.measure,
        "sqlite": on_sqlite.measure,
        "mongodb": on_mongodb.measure,
        "postgres": lambda: _on_a_server(on_postgres.measure),
        "schedules": lambda: _on_a_server(lambda ground: on_schedules.measure(ground, large)),
        "brokers": lambda: _on_a_server(on_brokers.measure),
        "work": lambda: _on_a_server(_work),
        "streams": lambda: _on_a_server(_streams),
    }
    if only == "pages":
        yield from asyncio.run(_pages())
    for name, part in parts.items():
        if only in ("", name):
            try:
                yield from part()
            except StepFailed as error:
                yield Figure(f"the rest of {name}", 0.0, "", goal="measured", good=False, note=str(error))


def _on_a_server(part: Callable[[Ground], Iterator[Figure]]) -> Iterator[Figure]:
    ground = Ground()
    with closing(ground.server):
        yield from part(ground)


def _work(ground: Ground) -> Iterator[Figure]:
    async def measured(url: str) -> list[Figure]:
        await migrate(url, shards=8)
        return [one async for one in on_work.measure(url)]

    with ground.database() as url:
        yield from asyncio.run(measured(url))


def _streams(ground: Ground) -> Iterator[Figure]:
    async def measured(url: str) -> list[Figure]:
        await migrate(url, shards=8)
        return await streams.measure(ground.server.url, url)

    with ground.database() as url:
        yield from asyncio.run(measured(url))


async def _pages() -> Sequence[Figure]:
    heading("PostgreSQL with a million runs")
    server = await asyncio.to_thread(lambda: PostgresServer(shared_buffers=SHARED_BUFFERS))
    try:
        url = await asyncio.to_thread(server.create_empty_database)
        await migrate(url, shards=8)
        await fill(url)
        figures = [one async for one in pages.measure(url)]
        return figures + await asyncio.to_thread(pages_web.measure, url)
    finally:
        await asyncio.to_thread(server.close)


PARTS = [
    *("", "triggers", "start", "sqlite", "mongodb", "postgres", "schedules", "brokers"),
    *("work", "streams", "pages"),
]


def main() -> int:
    if sys.argv[1:2] == ["failover"]:
        return failover.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--only", default="", choices=PARTS)
    parser.add_argument("--large", action="store_true", help="100,000 schedules at one instant too: minutes")
    options = parser.parse_args()
    logging.getLogger("fencepost").setLevel(logging.ERROR)
    about = circumstances()
    figures = list(measure(options.only, options.large))
    show(figures, options.json, about, NOTES)
    return 1 if missed(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
