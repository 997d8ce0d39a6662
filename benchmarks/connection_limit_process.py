"""A worker by itself with many runs in progress at once: says how much memory it takes."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from fencepost import Fencepost, Run

AT_ONCE = 1_000
PATIENCE_S = 300.0


async def connection_limit(url: str) -> dict[str, float]:
    """All of them begin, and end only when the last has begun."""
    app, begun, all_in = Fencepost(url, concurrency=AT_ONCE), 0, asyncio.Event()

    @app.job()
    async def wait(run: Run) -> None:
        nonlocal begun
        begun += 1
        if begun == AT_ONCE:
            all_in.set()
        await all_in.wait()

    async with app:
        before = memory_mib("VmRSS")
        await app.enqueue_many(wait, [{} for _ in range(AT_ONCE)])
        async with app.running(plans=False), asyncio.timeout(PATIENCE_S):
            await all_in.wait()
    return {"idle_mib": before, "peak_mib": memory_mib("VmHWM"), "at_once": begun}


def memory_mib(name: str) -> float:
    """Of this very program; `getrusage` would count what its parent had before the exec."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(connection_limit(sys.argv[1]))))
