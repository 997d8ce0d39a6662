"""Outcomes reach the ledger once, in batches, and none is dropped on the way."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fencepost.errors import PermanentFailure, StoreUnavailable
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Outcome, RunFilter, RunState
from fencepost.services.active import ActiveRun, ActiveRuns
from fencepost.services.reporter import IDLE_S, SUCCEEDED_LINES_MAX, Reporter
from fencepost.telemetry.logs import PlainFormatter
from tests.services.conftest import Lines
from tests.services.house import NS, House, WorkingNode, make_job, until


async def claimed(house: House, count: int) -> list[Claim]:
    for number in range(count):
        await house.enqueue(str(number))
    claim_request = ClaimRequest(NodeId("worker-1"), house.settings.queues, (JobName("report"),), 30)
    return list(await house.memory.ledger.claim_direct(claim_request, count))


def success(claim: Claim) -> Outcome:
    return Outcome(claim.ticket, RunState.SUCCEEDED)


def open_reporter(house: House, claims: list[Claim]) -> tuple[Reporter, ActiveRuns]:
    active = ActiveRuns()
    for claim in claims:
        active.add(ActiveRun(claim))
    return Reporter(house.store, active, house.settings), active


async def test_nothing_filed_asks_nothing_of_the_store() -> None:
    house = House()
    reporter, _ = open_reporter(house, [])
    assert await reporter.run_once() == IDLE_S
    assert house.store.calls == []
    await reporter.done()


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_outcomes_are_kept_while_the_store_is_away_and_end_the_run_once(lost: str) -> None:
    house = House()
    claims = await claimed(house, 3)
    reporter, active = open_reporter(house, claims)
    for claim in claims:
        reporter.file(success(claim))
    fail = house.store.fail_before if lost == "before" else house.store.fail_after
    fail("ledger.finish", times=2)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await reporter.run_once()
        assert (reporter.backlog, len(active), reporter.settled) == (3, 3, 0)

    await reporter.run_once()
    assert (reporter.backlog, len(active), reporter.settled) == (0, 0, 3)
    assert await house.states() == [RunState.SUCCEEDED] * 3
    await reporter.done()


async def test_a_failure_whose_report_was_not_answered_is_not_counted_twice() -> None:
    house = House()
    (claim,) = await claimed(house, 1)
    reporter, _ = open_reporter(house, [claim])
    reporter.file(Outcome(claim.ticket, RunState.READY, "waits", "boom", retry_in_s=30.0))
    house.store.fail_after("ledger.finish")
    with pytest.raises(StoreUnavailable):
        await reporter.run_once()
    due = (await house.run(claim.run_key)).run_at
    house.clock.advance(5)
    await reporter.run_once()
    run = await house.run(claim.run_key)
    assert (run.attempt, run.run_at) == (1, due)
    assert len(await house.memory.ledger.attempts(claim.namespace, claim.run_key)) == 1


async def test_many_successes_of_one_report_are_one_line_and_a_line_each_only_at_debug(lines: Lines) -> None:
    house = House()
    claims = await claimed(house, SUCCEEDED_LINES_MAX + 2)
    reporter, _ = open_reporter(house, claims)
    for claim in claims[:-1]:
        reporter.file(success(claim))
    reporter.file(Outcome(claims[-1].ticket, RunState.DEAD, "gave up", "boom"))
    await reporter.run_once()

    told, *each = lines.about("succeeded")
    assert told["runs"] == SUCCEEDED_LINES_MAX + 1
    assert [line["run_key"] for line in each] == [claim.run_key for claim in claims[:-1]]
    assert lines.levels("succeeded") == [logging.INFO] + [logging.DEBUG] * len(each)
    assert [line["run_key"] for line in lines.about("dead")] == [claims[-1].run_key]


async def test_the_traceback_in_the_terminal_is_that_of_the_ledger_without_our_frames(lines: Lines) -> None:
    def refuse() -> None:
        raise PermanentFailure("no such invoice")

    house = House()
    node = WorkingNode(house, make_job(refuse))
    await node.register()
    await house.enqueue("1")
    await node.worker.run_once()
    await node.reported(0)
    (run,) = await house.memory.ledger.list(NS, RunFilter(state=RunState.DEAD))
    (attempt,) = await house.memory.ledger.attempts(NS, run.run_key)
    (line,) = lines.about("dead")
    told = str(line["traceback"])
    assert told == attempt.detail
    assert "in refuse" in told
    assert "fencepost/services" not in told
    assert "/asyncio/" not in told
    record = logging.LogRecord("fencepost.reporter", logging.WARNING, "", 0, "dead", None, None)
    record.fencepost_fields = line
    first, *rest = PlainFormatter().format(record).split("\n")
    assert "traceback" not in first
    assert "\n".join(rest) == told.rstrip()


async def test_a_repeated_report_is_not_logged_as_refused_and_a_refused_one_is(lines: Lines) -> None:
    house = House()
    repeated, refused = await claimed(house, 2)
    await house.memory.ledger.finish([success(repeated)])
    house.clock.advance(31)
    await house.memory.ledger.rescue([Rescue(refused.ticket, RunState.READY, "silent")])
    reporter, active = open_reporter(house, [repeated, refused])
    for claim in (repeated, refused):
        reporter.file(success(claim))
    await reporter.run_once()
    assert [line["run_key"] for line in lines.about("late report refused")] == [refused.run_key]
    assert [line["run_key"] for line in lines.about("succeeded")] == [repeated.run_key]
    assert len(active) == 0
    assert (await house.run(refused.run_key)).state is RunState.READY


async def test_no_report_is_larger_than_a_batch() -> None:
    house = House(finish_batch_max=4)
    claims = await claimed(house, 10)
    reporter, _ = open_reporter(house, claims)
    for claim in claims:
        reporter.file(success(claim))
    rests = [await reporter.run_once() for _ in range(3)]
    sizes = [len(outcomes) for (outcomes,) in house.store.arguments("ledger.finish")]
    assert (sizes, rests) == ([4, 4, 2], [0.0, 0.0, IDLE_S])


async def test_outcomes_filed_during_a_report_are_not_dropped() -> None:
    house = House()
    first, second = await claimed(house, 2)
    reporter, active = open_reporter(house, [first, second])
    reporter.file(success(first))
    reporting = house.store.hold_answer("ledger.finish")
    passing = asyncio.create_task(reporter.run_once())
    await reporting.reached.wait()
    reporter.file(success(second))
    reporting.go.set()
    assert await passing == 0.0
    assert (reporter.backlog, active.fences()) == (1, [second.fence])
    await reporter.run_once()
    assert await house.states() == [RunState.SUCCEEDED] * 2


async def test_done_does_not_return_before_the_ledger_has_everything() -> None:
    house = House(finish_delay_s=0.001)
    claims = await claimed(house, 3)
    reporter, _ = open_reporter(house, claims)
    for claim in claims:
        reporter.file(success(claim))
    house.store.fail_before("ledger.finish")
    done = asyncio.create_task(reporter.done())
    running = asyncio.create_task(reporter.run())
    await until(done.done)
    assert await house.states() == [RunState.SUCCEEDED] * 3
    running.cancel()
    await asyncio.wait({running})
