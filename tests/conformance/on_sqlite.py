"""The SQLite store under the contracts' clock."""

from pathlib import Path

from fencepost.stores import sqlite
from fencepost.testing.clock import VirtualClock
from tests.conformance.clocked import START, ClockHarness

_EMPTY: list[bytes] = []
"""The file of a store that was just set up: to write it is ten times quicker than to set up another."""


async def open_sqlite(path: Path) -> ClockHarness:
    """A store in a file that is not there yet."""
    if not _EMPTY:
        await (await _open(path)).close()
        _EMPTY.append(path.read_bytes())
    path.write_bytes(_EMPTY[0])
    return await _open(path)


async def _open(path: Path) -> ClockHarness:
    clock = VirtualClock(START)
    return ClockHarness(await sqlite.open_store(f"sqlite:///{path}", clock=clock), clock)
