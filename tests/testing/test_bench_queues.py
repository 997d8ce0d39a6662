"""Every queue that a schedule names is worked on the bench, whenever the schedule was written."""

import pytest

from fencepost import Every, Fencepost, Run
from fencepost.model.run import RunState
from fencepost.testing import Bench
from tests.testing.apps import STARTS, make_app

ADDED = "hourly"


def mailing() -> Fencepost:
    app = make_app()

    @app.job()
    async def send(run: Run) -> None: ...

    return app


def states(bench: Bench) -> list[RunState]:
    """Of the runs of which the schedule was not removed."""
    runs = [one for one in bench.runs("send") if one.state is not RunState.WITHDRAWN]
    assert {one.queue for one in runs} == {"mail"}
    return [one.state for one in runs]


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_queue_of_a_schedule_that_is_added_later_is_worked(store: str) -> None:
    app = mailing()
    async with Bench(app, now=STARTS, store=store) as bench:
        await bench.drain()
        await app.schedules.add(ADDED, job="send", trigger=Every("1h"), queue="mail")
        await bench.advance("3h")
        assert states(bench)[:3] == [RunState.SUCCEEDED] * 3


async def test_a_queue_of_a_schedule_in_code_is_worked() -> None:
    app = mailing()
    app.add_schedule(ADDED, job="send", trigger=Every("1h"), queue="mail")
    async with Bench(app, now=STARTS) as bench:
        await bench.advance("3h")
        assert states(bench)[:3] == [RunState.SUCCEEDED] * 3


async def test_a_queue_that_came_later_is_worked_after_a_crash_too() -> None:
    app = mailing()
    app.add_schedule(ADDED, job="send", trigger=Every("1h"))
    async with Bench(app, now=STARTS) as bench:
        await bench.drain()
        await app.schedules.remove(ADDED)
        await app.schedules.add("more", job="send", trigger=Every("1h"), queue="mail")
        await bench.drain()
        assert bench._engine is not None
        await bench._engine.crash()
        await bench.advance("3h")
        assert states(bench)[:3] == [RunState.SUCCEEDED] * 3
