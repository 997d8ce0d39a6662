"""What is asked about many is asked at once: the way to the store and back is not gone for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fencepost.core.limits import decide
from fencepost.model.claiming import Admit, CloseGate, ScheduleFacts, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.plan import Tick
from fencepost.model.rescue import Rescue
from fencepost.model.run import RunState
from fencepost.model.schedule import DesiredSchedule
from fencepost.operations.calendars import ListCalendarsRequest, list_calendars
from fencepost.operations.cancelling import CancelRunsRequest, cancel_runs
from fencepost.operations.control import Control
from fencepost.operations.dead import ReplayDeadRequest, replay_dead
from fencepost.operations.gates import ListGatesRequest, list_gates
from fencepost.operations.runs import ReplayRunsRequest, replay_runs
from fencepost.stores.postgres import connection as on_postgres
from fencepost.stores.sqlite.connection import Database
from fencepost.testing.conformance.builders import MANY, NS, TZDATA, claim_request, enqueue, make_spec, put
from fencepost.testing.conformance.calendars import CHRISTMAS, using
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.limits import limit, line_up
from fencepost.testing.conformance.operators import ANNA
from tests.conformance.on_postgres import open_postgres
from tests.conformance.on_sqlite import open_sqlite

FEW, MORE = 2, 40
TRIPS_MAX = 16
"""Those of two transactions, with their begin and their end."""
LINED_MAX = 6
"""With begin and end."""
NOBODY = "job#nobody"


@dataclass
class Ground:
    """A store, and what was sent to it: statements, or for a store in this process the hops to its thread."""

    harness: StoreHarness
    sent: list[str] = field(default_factory=list)

    @property
    def control(self) -> Control:
        return Control(self.harness.store, NS, ANNA)

    async def trips(self, asking: Awaitable[Any]) -> int:
        """How often the store is asked for this. What was sent before is told a moment later."""
        await asyncio.sleep(0)
        self.sent.clear()
        await asking
        return len(self.sent)


@pytest.fixture
async def sqlite_ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ground]:
    ground = Ground(await open_sqlite(tmp_path / "ledger.db"))
    submit = Database._submit

    async def counted(database: Database, work: Any, *, writes: bool) -> Any:
        ground.sent.append("write" if writes else "read")
        return await submit(database, work, writes=writes)

    monkeypatch.setattr(Database, "_submit", counted)
    yield ground
    await ground.harness.store.close()


@pytest.fixture
async def postgres_ground(shared_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ground]:
    sent: list[str] = []
    init = on_postgres._init

    async def listened(connection: Any) -> None:
        await init(connection)
        connection.add_query_logger(lambda record: sent.append(record.query))

    monkeypatch.setattr(on_postgres, "_init", listened)
    opened = await open_postgres(shared_postgres_url)
    yield Ground(opened, sent)
    await opened.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def ground(request: pytest.FixtureRequest) -> Ground:
    opened: Ground = request.getfixturevalue(f"{request.param}_ground")
    return opened


async def waiting(ground: Ground, count: int, stem: str) -> list[RunKey]:
    return await enqueue(ground.harness, *(f"{stem}-{number}" for number in range(count)))


async def cancel(ground: Ground, count: int) -> Awaitable[Any]:
    keys = [*await waiting(ground, count, f"cancel-{count}"), NOBODY]
    return cancel_runs.carry_out(ground.control, CancelRunsRequest(run_keys=keys))


async def replay(ground: Ground, count: int) -> Awaitable[Any]:
    keys = await waiting(ground, count, f"replay-{count}")
    await ground.harness.store.ledger.cancel_many(NS, keys, "enough")
    return replay_runs.carry_out(ground.control, ReplayRunsRequest(run_keys=list(keys)))


async def replay_what_is_not_dead(ground: Ground, count: int) -> Awaitable[Any]:
    keys = [*await waiting(ground, count, f"left-{count}"), NOBODY]
    return replay_dead.carry_out(ground.control, ReplayDeadRequest(run_keys=keys))


async def replay_for_a_look(ground: Ground, count: int) -> Awaitable[Any]:
    keys = [*await waiting(ground, count, f"look-{count}"), NOBODY]
    return replay_dead.carry_out(ground.control, ReplayDeadRequest(run_keys=keys, dry_run=True))


async def rescue(ground: Ground, count: int) -> Awaitable[Any]:
    await waiting(ground, count, f"silent-{count}")
    claims = await ground.harness.store.ledger.claim_direct(claim_request(), MANY)
    await ground.harness.advance(3_600)
    lost = [Rescue(one.ticket, RunState.READY, "silent", 0.0) for one in claims]
    return ground.harness.store.ledger.rescue(lost)


async def gates(ground: Ground, count: int) -> Awaitable[Any]:
    harness = ground.harness
    for number in range(count):
        name = ScheduleId(f"gate-{count}-{number:02}")
        await put(harness, schedule_id=name)
        due = harness.now + timedelta(seconds=1)
        await harness.store.ledger.plan_by_name(NS, name, 1, [Tick(due, due)], None)
    await harness.advance(60)

    def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
        return [*(Admit(one.run_key, held=True) for one in facts.due), CloseGate("too many wait")]

    await harness.store.ledger.sweep_late(0, MANY, judge)
    assert len(await harness.store.gates.closed(NS)) >= count
    return list_gates.carry_out(ground.control, ListGatesRequest())


async def calendars(ground: Ground, count: int) -> Awaitable[Any]:
    for number in range(count):
        await ground.harness.store.calendars.put(NS, f"c{number}", CHRISTMAS)
    await put(ground.harness, using(c0=1, c1=1))
    return list_calendars.carry_out(ground.control, ListCalendarsRequest())


@pytest.mark.parametrize(
    "prepared", [cancel, replay, replay_what_is_not_dead, replay_for_a_look, gates, calendars, rescue]
)
async def test_what_is_asked_about_more_does_not_go_to_the_store_more_often(
    ground: Ground, prepared: Callable[[Ground, int], Awaitable[Awaitable[Any]]]
) -> None:
    few = await ground.trips(await prepared(ground, FEW))
    more = await ground.trips(await prepared(ground, MORE))
    assert 0 < more <= few <= TRIPS_MAX, ground.sent


BATCH = 500


@pytest.mark.parametrize("every_s", [(60, 60), (60, 90)], ids=["again", "changed"])
async def test_a_batch_of_schedules_takes_as_many_statements_as_a_batch_of_two(
    ground: Ground, every_s: tuple[int, int]
) -> None:
    async def write(count: int, every_s: int) -> Any:
        spec = make_spec(every_s=every_s, labels={"team": "red"})
        batch = [DesiredSchedule(ScheduleId(f"batch-{count}-{one:03}"), spec) for one in range(count)]
        schedules = ground.harness.store.schedules
        return await schedules.put_many(NS, batch, tzdata=TZDATA, author=ANNA, admit=lambda there, more: None)

    trips = {count: [await ground.trips(write(count, one)) for one in every_s] for count in (FEW, BATCH)}
    assert 0 < sum(trips[BATCH]) <= sum(trips[FEW]) <= 50, ground.sent


@pytest.mark.postgres
@pytest.mark.parametrize("terms", [{"concurrency": 10}, {"rate": "1000/s"}], ids=["slots", "rate"])
async def test_a_small_claim_of_a_limited_job_asks_little(
    postgres_ground: Ground, terms: Mapping[str, Any]
) -> None:
    """It locks the limit of the job, looks what runs and what waits, starts that, and keeps what it used."""
    harness = postgres_ground.harness
    await limit(harness, **terms)
    await waiting(postgres_ground, FEW, "limited")
    await line_up(harness)
    trips = await postgres_ground.trips(harness.store.ledger.claim_lined(claim_request(), FEW, decide))
    assert 0 < trips <= LINED_MAX, postgres_ground.sent
