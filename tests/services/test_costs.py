"""What a run costs a process, counted in calls of our own functions instead of seconds. A bound that has to
be raised is a run that has become dearer."""

import asyncio
import cProfile
import pstats
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import fencepost
from fencepost import Fencepost, Run
from fencepost.model.json import JsonObject

RUNS = 400
HOUSE = str(Path(fencepost.__file__).parent)
CALLS_PER_ENQUEUE = 22
CALLS_PER_RUN = 65
"""A few more than it takes here: a process that has loaded pydantic asks it about annotations."""


@pytest.fixture
def app(tmp_path: Path) -> Fencepost:
    made = Fencepost(f"sqlite:///{tmp_path}/ledger.db", concurrency=RUNS, prefetch=0)

    @made.job()
    async def noop(run: Run, number: int) -> None:
        return None

    return made


async def test_many_runs_are_enqueued_and_done_with_few_calls_each(app: Fencepost) -> None:
    async with app:
        await app.open()
        payloads: list[JsonObject] = [{"number": number} for number in range(RUNS)]
        assert await calls_each(app.enqueue_many("noop", payloads)) <= CALLS_PER_ENQUEUE
        assert await calls_each(drained(app)) <= CALLS_PER_RUN


async def drained(app: Fencepost) -> None:
    node, stop = await app.node(plans=False), asyncio.Event()
    assert node.working is not None
    reporter = node.working.reporter
    running = asyncio.create_task(node.run(stop))
    async with asyncio.timeout(60):
        # The store works in a thread of its own, which a loop that never rests would keep waiting.
        while reporter.settled < RUNS:  # noqa: ASYNC110 - it has no event of its own
            await asyncio.sleep(0.01)
    stop.set()
    await running


async def calls_each(work: Coroutine[Any, Any, Any]) -> float:
    """How many calls of our own functions the work took for each run, in this thread."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        await work
    finally:
        profile.disable()
    stats: dict[tuple[str, int, str], Any] = vars(pstats.Stats(profile))["stats"]
    ours = [int(numbers[1]) for (file, _, _), numbers in stats.items() if file.startswith(HOUSE)]
    return sum(ours) / RUNS
