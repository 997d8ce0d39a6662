"""The SQLite store under the contracts' clock."""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from fencepost.stores import sqlite
from fencepost.testing.clock import VirtualClock
from tests.conformance.clocked import START, ClockHarness


async def open_sqlite(path: Path) -> ClockHarness:
    """The store in a file, an empty one where there is none yet."""
    await asyncio.to_thread(_put_empty, path)
    return await _open(path)


async def _open(path: Path) -> ClockHarness:
    clock = VirtualClock(START)
    return ClockHarness(await sqlite.open_store(f"sqlite:///{path}", clock=clock), clock)


def _put_empty(path: Path) -> None:
    if not path.exists():
        path.write_bytes(_empty())


@cache
def _empty() -> bytes:
    """The file of a store that was just set up: to write it is ten times quicker than to set up another."""

    async def set_up(path: Path) -> None:
        await (await _open(path)).close()

    with TemporaryDirectory() as folder:
        path = Path(folder, "fencepost.db")
        asyncio.run(set_up(path))
        return path.read_bytes()
