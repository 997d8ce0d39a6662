"""The SQLite store under the contracts' clock."""

from pathlib import Path

from fencepost.stores import sqlite
from fencepost.testing.clock import VirtualClock
from tests.conformance.clocked import START, ClockHarness


async def open_sqlite(path: Path) -> ClockHarness:
    """A store in a file that is not there yet."""
    clock = VirtualClock(START)
    return ClockHarness(await sqlite.open_store(f"sqlite:///{path}", clock=clock), clock)
