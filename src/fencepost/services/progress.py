"""Watches whether a job makes progress."""

from __future__ import annotations

import asyncio

from fencepost.core.progress import begin_watch, is_stuck, look
from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.ports.run import Run


async def until_stuck(run: Run, deadline_s: float) -> None:
    """Return once the job has marked no progress for the deadline, by the loop's own time."""
    loop = asyncio.get_running_loop()
    silence = begin_watch(run.marks, Monotonic(loop.time()), deadline_s)
    while not is_stuck(silence, Monotonic(loop.time()), deadline_s):
        await asyncio.sleep(max(elapsed_s(Monotonic(loop.time()), silence.look_at), 0.0))
        silence = look(silence, run.marks, Monotonic(loop.time()), deadline_s)
