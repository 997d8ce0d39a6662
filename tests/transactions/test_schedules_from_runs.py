"""Runs that change schedules, done by a real worker: the change and the success are one commit."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fencepost import Every, Fencepost, Retry, Run
from fencepost.errors import UnknownSchedule
from fencepost.model.run import RunState
from tests.executors.test_process_jobs import until_ended
from tests.transactions.ground import Ground

QUICK = Retry(max_attempts=2, base="10ms", cap="10ms", budget=None)


@pytest.fixture
async def app(ground: Ground) -> AsyncIterator[Fencepost]:
    """What consumes from a stream of changes. A message is a run of `subscribe`; its failure is in it."""
    app = Fencepost(ground.url, poll_s=0.2)

    @app.job()
    async def report() -> None: ...

    @app.job(retry=QUICK)
    async def subscribe(run: Run, period: str, fails: str = "") -> None:
        async with run.transaction() as tx:
            schedules = app.schedules.within(tx)
            words = {"job": "report", "trigger": Every(period)}
            await schedules.add_many([("changed", words), ("new", words)])
            await schedules.remove("removed")
            if fails == "inside":
                raise LookupError("no such customer")
        if fails == "after":
            raise LookupError("no such customer")

    async with app:
        for name in ("changed", "removed"):
            await app.schedules.add(name, job="report", trigger=Every("1h"))
        yield app


async def test_no_schedule_changes_by_a_run_that_fails(app: Fencepost) -> None:
    async with app.running(plans=False):
        key = await app.enqueue("subscribe", period="2h", fails="inside")
        run, attempts = await until_ended(app, key)
    assert (run.state, run.error) == (RunState.DEAD, "LookupError: no such customer")
    assert [one.outcome for one in attempts] == ["failed", "dead"]
    changed = await app.schedules.get("changed")
    assert (changed.version, changed.spec.trigger["interval"]) == (1, "1h")
    assert (await app.schedules.get("removed")).version == 1
    with pytest.raises(UnknownSchedule):
        await app.schedules.get("new")


@pytest.mark.parametrize("fails", ["", "after"])
async def test_a_change_that_is_committed_is_no_failure(app: Fencepost, fails: str) -> None:
    """An exception after the commit comes too late: the transaction was the success."""
    async with app.running(plans=False):
        key = await app.enqueue("subscribe", period="2h", fails=fails)
        run, _ = await until_ended(app, key)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 1)
    for name in ("changed", "new"):
        assert (await app.schedules.get(name)).spec.trigger["interval"] == "2h"
    with pytest.raises(UnknownSchedule):
        await app.schedules.get("removed")
