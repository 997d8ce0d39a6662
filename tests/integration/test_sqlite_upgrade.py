"""A store of the release before policies and operations: it is migrated with what is in it, and goes on.
A whole ledger of a later schema: see `test_upgrade`."""

from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from fencepost.model.audit import Action, Author, LogFilter
from fencepost.model.codec import schedule_to_text
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.identifiers import RunKey, shard_of
from fencepost.model.run import Hold, Origin, RunState
from fencepost.stores.sqlite import migrate, migrations
from fencepost.stores.sqlite.moments import to_us
from fencepost.stores.sqlite.store import SHARDS_DEFAULT
from fencepost.testing.conformance.builders import (
    ALICE,
    MANY,
    NS,
    SCHEDULE,
    Witness,
    appetite,
    claim,
    make_spec,
    plan_ticks,
    read,
    retry,
    start_ticks,
    states,
    success,
)
from tests.conformance.clocked import START, ClockHarness
from tests.conformance.on_sqlite import open_sqlite

ANNA = Author("anna", "test")
SHARD = shard_of(NS, SCHEDULE, SHARDS_DEFAULT)
PLANNED, RUNNING, WAITING, DONE = (RunKey(one) for one in ("planned", "running", "waiting", "done"))


@pytest.fixture
async def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ClockHarness]:
    """A store that was filled under schema 2 and then migrated."""
    path = tmp_path / "fencepost.db"
    names = migrations.migration_names()
    monkeypatch.setattr(migrations, "migration_names", lambda: names[:2])
    await migrate(f"sqlite:///{path}")
    fill(path)
    monkeypatch.undo()
    assert await migrate(f"sqlite:///{path}") == names[2:]
    opened = await open_sqlite(path)
    yield opened
    await opened.close()


def fill(path: Path) -> None:
    """An hourly schedule with a tick to come, a running one, a retry, and one that is done."""
    connection, spec, now = apsw.Connection(str(path)), schedule_to_text(make_spec()), to_us(START)
    connection.execute(
        "INSERT INTO schedules (namespace, schedule_id, shard, version, state, spec, job, updated_at)"
        " VALUES (?, ?, ?, 1, 'active', ?, 'report', ?)",
        (NS, SCHEDULE, SHARD, spec, now),
    )
    connection.execute(
        "INSERT INTO schedule_versions VALUES (?, ?, 1, ?, 'report', ?, NULL, '2026a')",
        (NS, SCHEDULE, spec, now),
    )
    connection.execute(
        "INSERT INTO cursors VALUES (?, ?, ?, 1, ?, ?, NULL, '2026a')",
        (NS, SCHEDULE, SHARD, now, now),
    )
    rows = [
        (PLANNED, "planned", 0, 0, now - 1, None, None),
        (RUNNING, "running", 1, 11, now - 2, now + 10**9, None),
        (WAITING, "ready", 1, 12, now - 3, None, None),
        (DONE, "succeeded", 1, 13, now - 4, None, now),
    ]
    for key, state, attempt, fence, at, alive_until, finished_at in rows:
        connection.execute(
            "INSERT INTO runs (namespace, run_key, schedule_id, job, fire_time, version, state, attempt,"
            " fence, queue, priority, run_at, alive_until, finished_at, worker)"
            " VALUES (?, ?, ?, 'report', ?, 1, ?, ?, ?, 'default', 2, ?, ?, ?, ?)",
            (NS, key, SCHEDULE, at, state, attempt, fence, at, alive_until, finished_at, ALICE),
        )
    connection.execute("UPDATE sequences SET value = 20 WHERE name = 'fences'")
    connection.close()


async def test_runs_of_the_older_schema_do_not_count_as_anything_but_live_and_free(
    harness: ClockHarness,
) -> None:
    for key in (PLANNED, RUNNING, WAITING, DONE):
        record = await read(harness, key)
        assert (record.origin, record.held, record.spent) == (Origin.LIVE, Hold.NONE, 0)
    schedule = await harness.store.schedules.get(NS, SCHEDULE)
    assert schedule is not None
    assert not schedule.frozen


async def test_what_was_under_way_does_not_get_lost(harness: ClockHarness) -> None:
    (known,) = await harness.store.ledger.running(NS, MANY)
    assert known.run_key == RUNNING
    witness = Witness()
    await harness.store.ledger.claim_ticks(appetite(), MANY, witness)
    (facts,) = witness.facts
    assert [one.run_key for one in facts.due] == [PLANNED]
    assert [one.run_key for one in facts.unfinished] == [WAITING, RUNNING]
    assert [one.run_key for one in facts.finished] == [DONE]
    (retried,) = await claim(harness)
    (started,) = await start_ticks(harness)
    assert (retried.run_key, retried.attempt, retried.begun_at) == (WAITING, 2, None)
    assert (started.run_key, started.attempt, started.begun_at) == (PLANNED, 1, started.started_at)
    assert started.fence > retried.fence > 20
    receipts = await harness.store.ledger.finish([success(retried.ticket), retry(started.ticket)])
    assert [str(one) for one in receipts] == ["accepted"] * 2
    assert await states(harness, WAITING, PLANNED) == [RunState.SUCCEEDED, RunState.READY]


async def test_a_run_of_the_older_schema_is_not_beyond_replay(harness: ClockHarness) -> None:
    assert await harness.store.ledger.replay(NS, [DONE], 0, ANNA) == [DONE]
    assert (await read(harness, DONE)).spent == 1
    (claimed,) = [one for one in await start_ticks(harness) if one.run_key == DONE]
    assert (claimed.attempt, claimed.spent) == (2, 1)
    (entry,) = await harness.store.audit_log.list(NS, LogFilter())
    assert (entry.action, entry.subject, entry.author) == (Action.RUN_REPLAY, DONE, ANNA)


async def test_planning_does_not_stop(harness: ClockHarness) -> None:
    (key,) = await plan_ticks(harness, 60)
    record = await read(harness, key)
    assert (record.origin, record.held) == (Origin.LIVE, Hold.NONE)


async def test_a_freeze_does_not_pass_over_what_was_there_before(harness: ClockHarness) -> None:
    assert await harness.store.freezes.freeze(NS, Scope(ScopeKind.SCHEDULE, SCHEDULE), ANNA)
    assert await start_ticks(harness) == await claim(harness) == []
    held = [(await read(harness, key)).held for key in (PLANNED, RUNNING, WAITING, DONE)]
    assert held == [Hold.FROZEN, Hold.FROZEN, Hold.FROZEN, Hold.NONE]
