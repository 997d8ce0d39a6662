"""I10: the job's writes and the success marker are one commit. Where one of them cannot be, neither is."""

from __future__ import annotations

import pytest

from fencepost import Run
from fencepost.errors import RunLost
from fencepost.model.run import RunState
from tests.servers.postgres import execute
from tests.transactions.ground import Ground
from tests.transactions.hands import awaited_driver

INSERT = "INSERT INTO sent VALUES (%s, %s)"
NO_MARKER_ON_SQLITE = """
CREATE TRIGGER no_marker BEFORE UPDATE ON runs WHEN new.state = 'succeeded'
BEGIN SELECT RAISE(ABORT, 'no marker today'); END
"""
NO_MARKER_ON_POSTGRES = """
CREATE FUNCTION no_marker() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION ''no marker today''; END';
CREATE TRIGGER no_marker BEFORE UPDATE ON fencepost.runs FOR EACH ROW
    WHEN (new.state = 'succeeded') EXECUTE FUNCTION no_marker();
"""


async def refuse_markers(ground: Ground) -> None:
    """From now on no run can be marked as succeeded, by whatever transaction."""
    if ground.url.startswith("postgres"):
        await execute(ground.url, NO_MARKER_ON_POSTGRES)
        return
    import apsw

    maker = apsw.Connection(ground.url.removeprefix("sqlite:///"))
    maker.execute(NO_MARKER_ON_SQLITE)
    maker.close()


async def test_no_row_is_there_where_its_marker_cannot_be(ground: Ground) -> None:
    run = ground.run(claim := await ground.claimed())
    await refuse_markers(ground)
    with pytest.raises(Exception, match="no marker today"):
        async with run.transaction() as tx:
            await tx.execute(INSERT, (run.key, run.fence))
    assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.RUNNING)


async def test_no_marker_is_there_where_its_row_cannot_be(ground: Ground) -> None:
    """A write that fails takes back all that came before it."""
    run = ground.run(claim := await ground.claimed())
    with pytest.raises(Exception, match=r"(?i)null"):
        await _write_badly(run)
    assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.RUNNING)


async def _write_badly(run: Run) -> None:
    async with run.transaction() as tx:
        await tx.execute(INSERT, (run.key, run.fence))
        await tx.execute(INSERT, (run.key, None))


async def test_no_reader_sees_the_marker_of_a_transaction_before_its_commit(ground: Ground) -> None:
    opened = awaited_driver(ground)
    run = ground.run(claim := await ground.claimed())
    async with opened(ground.url) as hand:
        await hand.insert(run.key, run.fence)
        await run.complete_in(hand.connection)
        assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.RUNNING)
        await hand.commit()
    assert len(await ground.sent()) == 1
    assert await ground.state(claim.run_key) is RunState.SUCCEEDED


async def test_a_marker_that_cannot_be_written_does_not_leave_the_run_half_done(ground: Ground) -> None:
    opened = awaited_driver(ground)
    run = ground.run(claim := await ground.claimed())
    await refuse_markers(ground)
    async with opened(ground.url) as hand:
        await hand.insert(run.key, run.fence)
        with pytest.raises(Exception, match="no marker today"):
            await run.complete_in(hand.connection)
        await hand.rollback()
    assert (await ground.sent(), await ground.state(claim.run_key)) == ([], RunState.RUNNING)


async def test_a_run_that_ended_meanwhile_takes_no_second_row(ground: Ground) -> None:
    """Two transactions of one attempt: the second finds that the run is nobody's."""
    opened = awaited_driver(ground)
    run = ground.run(await ground.claimed())
    async with run.transaction() as tx:
        await tx.execute(INSERT, (run.key, 1))
    async with opened(ground.url) as hand:
        await hand.insert(run.key, 2)
        with pytest.raises(RunLost):
            await run.complete_in(hand.connection)
        await hand.rollback()
    assert await ground.sent() == [(run.key, 1)]
