"""What the tests of real processes look at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 30.0


def is_alive(pid: int) -> bool:
    """Whether the process does anything still: a zombie that nobody has reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def written(path: Path) -> list[int]:
    """The pids in a file, whole lines only."""
    return [int(one) for one in path.read_text().split("\n")[:-1]] if path.exists() else []


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that sends no signal."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - neither a file nor a process of others sends a signal
            await asyncio.sleep(0.005)


async def pids_of(path: Path, count: int = 1) -> list[int]:
    """The pids that were written down, once they are all there."""
    await until(lambda: len(written(path)) >= count)
    return written(path)


async def until_dead(*pids: int) -> None:
    await until(lambda: not any(map(is_alive, pids)))


def open_files() -> set[str]:
    """The descriptors of this process, by what is behind them."""
    return {f"{one.name} {one.readlink()}" for one in Path("/proc/self/fd").iterdir() if one.is_symlink()}
