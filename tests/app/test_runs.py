"""`app.runs`: what programs do with runs, by their keys."""

from datetime import UTC, datetime

import pytest

from fencepost import Fencepost
from fencepost.errors import UnknownRun
from fencepost.model.run import RunState
from fencepost.testing import Bench

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def make_app() -> Fencepost:
    app = Fencepost("memory://")

    @app.job()
    async def report() -> None: ...

    return app


async def test_a_run_is_held_released_cancelled_and_replayed_by_its_key() -> None:
    app = make_app()
    async with Bench(app, now=NOW) as bench:
        key = await app.enqueue("report", key="1")
        assert (await app.runs.hold(key)).held
        await bench.drain()
        assert not (await app.runs.release(key)).held
        assert (await app.runs.cancel(key)).state is RunState.CANCELLED
        assert (await app.runs.skip(key)).state is RunState.CANCELLED
        assert await app.runs.replay([key]) == [key]
        await bench.drain()
        assert (await app.runs.get(key)).state is RunState.SUCCEEDED


async def test_a_run_that_is_not_there_is_named() -> None:
    app = make_app()
    async with Bench(app, now=NOW):
        with pytest.raises(UnknownRun, match="run report#9: not found"):
            await app.runs.get("report#9")
