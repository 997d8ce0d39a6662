"""Jobs with tables of their own, on the bench."""

import pytest

from fencepost import Every, Fencepost, Run
from fencepost.errors import UsageError
from fencepost.model.run import RunState
from fencepost.testing import Bench
from tests.testing.apps import make_app


def writing_app() -> Fencepost:
    app = make_app()

    @app.job()
    async def begin(run: Run) -> None:
        async with run.transaction(complete=False) as tx:
            await tx.execute("create table sent (run_key text primary key)")

    @app.job(schedule=Every("1h"))
    async def one(run: Run) -> None:
        async with run.transaction() as tx:
            await tx.execute("insert into sent values (%s)", (run.key,))

    @app.job(schedule=Every("2h"))
    def other(run: Run) -> None:
        with run.transaction() as tx:
            tx.execute("insert into sent values (%s)", (run.key,))

    @app.job()
    async def count(run: Run) -> int:
        async with run.transaction(complete=False) as tx:
            return int(await tx.fetch_value("select count(*) from sent"))

    return app


async def test_transactions_are_those_of_a_database() -> None:
    app = writing_app()
    async with Bench(app, store="sqlite") as bench:
        await app.enqueue("begin")
        await bench.drain()
        assert {one.state for one in await bench.advance("4h")} == {RunState.SUCCEEDED}
        key = await app.enqueue("count")
        await bench.drain()
        assert bench.output(key) == "6"


async def test_in_memory_there_are_none_and_the_mend_is_said() -> None:
    app = writing_app()
    async with Bench(app) as bench:
        await app.enqueue("begin")
        with pytest.raises(UsageError, match=r'Bench\(app, store="sqlite"\)'):
            await bench.drain()
