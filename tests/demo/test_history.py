"""The past of the demo: worth looking at, and as sound as any other."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.app import Fencepost
from fencepost.core.accounts import Kind
from fencepost.demo import build, write_history
from fencepost.model.audit import LogFilter
from fencepost.model.run import Origin, RunFilter, RunRecord, RunState
from fencepost.operations.control import Control
from fencepost.ports.store import Store
from fencepost.services.accounting import Auditor

RUNS_MAX = 100_000
LISTED_MAX = 500


@pytest.fixture
def app(tmp_path: Path) -> Fencepost:
    return build(f"sqlite:///{tmp_path / 'demo.db'}")


async def runs_of(store: Store, app: Fencepost) -> list[RunRecord]:
    return list(await store.ledger.list(app.settings.namespace, RunFilter(limit=RUNS_MAX)))


@pytest.mark.proof
async def test_an_audit_over_all_of_it_finds_no_fault(app: Fencepost) -> None:
    assert await write_history(app)
    async with app:
        store = await app.open()
        now = await store.now()
        report = await Auditor(store, app.settings.namespace).audit(None, now - timedelta(days=5), now)
    assert (report.faults, set(report.counts) - {Kind.LATE}) == (0, set())
    assert report.recorded == report.expected > 10_000


async def test_it_has_something_of_everything(app: Fencepost) -> None:
    await write_history(app)
    async with app:
        store = await app.open()
        runs = await runs_of(store, app)
        control = Control(store, app.settings.namespace)
        gates = await store.gates.closed(app.settings.namespace)
        freezes = await store.freezes.all(app.settings.namespace)
        entries = await control.log(LogFilter(limit=LISTED_MAX))
        terms = await store.epochs.terms(None, None, LISTED_MAX)
        refusals = await store.epochs.refusals(None, LISTED_MAX)
    assert {one.state for one in runs} >= set(RunState) - {RunState.RUNNING}
    assert {one.origin for one in runs} == set(Origin)
    assert {one.error.partition(":")[0] for one in runs if one.error} == {
        "ConnectionError",
        "PermanentFailure",
    }
    assert all(one.blocked_by for one in runs if one.reason and one.reason.startswith("overlap with"))
    assert [one.schedule_id for one in gates] == ["supplier-prices"]
    assert [str(one.scope) for one in freezes] == ["label tier=batch"]
    assert {one.author.name for one in entries} >= {"anna", "boris", "deploy", "fencepost"}
    assert {one.epoch for one in terms} == {1, 2}
    assert refusals


@pytest.mark.proof
async def test_fences_rise_with_the_starts_of_a_schedule(app: Fencepost) -> None:
    await write_history(app)
    async with app:
        runs = [one for one in await runs_of(await app.open(), app) if one.fence]
    assert len({one.fence for one in runs}) == len(runs)
    for schedule_id in {one.schedule_id for one in runs}:
        live = [one for one in runs if one.schedule_id == schedule_id and one.origin is Origin.LIVE]
        by_start = sorted(live, key=lambda one: one.first_started_at or one.fire_time)
        assert [one.fence for one in by_start] == sorted(one.fence for one in live), schedule_id


@pytest.mark.proof
async def test_a_store_that_has_a_past_is_left_alone(app: Fencepost) -> None:
    await write_history(app)
    async with app:
        before = await runs_of(await app.open(), app)
        assert not await write_history(app)
        after = await runs_of(await app.open(), app)
    assert {one.run_key for one in after} == {one.run_key for one in before}
