"""A planner by itself: plans everything that is due and says how much memory it took."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from benchmarks import noop
from benchmarks.timing import until
from fencepost.model.identifiers import Shard


async def plan(url: str) -> None:
    async with noop.make(url) as app:
        node = await app.node(plans=True, works=False)
        stop = asyncio.Event()
        task = asyncio.create_task(node.run(stop))
        store = await app.open()

        unplanned = 1

        async def count() -> None:
            nonlocal unplanned
            shards = [Shard(number) for number in range(await store.epochs.shards())]
            unplanned = len((await store.plans.window(shards, 60, 1)).cursors)

        await asyncio.sleep(1)
        for _ in range(100):
            await count()
            if unplanned == 0:
                break
            await asyncio.sleep(0.1)
        await until(lambda: unplanned == 0, 1)
        stop.set()
        await task


def peak_mib() -> float:
    """The peak of this very program; `getrusage` would count what its parent had before the exec."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


asyncio.run(plan(sys.argv[1]))
sys.stdout.write(json.dumps({"peak_mib": peak_mib()}))
