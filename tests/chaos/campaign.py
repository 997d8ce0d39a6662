"""A chaos run: fleets side by side and one after the other, the records of each, and what is made of them.

A lane is a line of fleets, each with its share of the time. The last fleet of a lane goes on until what must
have happened has happened, or the patience of the run is at its end. The databases stay until all is judged.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from tests.chaos import effects, ledgers, recording
from tests.chaos.accounting import Account
from tests.chaos.grounds import FAILOVER, STORE_RESTART, Ground
from tests.chaos.nemesis import KILL, STALL, STALL_IN_WRITE, Nemesis
from tests.chaos.stage import SETTINGS, STALE_WRITE, TICKS, Plan, Stage
from tests.history import coverage
from tests.history.findings import rescues
from tests.history.model import History, PlanWrite
from tests.history.verdict import Verdict, judge

KILLS, STALLS, RESTARTS, FAILOVERS = "kills", "stalls", "store restarts", "failovers"
TICKED, REFUSED, RESCUED = "ticks", "stale writes refused", "attempts rescued"
LOOK_EVERY_S = 5.0
PATIENCE = 2.0
"""How many times the planned time a run may take to meet its floors, unless it is told otherwise."""
LOST = "SELECT count(*) AS count FROM {0}attempts WHERE outcome = 'lost'"
KEEP_REAPERS_AWAY = frozenset({STORE_RESTART, FAILOVER})

Make = Callable[[AsyncExitStack, Path], Awaitable[Ground]]


@dataclass
class Part:
    """One fleet of a run: its ground, its size, and what is in store for it."""

    name: str
    make: Make
    plan: Plan
    deck: Mapping[str, int]
    hands: int = 1
    pause_s: float = 1.0
    seed: int = 0


@dataclass
class Scene:
    """A fleet on its stage, and when things were."""

    part: Part
    stage: Stage
    nemesis: Nemesis
    since: datetime
    quiet_since: datetime | None = None
    through: datetime | None = None
    ended_at: datetime | None = None
    counts: Counter[str] = field(default_factory=Counter)

    async def look(self) -> None:
        """Bring the counts up to date; after the end they stay as they are."""
        if self.ended_at is None:
            done = self.nemesis.counts
            self.counts = Counter(
                {
                    **done,
                    KILLS: done[KILL],
                    STALLS: done[STALL] + done[STALL_IN_WRITE],
                    RESTARTS: done[STORE_RESTART],
                    FAILOVERS: done[FAILOVER],
                    TICKED: await self.stage.count(TICKS, self.through or ledgers.now()),
                    RESCUED: await self.stage.count(LOST),
                    REFUSED: len(await asyncio.to_thread(self.stage.told, STALE_WRITE)),
                }
            )

    async def history(self) -> History:
        """Everything that was seen of it."""
        assert self.quiet_since is not None
        assert self.through is not None
        assert self.ended_at is not None
        history = await recording.read_history(self.stage.ground.source, SETTINGS)
        history.quiet_since, history.through, history.ended_at = self.quiet_since, self.through, self.ended_at
        history.faults = list(self.stage.faults)
        history.effects = list(effects.read(self.stage.sink.lines()))
        history.acknowledged = list(self.stage.book.lines())
        refused = [
            PlanWrite(line["time"], line["shard"], line["epoch"], accepted=False)
            for line in self.stage.told(STALE_WRITE)
        ]
        history.plan_writes = sorted([*history.plan_writes, *refused], key=lambda write: write.at)
        return history


@dataclass(frozen=True)
class Result:
    """What a fleet's records come to."""

    scene: Scene
    lane: int
    history: History
    account: Account
    verdict: Verdict
    lost: Sequence[str]
    rescued: int
    seen: Counter[str]

    @property
    def faults(self) -> Iterator[str]:
        """All that is not as it should be."""
        name = self.scene.part.name
        if not self.account.is_exact:
            yield f"{name}: {self.account}"
        if self.lost:
            yield f"{name}: acknowledged and lost: {', '.join(self.lost[:10])}"
        for one in (*self.verdict.violations, *self.scene.stage.findings):
            yield f"{name}: {one}"


class Campaign:
    """The lanes of one run."""

    def __init__(
        self,
        lanes: Sequence[Sequence[Part]],
        minutes: float,
        floors: Mapping[str, int],
        folder: Path,
        patience: float = PATIENCE,
    ) -> None:
        self.scenes: list[Scene] = []
        self.floors = floors
        self._lanes = lanes
        self._folder = folder
        self._planned_s = minutes * 60
        self._limit_s = patience * self._planned_s
        self._began = time.monotonic()

    @property
    def counts(self) -> Counter[str]:
        return sum((scene.counts for scene in self.scenes), Counter[str]())

    @property
    def lacking(self) -> dict[str, int]:
        """Which floors are not met, and by how much."""
        counts = self.counts
        return {what: floor - counts[what] for what, floor in self.floors.items() if counts[what] < floor}

    async def run(self, exits: AsyncExitStack) -> None:
        """All lanes to their end."""
        self._began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._watch())
            lanes = [group.create_task(self._run_lane(lane, exits)) for lane in self._lanes]
            await asyncio.gather(*lanes)
            watch.cancel()

    async def results(self) -> list[Result]:
        """Judge one fleet after the other, in the order of the lanes."""
        places = {part.name: place for place, lane in enumerate(self._lanes) for part in lane}
        ordered = sorted(self.scenes, key=lambda scene: (places[scene.part.name], scene.since))
        return [await _result(scene, places[scene.part.name]) for scene in ordered]

    async def _run_lane(self, lane: Sequence[Part], exits: AsyncExitStack) -> None:
        for number, part in enumerate(lane, 1):
            is_last = number == len(lane)
            await self._play(part, self._planned_s * number / len(lane), exits, until_met=is_last)

    async def _play(self, part: Part, until_s: float, exits: AsyncExitStack, *, until_met: bool) -> None:
        folder = self._folder / part.name
        stage = Stage(await part.make(exits, folder), part.plan, folder)
        exits.push_async_callback(stage.close)
        scene = Scene(part, stage, Nemesis(stage, part.deck, part.seed, part.pause_s), since=ledgers.now())
        self.scenes.append(scene)
        await stage.open()

        def is_over() -> bool:
            passed_s = time.monotonic() - self._began
            if passed_s < until_s:
                return False
            return not until_met or not self.lacking or passed_s > self._limit_s

        await scene.nemesis.play(is_over, part.hands)
        scene.quiet_since = ledgers.now()
        scene.through = await stage.settle()
        await stage.stop()
        await scene.look()
        scene.ended_at = ledgers.now()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            for scene in self.scenes:
                await scene.look()


async def _result(scene: Scene, lane: int) -> Result:
    history = await scene.history()
    found = await ledgers.accounted(scene.stage.ground.ledger, history.through)
    written = {change.run.run_key for change in history.changes if change.before is None}
    return Result(
        scene,
        lane,
        history,
        found,
        judge(history, KEEP_REAPERS_AWAY),
        lost=sorted(set(history.acknowledged) - written),
        rescued=sum(map(rescues, history.changes)),
        seen=coverage.seen(history),
    )
