"""What is given again after a lost answer, and what is not: a run that was begun and given up."""

import pytest

from fencepost.model.run import RunState
from fencepost.services.reaper import Reaper
from tests.services.house import START
from tests.web.house import Web


@pytest.mark.parametrize("job", ["resize", "once"])
async def test_a_claim_whose_answer_was_lost_is_given_again_whatever_the_delivery(web: Web, job: str) -> None:
    await web.enqueue("1", job)
    (lost,) = await web.claim("w1", job)
    web.house.clock.advance(29)
    (again,) = await web.claim("w1", job)
    assert (again["attempt"], again["fence"]) == (lost["attempt"], lost["fence"])


async def test_an_adopted_run_lives_from_now_on(web: Web) -> None:
    key = await web.house.enqueue("1", "resize")
    await web.claim("w1")
    web.house.clock.advance(25)
    await web.claim("w1")
    record = await web.house.run(key)
    assert record.alive_until is not None
    assert (record.alive_until - START).total_seconds() == 55


@pytest.mark.parametrize("job", ["resize", "once"])
async def test_a_run_whose_life_is_over_is_the_reapers_and_not_adopted(web: Web, job: str) -> None:
    """The worker heard nothing for so long that it gave the run up, and nobody has swept yet."""
    key = await web.enqueue("1", job)
    (given,) = await web.claim("w1", job)
    web.house.clock.advance(30)
    assert await web.claim("w1", job) == []
    record = await web.house.run(key)
    assert (record.state, record.fence) == (RunState.RUNNING, given["fence"])
    web.house.clock.advance(1)
    await Reaper(web.house.store, web.house.settings).run_once()
    assert (await web.house.run(key)).state is (RunState.DEAD if job == "once" else RunState.READY)


async def test_an_at_most_once_run_is_not_given_again_once_it_may_have_been_given_up(web: Web) -> None:
    """Heartbeats arrived and their answers did not: the ledger takes the run to be alive, the worker does
    not, and it has forgotten the fence."""
    await web.enqueue("1", "once")
    (run,) = await web.claim("w1", "once")
    for _ in range(2):
        web.house.clock.advance(15)
        assert (await web.report(run, "heartbeat")).status == 200
    assert await web.claim("w1", "once") == []


async def test_what_is_not_given_again_leaves_room_for_what_is(web: Web) -> None:
    await web.enqueue("1", "once")
    (old,) = await web.claim("w1", "once")
    web.house.clock.advance(30)
    await web.enqueue("2", "once")
    (lost,) = await web.claim("w1", "once", known=[old["fence"]])
    (again,) = await web.claim("w1", "once", limit=1)
    assert again["run_key"] == lost["run_key"] == "once#2"


async def test_progress_counts_when_a_run_is_adopted(web: Web) -> None:
    """40 s without progress end it; the claim itself does not say when the last progress came."""
    await web.enqueue("1", "watched")
    (run,) = await web.claim("w1", "watched")
    web.house.clock.advance(25)
    assert (await web.report(run, "heartbeat", progress=0.5)).status == 200
    web.house.clock.advance(20)
    (again,) = await web.claim("w1", "watched")
    assert (again["fence"], again["alive_for_s"]) == (run["fence"], 20.0)
