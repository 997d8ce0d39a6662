"""The work of the simulated world."""

from __future__ import annotations

import asyncio
import hashlib
import random

from fencepost.model.identifiers import JobName
from fencepost.model.job import JobSpec, Retry
from fencepost.model.json import JsonObject
from fencepost.ports.run import Run
from tests.simulation.faults import Weather


class SimulatedJob:
    """Takes a while, fails now and then, both decided by the run and the seed alone."""

    stoppable = True

    def __init__(self, seed: int, weather: Weather, longest_s: float, failing: float) -> None:
        self._seed = seed
        self._weather = weather
        self._longest_s = longest_s
        self._failing = failing

    def check(self, payload: JsonObject) -> None:
        return None

    async def execute(self, run: Run) -> str | None:
        chance = random.Random(_stable(f"{self._seed}/{run.key}/{run.attempt}"))
        await asyncio.sleep(chance.random() ** 4 * self._longest_s)
        await self._weather.awake()
        if chance.random() < self._failing:
            raise RuntimeError("bad luck")
        return None


JOBS = {
    JobName("quick"): (JobSpec(JobName("quick")), 2.0, 0.02),
    JobName("slow"): (JobSpec(JobName("slow"), retry=Retry(3, "1s", "5s")), 40.0, 0.05),
    JobName("once"): (JobSpec(JobName("once"), at_most_once=True), 5.0, 0.02),
}


def _stable(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
