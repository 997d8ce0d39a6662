"""How far rules look: a claim at what it may start, and retention at what it may remove."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from fencepost.core.limits import decide
from fencepost.model.claiming import ClaimRequest, LaneLimit
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_QUEUE
from fencepost.model.run import RunState
from fencepost.model.table import Row, Table
from fencepost.model.tables import LIMITS, RUNS
from fencepost.rules.facts import WALK_MAX, late_schedules
from fencepost.rules.part import PAGE_MAX
from fencepost.stores.memory import MemoryStore
from fencepost.stores.memory.rows import MemoryTransaction
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import (
    JOB,
    MANY,
    NS,
    SCHEDULE,
    claim_request,
    enqueue,
    put,
    start_ticks,
)
from fencepost.testing.conformance.limits import limit
from tests.conformance.clocked import START, ClockHarness
from tests.rows import put as put_row

ROOM = 5


@dataclass
class Ground:
    """A store in memory, and how many rows it gave out and wrote, by table."""

    harness: ClockHarness
    store: MemoryStore
    found: dict[Table, int] = field(default_factory=dict)
    changed: dict[Table, int] = field(default_factory=dict)


@pytest.fixture
def ground(monkeypatch: pytest.MonkeyPatch) -> Ground:
    clock = VirtualClock(START)
    store = MemoryStore(clock)
    made = Ground(ClockHarness(store, clock), store)
    find, change = MemoryTransaction.find, MemoryTransaction.change

    async def finding(self: Any, selection: Any, **how: Any) -> list[Row]:
        rows = await find(self, selection, **how)
        made.found[selection.table] = made.found.get(selection.table, 0) + len(rows)
        return rows

    async def changing(self: Any, table: Table, changes: Any) -> list[Row]:
        rows = await change(self, table, changes)
        made.changed[table] = made.changed.get(table, 0) + len(rows)
        return rows

    for name in ("find", "lock", "take"):
        monkeypatch.setattr(MemoryTransaction, name, finding)
    monkeypatch.setattr(MemoryTransaction, "change", changing)
    return made


def of_one_lane() -> ClaimRequest:
    """What a worker with some room asks for where one lane has something due."""
    return replace(claim_request(), lane_limits=(LaneLimit(DEFAULT_QUEUE, 2, ROOM),))


async def lined(ground: Ground, count: int, **terms: Any) -> None:
    await limit(ground.harness, **terms)
    await enqueue(ground.harness, *(f"{number:03}" for number in range(count)))
    await ground.store.ledger.claim_direct(claim_request(), MANY)
    ground.found.clear()
    ground.changed.clear()


@pytest.mark.parametrize("terms", [{"concurrency": ROOM}, {"rate": "100/s"}])
async def test_a_line_is_looked_at_no_further_than_may_start(ground: Ground, terms: dict[str, Any]) -> None:
    await lined(ground, 40, **terms)
    claims = await ground.store.ledger.claim_lined(of_one_lane(), ROOM, decide)
    assert (len(claims), ground.found[RUNS]) == (ROOM, ROOM)


async def test_where_fewer_may_start_than_are_wanted_the_others_are_told_to_wait(ground: Ground) -> None:
    await lined(ground, 40, concurrency=ROOM - 1)
    claims = await ground.store.ledger.claim_lined(of_one_lane(), ROOM, decide)
    assert len(claims) == ROOM - 1
    assert ground.changed[RUNS] > 2 * ROOM


async def test_a_claim_does_not_write_limits_whose_rate_it_did_not_use(ground: Ground) -> None:
    await lined(ground, 10, concurrency=ROOM)
    assert await ground.store.ledger.claim_lined(of_one_lane(), ROOM, decide)
    assert LIMITS not in ground.changed


async def test_a_long_queue_of_one_schedule_is_not_walked_to_its_end(ground: Ground) -> None:
    for number in range(WALK_MAX + 2 * PAGE_MAX):
        at = START + timedelta(milliseconds=number)
        tick = {"namespace": NS, "run_key": f"long#{number:05}", "schedule_id": "long", "job": JOB}
        lane = {"state": RunState.PLANNED, "queue": DEFAULT_QUEUE, "priority": 2}
        put_row(ground.store, RUNS, **tick, **lane, fire_time=at, run_at=at)
    now = StoreTime(START + timedelta(hours=1))
    assert await ground.store.memory.read(lambda tx: late_schedules(tx, now, MANY)) == [(NS, "long")]
    assert WALK_MAX <= ground.found[RUNS] <= WALK_MAX + PAGE_MAX


async def test_ticks_of_a_job_that_a_worker_does_not_do_are_not_in_its_way(ground: Ground) -> None:
    await put(ground.harness)
    for number, job in enumerate(["another"] * WALK_MAX + [JOB]):
        at = START + timedelta(milliseconds=number)
        tick = {"namespace": NS, "run_key": f"tick#{number:05}", "schedule_id": SCHEDULE, "job": job}
        lane = {"state": RunState.PLANNED, "queue": DEFAULT_QUEUE, "priority": 2}
        put_row(ground.store, RUNS, **tick, **lane, fire_time=at, run_at=at, version=1)
    await ground.harness.advance(3_600)
    (claim,) = await start_ticks(ground.harness, limit=ROOM)
    assert claim.run_key == f"tick#{WALK_MAX:05}"


async def test_retention_does_not_read_more_than_it_may_remove(ground: Ground) -> None:
    for number in range(2_000):
        at = START + timedelta(milliseconds=number)
        run = {"namespace": NS, "run_key": f"old#{number:05}", "job": JOB, "queue": DEFAULT_QUEUE}
        ended = {"state": RunState.SUCCEEDED, "priority": 2, "finished_at": at}
        put_row(ground.store, RUNS, **run, **ended, fire_time=at, run_at=at)
    await ground.harness.advance(3_600)
    assert await ground.store.ledger.forget(60.0, ROOM) == ROOM
    assert ground.found[RUNS] == 2 * ROOM
