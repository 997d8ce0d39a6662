"""A whole ledger of schema 9 is migrated, of SQLite and of PostgreSQL. Nothing of it is lost, it answers as
the same rows do in memory, it goes on working, and it stands up to an audit."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from fencepost.core.limits import decide
from fencepost.core.verdict import judge
from fencepost.model.audit import Author
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import Epoch, Fence, RunKey, Shard
from fencepost.model.run import Claim, Ticket
from fencepost.ports.rows import Rows
from fencepost.services.accounting import Auditor
from fencepost.stores import postgres, sqlite
from fencepost.stores.memory import MemoryStore
from fencepost.stores.postgres import migrations as postgres_migrations
from fencepost.stores.sqlite import migrations as sqlite_migrations
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    claim_request,
    make_plan,
    read_cursors,
    register,
    success,
)
from tests.conformance.answering_lives import AnsweringLives
from tests.conformance.clocked import START, ClockHarness, open_memory
from tests.conformance.on_postgres import PostgresHarness
from tests.conformance.on_sqlite import open_sqlite
from tests.conformance.questions import NAMESPACES
from tests.conformance.twins import TiedTwin, Twins
from tests.integration import old_ledger, old_stores
from tests.integration.old_ledger import EVERY, GATED, HELD, HOURLY, RUNNING, SCHEMA, SHARDS, SINCE, TABLES
from tests.servers.postgres import freeze_time

ANNA = Author("anna", "test", "because")
Harness = ClockHarness | PostgresHarness


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture
def upgraded(
    runner: asyncio.Runner, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Harness]:
    """A store that was filled under schema 9 and then migrated to the newest."""
    if "sqlite" in request.node.name:
        opened: Harness = runner.run(_sqlite(tmp_path / "fencepost.db", monkeypatch))
    else:
        opened = runner.run(_postgres(request.getfixturevalue("empty_postgres_url"), monkeypatch))
    yield opened
    runner.run(opened.close())


async def _sqlite(path: Path, monkeypatch: pytest.MonkeyPatch) -> ClockHarness:
    url, steps = f"sqlite:///{path}", sqlite_migrations.migrations()
    old = [one for one in steps if one.number <= SCHEMA]
    monkeypatch.setattr(sqlite_migrations, "migrations", lambda: old)
    await sqlite.migrate(url)
    old_stores.fill_sqlite(path)
    monkeypatch.undo()
    assert await sqlite.migrate(url) == [one.name for one in steps[len(old) :]]
    return await open_sqlite(path)


async def _postgres(url: str, monkeypatch: pytest.MonkeyPatch) -> PostgresHarness:
    steps = postgres_migrations.migrations()
    old = [one for one in steps if one.number <= SCHEMA]
    monkeypatch.setattr(postgres_migrations, "migrations", lambda: old)
    await postgres.migrate(url, shards=SHARDS)
    await old_stores.fill_postgres(url)
    monkeypatch.undo()
    assert await postgres.migrate(url, shards=SHARDS) == [one.name for one in steps[len(old) :]]
    await freeze_time(url, START)
    store = await postgres.open_store(url, clock=VirtualClock(START))
    return PostgresHarness(store, await asyncpg.connect(url), StoreTime(START), SHARDS)


@pytest.fixture
def reference(runner: asyncio.Runner) -> ClockHarness:
    """The same rows in memory."""
    opened = open_memory(SHARDS)
    assert isinstance(opened.store, MemoryStore)
    runner.run(old_stores.fill_memory(opened.store))
    return opened


@pytest.fixture
def life(runner: asyncio.Runner, reference: ClockHarness, upgraded: Harness) -> AnsweringLives:
    """The two, to be told and asked the same."""
    life = AnsweringLives()
    life.twins = Twins(runner, reference, upgraded, TiedTwin)
    life.seed = 1
    life.epochs = {Shard(number): Epoch(8) for number in range(SHARDS)}
    return life


def test_no_row_of_the_older_schema_is_lost_or_changed(
    runner: asyncio.Runner, reference: ClockHarness, upgraded: Harness
) -> None:
    for name, written in old_ledger.every_row().items():
        before, after = (runner.run(_rows(one, name)) for one in (reference, upgraded))
        assert len(before) >= len(written)
        if name == "meta":
            assert after["forgotten_before",] == before["forgotten_before",]
        else:
            assert after == before, name


async def _rows(harness: Harness, name: str) -> dict[tuple[Any, ...], Mapping[str, Any]]:
    rows: Rows = harness.store.rows
    table = TABLES[name]
    found = await rows.read(lambda tx: tx.find(table.all()))
    return {table.key_of(row): {name: row[name] for name in table.columns} for row in found}


def test_a_migrated_ledger_does_not_answer_otherwise_than_its_rows_do_elsewhere(life: AnsweringLives) -> None:
    life.ask()


def test_a_migrated_ledger_does_not_work_otherwise_than_its_rows_do_elsewhere(life: AnsweringLives) -> None:
    for namespace in NAMESPACES:
        life.ns = namespace
        life.work_for_long(7)
    life.ask()


def test_an_audit_does_not_find_fault_with_a_migrated_ledger_at_work(
    runner: asyncio.Runner, upgraded: Harness
) -> None:
    assert runner.run(_expected_and_faults(upgraded, START)) == (42, 0)
    runner.run(_work(upgraded))
    expected, faults = runner.run(_expected_and_faults(upgraded, upgraded.now))
    assert expected > 42
    assert faults == 0


async def _expected_and_faults(harness: Harness, until: datetime) -> tuple[int, int]:
    report = await Auditor(harness.store, NS).audit(None, SINCE, until)
    assert all(one.faults == 0 for one in report.accounts), [one.findings for one in report.accounts]
    return report.expected, report.faults


async def _work(harness: Harness) -> None:
    """What was running ends, the gate is opened, the freeze is over, and three more fire times come."""
    store = harness.store
    running = Ticket(NS, RunKey(RUNNING["run_key"]), RUNNING["attempt"], Fence(RUNNING["fence"]))
    assert [str(one) for one in await store.ledger.finish([success(running)])] == ["accepted"]
    assert await store.gates.decide(NS, GATED, GateDecision.OPEN, ANNA) == 3
    assert await store.freezes.thaw(NS, Scope(ScopeKind.LABEL, "team=red"), ANNA)
    for schedule_id in (HOURLY, HELD, GATED):
        (cursor,) = await read_cursors(harness, schedule_id)
        await register(store, cursor.shard, 8)
        times = [cursor.planned_through + EVERY * step for step in (1, 2, 3)]
        receipt = await store.plans.write([make_plan(cursor, *times, epoch=Epoch(8))])
        assert receipt.runs_written == 3
    started: list[Claim] = []
    for _ in range(5):
        claims = [
            *await store.ledger.claim_direct(claim_request(), MANY),
            *await store.ledger.claim_lined(claim_request(), MANY, decide),
            *await store.ledger.claim_ticks(claim_request(), MANY, judge, decide),
        ]
        assert all(one.fence > old_ledger.FENCE for one in claims)
        receipts = await store.ledger.finish([success(one.ticket) for one in claims])
        assert {str(one) for one in receipts} <= {"accepted"}
        started += claims
        await harness.advance(EVERY.total_seconds())
    assert {one.schedule_id for one in started} == {None, HOURLY, HELD, GATED}
