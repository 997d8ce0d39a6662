"""The index of held runs stays small: whatever ends a run, nothing holds it any more."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import apsw
import pytest

from fencepost.model.audit import Author
from fencepost.model.claiming import ScheduleFacts, Start, Stop, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import RunKey
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Hold, RunState
from fencepost.stores.sqlite import SqliteStore
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    claim_request,
    death,
    due_ticks,
    finish,
    plan_ticks,
    put,
    read,
    retry,
    start_tick,
    success,
)
from tests.conformance.clocked import ClockHarness
from tests.conformance.on_sqlite import open_sqlite

ANNA = Author("anna", "test", "because")


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ClockHarness]:
    opened = await open_sqlite(tmp_path / "fencepost.db")
    yield opened
    await opened.close()


async def held_rows(harness: ClockHarness) -> int:
    def work(connection: apsw.Connection, _: StoreTime) -> int:
        return int(connection.execute("SELECT count(*) FROM runs INDEXED BY runs_held WHERE held <> 0").get)

    assert isinstance(harness.store, SqliteStore)
    return await harness.store._database.read(work)


async def freeze(harness: ClockHarness) -> None:
    assert await harness.store.freezes.freeze(NS, Scope(ScopeKind.SCHEDULE, SCHEDULE), ANNA)
    assert await held_rows(harness) > 0


async def succeed(harness: ClockHarness, claimed: Claim) -> None:
    await finish(harness, success(claimed.ticket))


async def succeed_with_output(harness: ClockHarness, claimed: Claim) -> None:
    await finish(harness, success(claimed.ticket, output="done"))


async def die(harness: ClockHarness, claimed: Claim) -> None:
    await finish(harness, death(claimed.ticket))


async def cancel_the_retry(harness: ClockHarness, claimed: Claim) -> None:
    await finish(harness, retry(claimed.ticket))
    assert (await read(harness, claimed.run_key)).held is Hold.FROZEN, "its retry is held"
    await harness.store.ledger.cancel(NS, claimed.run_key, "enough", author=ANNA)


async def lose(harness: ClockHarness, claimed: Claim) -> None:
    await harness.advance(60)
    await harness.store.ledger.rescue([Rescue(claimed.ticket, RunState.DEAD, "silent")])


@pytest.mark.parametrize("end", [succeed, succeed_with_output, die, cancel_the_retry, lose])
async def test_a_run_that_was_frozen_while_it_ran_is_not_held_when_it_has_ended(
    harness: ClockHarness, end: Callable[[ClockHarness, Claim], Awaitable[None]]
) -> None:
    claimed = await start_tick(harness)
    await freeze(harness)
    await end(harness, claimed)
    assert (await read(harness, claimed.run_key)).finished_at is not None
    assert await held_rows(harness) == 0


async def test_a_run_that_is_fenced_off_is_not_held(harness: ClockHarness) -> None:
    claimed = await start_tick(harness)
    (other,) = await due_ticks(harness, 60)
    await freeze(harness)
    await harness.store.freezes.thaw(NS, Scope(ScopeKind.SCHEDULE, SCHEDULE), ANNA)
    await harness.store.ledger.claim_ticks(claim_request(), MANY, displacing(claimed.run_key))
    assert (await read(harness, other)).state is RunState.RUNNING
    record = await read(harness, claimed.run_key)
    assert (record.state, record.held, record.alive_until) == (RunState.CANCELLED, Hold.NONE, None)
    (kept,) = await harness.store.ledger.attempts(NS, claimed.run_key)
    assert (kept.outcome, kept.fence) == ("terminated", claimed.fence)
    assert record.fence > claimed.fence
    assert await held_rows(harness) == 0


def displacing(other: RunKey) -> Callable[[ScheduleFacts, StoreTime, int], list[Verdict]]:
    def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
        return [Stop(other, "make way", at_once=True), *(Start(one.run_key) for one in facts.due)]

    return judge


async def test_a_held_tick_that_is_called_off_or_withdrawn_is_not_held(harness: ClockHarness) -> None:
    for schedule_id in (SCHEDULE, OTHER_SCHEDULE):
        await put(harness, schedule_id=schedule_id)
    skipped, cancelled = await plan_ticks(harness, 60, 120)
    (withdrawn,) = await plan_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
    ledger = harness.store.ledger
    for key in (skipped, cancelled, withdrawn):
        await ledger.hold(NS, key, ANNA)
    assert await held_rows(harness) == 3
    await ledger.skip(NS, skipped, ANNA)
    await ledger.cancel(NS, cancelled, "no", author=ANNA)
    await harness.store.schedules.pause(NS, OTHER_SCHEDULE, "later", author=ANNA)
    assert await held_rows(harness) == 0
