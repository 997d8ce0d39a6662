"""The work of a world, and what it does outside of the system."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from fencepost.errors import PermanentFailure
from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry
from fencepost.model.json import JsonObject
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from tests.simulation.network import Network
from tests.simulation.recording import Recorder

NAMES = QUICK, SLOW, ONCE, FLAKY = tuple(map(JobName, ("quick", "slow", "once", "flaky")))
HOPELESS_SHARE = 0.1
LATE_EFFECT_SHARE = 0.05
LATE_EFFECT_S = 60.0


class SimulatedJob:
    """Takes a while, does something to the world, and fails now and then: all decided by the run and the seed
    alone. What it does may arrive late, whatever has become of the worker meanwhile."""

    stoppable = True

    def __init__(
        self, seed: int, network: Network, recorder: Recorder, longest_s: float, failing: float, late_s: float
    ) -> None:
        self._late_s = late_s
        self._seed = seed
        self._network = network
        self._recorder = recorder
        self._longest_s = longest_s
        self._failing = failing

    def check(self, payload: JsonObject) -> None:
        return None

    async def execute(self, run: Run) -> str | None:
        chance = random.Random(_stable(f"{self._seed}/{run.key}/{run.attempt}"))
        await asyncio.sleep(chance.random() ** 4 * self._longest_s)
        fails = chance.random() < self._failing
        if not fails or chance.random() < 0.5:
            self._act(run, chance)
        await asyncio.sleep(chance.random() * 0.1)
        if fails:
            raise (
                PermanentFailure("hopeless") if chance.random() < HOPELESS_SHARE else RuntimeError("bad luck")
            )
        return None

    def _act(self, run: Run, chance: random.Random) -> None:
        is_late = chance.random() < LATE_EFFECT_SHARE
        delay_s = chance.random() * (self._late_s if is_late else 0.05)
        sink = run.schedule_id or run.key
        self._network.later(delay_s, self._recorder.saw_effect, sink, run.key, run.attempt, run.fence)


class Kind(NamedTuple):
    """A kind of work: what the store knows of it, how long it takes at most, how often it fails."""

    spec: JobSpec
    longest_s: float
    failing: float


def kinds_of(pace: int) -> Mapping[JobName, Kind]:
    """All kinds; at a greater pace everything takes longer, retries and timeouts too."""
    kinds = [
        Kind(JobSpec(QUICK, retry=_retry(5, pace)), 2.0, 0.02),
        Kind(JobSpec(SLOW, retry=_retry(3, pace), timeout=timedelta(seconds=30 * pace)), 40.0, 0.05),
        Kind(JobSpec(ONCE, at_most_once=True), 5.0, 0.02),
        Kind(JobSpec(FLAKY, retry=_retry(4, pace)), 3.0, 0.5),
    ]
    return {one.spec.name: one._replace(longest_s=one.longest_s * pace) for one in kinds}


def jobs_of(
    kinds: Mapping[JobName, Kind], seed: int, network: Network, recorder: Recorder, late_s: float
) -> dict[JobName, Job]:
    """The code behind each kind; `late_s` is how late an effect can be."""
    return {
        name: Job(one.spec, SimulatedJob(seed, network, recorder, one.longest_s, one.failing, late_s))
        for name, one in kinds.items()
    }


def _retry(max_attempts: int, pace: int) -> Retry:
    return Retry(max_attempts, f"{pace}s", f"{10 * pace}s")


def _stable(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
