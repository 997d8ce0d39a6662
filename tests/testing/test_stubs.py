"""What stands in for work that a test does not do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fencepost import Fencepost, Retry
from fencepost.manifest import load
from fencepost.model.run import RunState
from fencepost.testing import Bench, NotOnTheBench
from tests.testing.apps import STARTS, make_app


async def test_other_kinds_of_work_are_refused_until_they_have_a_stand_in(tmp_path: Path) -> None:
    file = tmp_path / "fencepost.toml"
    file.write_text('[jobs.backup]\ncommand = ["/bin/true"]\n')
    app = load(file, {})
    async with Bench(app, now=STARTS) as bench:
        await app.enqueue("backup", key="1")
        with pytest.raises(NotOnTheBench, match=r"bench\.stub\('backup'"):
            await bench.drain()
    async with Bench(app, now=STARTS) as bench:
        stub = bench.stub("backup", {"files": 3}, takes="10m")
        key = await app.enqueue("backup", key="1")
        await bench.advance("9m")
        assert bench.run(key).state is RunState.RUNNING
        await bench.advance("1m")
        assert bench.run(key).state is RunState.SUCCEEDED
        assert len(stub.calls) == 1
    async with Bench(app, real=["backup"]) as bench:
        key = await app.enqueue("backup", key="1")
        await bench.drain()
        assert bench.run(key).state is RunState.SUCCEEDED


async def test_a_stand_in_may_fail_or_answer_by_the_run() -> None:
    app = make_app()

    @app.job(retry=Retry(max_attempts=1))
    async def charge(amount: int) -> str:
        raise AssertionError("the real thing")

    async with Bench(app, raises=False) as bench:
        bench.stub(charge, lambda run: run.payload["amount"] * 2)
        assert bench.output(await _done(app, bench, charge, 4)) == "8"
        bench.stub(charge, raises=ConnectionError("away"))
        key = await _done(app, bench, charge, 5)
        assert bench.run(key).error == "ConnectionError: away"


async def _done(app: Fencepost, bench: Bench, job: Callable[..., Any], amount: int) -> str:
    key = await app.enqueue(job, amount=amount)
    await bench.drain()
    return key
