"""A worker over a real store, with its reporter and its heartbeat, moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fencepost.config import Settings
from fencepost.executors.callable import CallableExecutor
from fencepost.model.identifiers import RunKey
from fencepost.model.job import JobSpec, Retry
from fencepost.ports.executor import Job
from fencepost.services.active import ActiveRuns
from fencepost.services.heartbeat import Heartbeat
from fencepost.services.reporter import Reporter
from fencepost.services.worker import Worker
from fencepost.testing.conformance.builders import ALICE, JOB, NS, by_hand
from tests.services.house import until
from tests.transactions.drivers import ON_POSTGRES, ON_SQLITE, Opened
from tests.transactions.ground import Ground


class Hands:
    """One job, whose function each test brings along."""

    def __init__(self, ground: Ground, work: Callable[..., Any]) -> None:
        settings = Settings(store=ground.url, heartbeat_every_s=1.0, heartbeat_timeout_s=30.0)
        job = Job(JobSpec(JOB, retry=Retry(3, "1h", "1h")), CallableExecutor(work))
        self.ground = ground
        self.active = ActiveRuns()
        self.reporter = Reporter(ground.store, self.active, settings)
        self.heartbeat = Heartbeat(ground.store, self.active, settings)
        self.worker = Worker(
            ground.store, {JOB: job}, self.active, self.reporter, settings, ALICE, lambda: 0.5
        )
        self.spec = job.spec

    async def begin(self, *keys: str) -> list[RunKey]:
        """Claim a run for each key and have them started."""
        await self.ground.store.jobs.register(NS, [self.spec])
        runs = [by_hand(key) for key in keys]
        assert all(await self.ground.store.ledger.enqueue(NS, runs))
        await self.worker.run_once()
        return [run.run_key for run in runs]

    async def reported(self) -> None:
        """Until all that was begun has ended and is reported."""
        await until(lambda: not self.worker._tasks)
        async with self.reporting():
            await self.reporter.done()

    async def do(self, key: str = "one") -> RunKey:
        """One run, to its report."""
        (run_key,) = await self.begin(key)
        await self.reported()
        return run_key

    @asynccontextmanager
    async def reporting(self) -> AsyncIterator[None]:
        """The reporter at work."""
        working = asyncio.create_task(self.reporter.run())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.wait({working})


def awaited_driver(ground: Ground) -> Opened:
    """A connection of the job's own that fits the store."""
    return ON_SQLITE["apsw"] if ground.url.startswith("sqlite") else ON_POSTGRES["asyncpg"]
