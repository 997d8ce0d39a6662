"""The effect drill: thousands of runs on a fleet whose workers are killed and stalled all the while."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from fencepost import Fencepost
from fencepost.model.enqueue_options import EnqueueOptions
from fencepost.model.identifiers import JobName
from fencepost.services.enqueueing import new_run
from fencepost.stores import postgres, sqlite
from tests.chaos import ledgers
from tests.chaos.fleet import eventually
from tests.chaos.ledgers import Ledger, PostgresLedger, SqliteLedger
from tests.effects import drill_app
from tests.effects.accounts import Accounts, Found
from tests.effects.drill_app import FOLDER, HEARTBEAT_TIMEOUT_S, TABLES
from tests.effects.forks import Fork, command_line
from tests.effects.ways import STORE
from tests.servers.postgres import execute

TARGET = f"{drill_app.__name__}:app"
BATCH = 500
STALL_S = HEARTBEAT_TIMEOUT_S + 4.0
"""Until somebody else has had time to take its runs, and to do them."""
STOP_S = 60.0
STEP_S = 0.1
STARTED = '"started"'
FREEZE_TRIES_MAX = 50

OPEN = "SELECT count(*) AS count FROM {0}runs WHERE state NOT IN ('succeeded', 'dead')"
RUNS = "SELECT run_key, job, state, reason, fence, attempt, spent FROM {0}runs"
LOST = "SELECT count(*) AS count FROM {0}attempts WHERE outcome = 'lost'"
SENT = "SELECT run_key, fence FROM sent"
LATEST = "SELECT run_key, fence FROM latest"


@dataclass(frozen=True)
class Plan:
    """How much of what, on how many workers, and how often something happens to one of them.

    The nemesis counts by the work that is done and not by the clock: a slow machine gets no more of it."""

    counts: Mapping[str, int]
    workers: int = 4
    concurrency: int = 16
    seed: int = 1
    per_s: int = 0
    """How many become due in a second; 0 for all at once. Where few wait, a rescued run is soon taken up."""
    kills: int = 30
    stalls: int = 12
    at_most_s: float = 600.0

    @property
    def runs(self) -> int:
        return sum(self.counts.values())


class Drill:
    """One store, one fleet, one nemesis."""

    def __init__(self, url: str, folder: Path, plan: Plan) -> None:
        self.url = url
        self.folder = folder
        self.plan = plan
        self.found = Found()
        self._dice = Random(plan.seed)
        self._workers: list[Fork] = []
        self._ledger: Ledger
        self._free: set[int] = set(range(plan.workers))
        self._started = self._done = 0

    async def play(self) -> Found:
        """From the first run to the accounts."""
        await self._prepare()
        await self._enqueue()
        self._ledger = await _opened(self.url)
        begun = time.monotonic()
        try:
            self._workers = [self._start() for _ in range(self.plan.workers)]
            await self._torment()
            for one in self._workers:
                code = await asyncio.to_thread(one.end, STOP_S)
                assert code == 0, f"{one.name} ended with {code}\n{one.log[-3_000:]}"
            self.found.seconds = time.monotonic() - begun
            await self._account()
        finally:
            for one in self._workers:
                one.discard()
            await self._ledger.close()
        return self.found

    async def _prepare(self) -> None:
        if self.url.startswith("postgres"):
            await postgres.migrate(self.url, shards=1)
            for table in TABLES:
                await execute(self.url, table)
            return
        import apsw

        await sqlite.migrate(self.url, shards=1)
        with closing(apsw.Connection(self.url.removeprefix("sqlite:///"))) as maker:
            for table in TABLES:
                maker.execute(table)

    async def _enqueue(self) -> None:
        """All kinds among each other, so that each of them is under way all the time."""
        runs = [(name, number) for name, count in self.plan.counts.items() for number in range(count)]
        self._dice.shuffle(runs)
        since = ledgers.now() - timedelta(hours=0 if self.plan.per_s else 1)
        step = timedelta(seconds=1 / (self.plan.per_s or 1_000))
        specs = {name: drill_app.app.jobs[JobName(name)].spec for name in self.plan.counts}
        async with Fencepost(self.url, shards=1) as client:
            store, namespace = await client.open(), client.settings.namespace
            await store.jobs.register(namespace, list(specs.values()))
            for start in range(0, len(runs), BATCH):
                batch = [
                    new_run(specs[name], {}, str(number), EnqueueOptions(at=since + (start + place) * step))
                    for place, (name, number) in enumerate(runs[start : start + BATCH])
                ]
                assert all(await store.ledger.enqueue(namespace, batch))

    def _start(self) -> Fork:
        self._started += 1
        words = ["worker", TARGET, "--store", self.url, "--log-json"]
        words += ["--concurrency", str(self.plan.concurrency)]
        environment = {FOLDER: str(self.folder), STORE: self.url}
        return Fork(f"worker-{self._started}", self.folder, command_line, words, environment)

    async def _torment(self) -> None:
        """Until all runs have ended. What happens when is drawn beforehand, as shares of the work."""
        hands = [
            asyncio.create_task(self._strike(self._kill, self.plan.kills)),
            asyncio.create_task(self._strike(self._stall, self.plan.stalls)),
        ]
        try:
            await eventually(self._is_over, "every run has ended", self.plan.at_most_s, self._logs)
        finally:
            for hand in hands:
                hand.cancel()
            ends = await asyncio.gather(*hands, return_exceptions=True)
            for one in self._workers:
                one.thaw()
        assert not [end for end in ends if isinstance(end, Exception)], ends

    async def _strike(self, act: Callable[[], Awaitable[None]], times: int) -> None:
        for share in sorted(self._dice.uniform(0.01, 0.97) for _ in range(times)):
            while self._done < share * self.plan.runs:  # noqa: ASYNC110 - the ledger is asked, by another
                await asyncio.sleep(STEP_S)
            await asyncio.sleep(self._dice.uniform(0, STEP_S))
            await act()

    async def _kill(self) -> None:
        place = await self._victim()
        self._workers[place].kill()
        self._workers[place] = self._start()
        self.found.kills += 1
        self._free.add(place)

    async def _stall(self) -> None:
        """Longer than its runs may be silent; then it goes on as if nothing had been."""
        place = await self._victim()
        try:
            await self._freeze(self._workers[place])
            await asyncio.sleep(STALL_S)
        finally:
            self._workers[place].thaw()
            self.found.stalls += 1
        self._free.add(place)

    async def _freeze(self, worker: Fork) -> None:
        """On one file, between two writes: what a frozen process has locked there nobody else can write, and
        so nobody would take its runs. A server is never locked as a whole."""
        for _ in range(FREEZE_TRIES_MAX):
            worker.freeze()
            if not await self._ledger.is_locked():
                return
            worker.thaw()
            await asyncio.sleep(0.01)
        worker.freeze()

    async def _victim(self) -> int:
        """One that works and to which nothing happens; two are always left to go on."""
        while True:
            up = sorted(self._free) if len(self._free) > 2 else []
            up = [place for place in up if self._workers[place].has_said(STARTED)]
            if up:
                place = self._dice.choice(up)
                self._free.remove(place)
                return place
            await asyncio.sleep(STEP_S)

    async def _is_over(self) -> bool:
        for place, one in enumerate(self._workers):
            assert one.alive or place not in self._free, f"{one.name} has ended\n{one.log[-3_000:]}"
        left = int((await self._rows(OPEN))[0]["count"])
        self._done = self.plan.runs - left
        await asyncio.sleep(STEP_S)
        return left == 0

    def _logs(self) -> str:
        return "".join(f"--- {one.name}\n{one.log[-2_000:]}\n" for one in self._workers)

    async def _rows(self, sql: str) -> Any:
        return await self._ledger.query(sql)

    async def _account(self) -> None:
        found, runs = self.found, {row["run_key"]: row for row in await self._rows(RUNS)}
        found.runs = len(runs)
        found.rescued = int((await self._rows(LOST))[0]["count"])
        jobs = Counter(row["job"] for row in runs.values())
        assert jobs == Counter({name: count for name, count in self.plan.counts.items() if count})
        accounts = Accounts(found, runs, self.folder)
        accounts.of_ends()
        accounts.of_rows(await self._rows(SENT))
        accounts.of_the_control()
        accounts.of_starts()
        accounts.of_fences(await self._rows(LATEST))


async def _opened(url: str) -> Ledger:
    if url.startswith("postgres"):
        return await PostgresLedger.open(url)
    return SqliteLedger(Path(url.removeprefix("sqlite:///")))
