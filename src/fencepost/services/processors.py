"""The processors of one process, and the loop on which their jobs run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fencepost.services.broker_link import BrokerLink
from fencepost.services.job_loop import JobLoop
from fencepost.services.node import Runnable
from fencepost.services.processor import STOP_S, Processor
from fencepost.telemetry.logs import Log


class Processors:
    """The processors of one process, from start to a clean stop."""

    def __init__(
        self, link: BrokerLink, each: Sequence[Processor], grace_s: float, job_loop: JobLoop | None = None
    ) -> None:
        self.log = Log("processors")
        self._job_loop = job_loop or JobLoop()
        self._link = link
        self._each = each
        self._further: list[Runnable] = []
        self._grace_s = grace_s
        self._hurry = asyncio.Event()

    def also(self, service: Runnable) -> None:
        """Run one more loop beside the processors."""
        self._further.append(service)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until asked to stop; then take no more, and let running work finish within the grace."""
        self._job_loop.start()
        loops = [asyncio.create_task(one.run()) for one in (*self._each, *self._further)]
        waiting = asyncio.create_task(stop.wait())
        self.log.info("started", destinations=",".join(one.destination for one in self._each))
        try:
            done, _ = await asyncio.wait({waiting, *loops}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (waiting, *loops):
                task.cancel()
            await asyncio.gather(waiting, *loops, return_exceptions=True)
            await asyncio.gather(*(one.stop(self._grace_s, self._hurry) for one in self._each))
            await self._link.close()
            await self._job_loop.stop(STOP_S)
            self.log.info("stopped")
        for task in done - {waiting}:
            await task

    def hurry(self) -> None:
        """Asked a second time: wait for nothing more."""
        self._hurry.set()
