"""Silent runs are taken away once, and ticks that nobody came for are accounted for."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest

from fencepost.core.liveness import sweep_every_s, sweep_terms
from fencepost.errors import StoreUnavailable
from fencepost.model.claiming import ClaimRequest, ScheduleFacts, Verdict, Wait
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.job import JobSpec, Retry
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.rescue import Sweep, SweepTerms
from fencepost.model.run import Outcome, Receipt, RunState, Ticket
from fencepost.model.schedule import ScheduleSpec
from fencepost.services.reaper import Reaper
from fencepost.triggers import Cron, Every
from tests.services.conftest import Lines
from tests.services.house import LATEST, NS, House, PlanningNode

TIMEOUT_S = 30.0
APPETITE = ClaimRequest(NodeId("worker-1"), House().settings.queues, (JobName("report"),), TIMEOUT_S)


async def claim(house: House, count: int = 1, **job: Any) -> None:
    await house.memory.jobs.register(NS, [JobSpec(JobName("report"), **job)])
    for number in range(count):
        await house.enqueue(str(number))
    assert len(await house.memory.ledger.claim_direct(APPETITE, count)) == count


async def plan(house: House, **spec: Any) -> None:
    await house.put("beat", every_s=10, **spec)
    node = PlanningNode(house, "planner")
    await node.elector.run_once()
    await node.planner.run_once()


async def test_a_run_is_not_taken_away_within_its_time() -> None:
    house = House()
    await claim(house)
    house.clock.advance(TIMEOUT_S)
    await Reaper(house.store, house.settings).run_once()
    assert await house.states() == [RunState.RUNNING]


@pytest.mark.parametrize(
    ("job", "state"),
    [
        ({}, RunState.READY),
        ({"retry": Retry(max_attempts=1)}, RunState.DEAD),
        ({"at_most_once": True}, RunState.DEAD),
    ],
)
async def test_a_silent_run_is_rescued_or_given_up(
    job: dict[str, Any], state: RunState, lines: Lines
) -> None:
    house = House()
    await claim(house, **job)
    house.clock.advance(TIMEOUT_S + 0.001)
    await Reaper(house.store, house.settings).run_once()
    assert await house.states() == [state]
    (line,) = lines.about("rescued")
    assert (line["run_key"], line["state"]) == ("report#0", state)


async def test_the_old_attempt_is_refused_after_a_rescue() -> None:
    house = House()
    await claim(house)
    (run,) = await house.runs()
    (silent,) = await silent_after(house)
    await Reaper(house.store, house.settings).run_once()
    assert await house.memory.ledger.finish([Outcome(silent, RunState.SUCCEEDED)]) == [Receipt.REFUSED]
    assert (await house.run(run.run_key)).state is RunState.READY


async def test_attempts_are_counted_through_crashes() -> None:
    house = House()
    await claim(house, retry=Retry(max_attempts=3))
    for _ in range(3):
        await stay_silent(house)
        await house.memory.ledger.claim_direct(APPETITE, 1)
    (run,) = await house.runs()
    assert (run.state, run.attempt) == (RunState.DEAD, 3)


async def test_two_reapers_do_not_rescue_one_run_twice(lines: Lines) -> None:
    house = House()
    await claim(house)
    house.clock.advance(TIMEOUT_S + 1)

    async def overtake() -> None:
        await Reaper(house.memory, house.settings).run_once()

    house.store.before["ledger.rescue"].append(overtake)
    await Reaper(house.store, house.settings).run_once()
    assert len(lines.about("rescued")) == 1
    (run,) = await house.runs()
    assert len(await house.memory.ledger.attempts(NS, run.run_key)) == 1


async def test_a_run_that_shows_life_at_the_last_moment_is_left_alone() -> None:
    house = House()
    await claim(house)
    (ticket,) = await silent_after(house)

    async def beat() -> None:
        await house.memory.ledger.pulse([ticket], TIMEOUT_S)

    house.store.before["ledger.rescue"].append(beat)
    await Reaper(house.store, house.settings).run_once()
    assert await house.states() == [RunState.RUNNING]


async def test_a_full_batch_is_followed_at_once_by_the_next() -> None:
    house = House(reap_batch_max=2)
    await claim(house, count=5)
    house.clock.advance(TIMEOUT_S + 1)
    reaper = Reaper(house.store, house.settings)
    rests = [await reaper.run_once() for _ in range(3)]
    assert rests == [0.0, 0.0, house.settings.reap_every_s]
    assert await house.states() == [RunState.READY] * 5


async def test_ticks_that_no_worker_claimed_are_missed_and_not_left_open() -> None:
    house = House()
    await plan(house)
    house.clock.advance(100)
    await Reaper(house.store, house.settings).run_once()
    states = await house.states()
    assert states == [RunState.MISSED] * 3 + [RunState.READY] * 3
    assert {one.reason for one in await house.runs() if one.state is RunState.MISSED} == {
        "too late: max_lateness is 60s"
    }


async def test_a_sweep_starts_nothing_and_ends_nothing_that_may_still_run() -> None:
    house = House()
    await plan(house, catch_up=LATEST)
    house.clock.advance(70)
    await Reaper(house.store, house.settings).run_once()
    states = await house.states()
    assert states == [RunState.MISSED] * 5 + [RunState.READY]
    assert RunState.RUNNING not in states


async def test_the_latest_tick_does_not_give_way_to_one_that_does_not_exist() -> None:
    """It fires never on Mondays. The planners looked through a part of Monday, and were away then."""
    house, latest = House(), CatchUp("latest", "1d")
    trigger = Every("5s") - Cron("* * * * * MON")
    house.clock.advance(11 * 3600 + 59 * 60 + 30)
    await house.put_spec("beat", ScheduleSpec(JobName("report"), trigger=trigger.to_json(), catch_up=latest))
    node = PlanningNode(house, "planner")
    await node.elector.run_once()
    await node.planner.run_once()
    house.clock.advance(20 * 3600)
    await Reaper(house.store, house.settings).run_once()
    assert await house.states() == [RunState.MISSED] * 4 + [RunState.READY]


async def test_a_tick_whose_bell_was_missed_is_called() -> None:
    house = House()
    await plan(house, overlap=Overlap.BUFFER_ALL)
    house.clock.advance(10)

    def park(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
        return [Wait(one.run_key, "waits") for one in facts.due]

    await house.memory.ledger.claim_ticks(APPETITE, 10, park)
    assert (await house.memory.ledger.outlook(APPETITE)).tick is None
    await Reaper(house.store, house.settings).run_once()
    assert (await house.memory.ledger.outlook(APPETITE)).tick is not None


async def test_the_stores_absence_is_not_swallowed() -> None:
    house = House()
    house.store.fail_before("ledger.expired")
    with pytest.raises(StoreUnavailable):
        await Reaper(house.store, house.settings).run_once()


@pytest.mark.parametrize("away_s", [16, 40, 45, 50, 59])
async def test_an_absence_of_the_store_does_not_take_runs_from_the_living(away_s: float) -> None:
    house = House(reap_batch_max=5)
    reaper, again = (Reaper(house.store, house.settings) for _ in range(2))
    await claim(house, count=20, at_most_once=True)
    tickets = [Ticket(NS, one.run_key, one.attempt, one.fence) for one in await house.runs()]
    await reaper.run_once()
    house.clock.advance(away_s)
    for one in (reaper, again, reaper, again):
        await one.run_once()
    house.clock.advance(house.settings.heartbeat_every_s)
    assert all(one.owned for one in await house.memory.ledger.pulse(tickets, TIMEOUT_S))
    for _ in range(5):
        await reaper.run_once()
        house.clock.advance(house.settings.reap_every_s)
    assert await house.states() == [RunState.RUNNING] * 20


async def test_the_dead_are_rescued_one_heartbeat_timeout_after_the_store_is_back(lines: Lines) -> None:
    house = House()
    await claim(house)
    reaper = Reaper(house.store, house.settings)
    await reaper.run_once()
    house.clock.advance(59)
    for _ in range(6):
        house.clock.advance(await reaper.run_once())
    await reaper.run_once()
    assert await house.states() == [RunState.RUNNING]
    house.clock.advance(0.001)
    await reaper.run_once()
    assert await house.states() == [RunState.READY]
    (line,) = lines.about("rescues wait: the store or the whole fleet was away")
    assert (line["last_sweep_s"], line["grace_s"]) == (59, TIMEOUT_S)


@pytest.mark.parametrize("up_s", [5, 10, 25, 29, 60])
@pytest.mark.parametrize("away_s", [16, 45])
async def test_a_store_that_comes_and_goes_does_not_keep_a_dead_owners_run(up_s: int, away_s: int) -> None:
    """The living show life once each time that the store is there, as late as they may."""
    house = House()
    await claim(house, count=2, at_most_once=True)
    dead, living = [Ticket(NS, one.run_key, one.attempt, one.fence) for one in await house.runs()]
    reaper = Reaper(house.store, house.settings)
    for _ in range(2 + 2 * ceil(TIMEOUT_S / up_s)):
        for second in range(up_s + 1):
            if second % house.settings.reap_every_s == 0:
                await reaper.run_once()
            if second in (20, 40, up_s):
                assert all(one.owned for one in await house.memory.ledger.pulse([living], TIMEOUT_S))
            house.clock.advance(1)
        house.clock.advance(away_s)
    assert (await house.run(living.run_key)).state is RunState.RUNNING
    assert (await house.run(dead.run_key)).state is RunState.DEAD


async def test_an_answer_that_waited_out_an_absence_does_not_take_runs() -> None:
    """The list was made when the store was well; whoever is on it was silent then."""
    house = House()
    await claim(house, count=2)
    quiet, other = [Ticket(NS, one.run_key, one.attempt, one.fence) for one in await house.runs()]
    reaper = Reaper(house.store, house.settings)
    house.clock.advance(20)
    await house.memory.ledger.pulse([other], TIMEOUT_S)
    house.clock.advance(11)

    async def stand_still() -> None:
        house.clock.advance(45)

    house.store.before["ledger.rescue"].append(stand_still)
    await reaper.run_once()
    states = {one.run_key: one.state for one in await house.runs()}
    assert states == {quiet.run_key: RunState.READY, other.run_key: RunState.RUNNING}


async def test_a_reaper_does_not_rest_longer_than_a_gap_that_it_must_tell() -> None:
    house = House(heartbeat_every_s=1, heartbeat_timeout_s=3, reap_every_s=5)
    await claim(house)
    assert await Reaper(house.store, house.settings).run_once() == 0.5


async def test_a_reaper_that_is_told_of_quiet_asks_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House()

    async def quiet(limit: int, terms: SweepTerms) -> Sweep:
        return Sweep(quiet=True)

    monkeypatch.setattr(house.memory.ledger, "expired", quiet)
    assert await Reaper(house.store, house.settings).run_once() == 7.5
    assert [name for name, _ in house.store.calls] == ["ledger.expired"]


@pytest.mark.parametrize("timeout_s", [3.0, 30.0])
def test_after_a_quiet_sweep_one_that_is_missed_is_not_taken_for_an_absence(timeout_s: float) -> None:
    terms = sweep_terms(timeout_s)
    assert 2 * sweep_every_s(5.0, terms, quiet=True) <= terms.gap_max_s


async def stay_silent(house: House) -> None:
    """Let the reaper make its passes until a run counts as silent."""
    reaper = Reaper(house.store, house.settings)
    for _ in range(4):
        await reaper.run_once()
        house.clock.advance(10)
    await reaper.run_once()


async def silent_after(house: House) -> list[Ticket]:
    house.clock.advance(TIMEOUT_S + 1)
    found = await house.memory.ledger.expired(10, sweep_terms(TIMEOUT_S))
    return [one.ticket for one in found.expired]
