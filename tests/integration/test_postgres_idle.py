"""What a process asks of PostgreSQL while it has nothing to do, counted in transactions and in the rests that
its loops take, instead of seconds. A bound that has to be raised is a process that has become dearer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fencepost.clock import SystemClock
from fencepost.ports.signals import Topic
from fencepost.services.reaper import Reaper
from fencepost.stores.postgres import open_store
from fencepost.stores.postgres.connection import Database
from fencepost.stores.postgres.leases import LOOKS_LEFT_OUT_MAX
from fencepost.stores.postgres.store import PostgresStore
from tests.services.idle import SETTINGS, costs, passes, per_second, runner, settled

pytestmark = pytest.mark.postgres

FUTURE = """
    INSERT INTO fencepost.runs (
        namespace, run_key, schedule_id, job, fire_time, version, state, queue, priority, run_at
    )
    SELECT 'default', 's#' || n, 's', 'report', now() + interval '1 hour', 1, 'planned', 'default', 2,
        now() + interval '1 hour'
    FROM generate_series(1, 50) AS n
"""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    opened = await open_store(postgres_url, clock=SystemClock())
    await opened.signals.listen(Topic.RUNS, lambda: None)
    yield opened
    await opened.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every transaction that is begun, by its statement or its kind."""
    begun: list[str] = []

    def counted(name: str) -> Any:
        real = getattr(Database, name)

        def call(self: Database, statement: str = name, *arguments: Any, **options: Any) -> Any:
            begun.append(" ".join(statement.split())[:60])
            given = () if statement is name else (statement, *arguments)
            return real(self, *given, **options)

        return call

    for name in ("fetch", "fetch_one", "transaction", "snapshot"):
        monkeypatch.setattr(Database, name, counted(name))
    return begun


@pytest.mark.parametrize(("plans", "works"), [(True, True), (True, False), (False, True)])
async def test_an_idle_process_does_not_ask_more_than_once_a_second(
    store: PostgresStore, asked: list[str], plans: bool, works: bool
) -> None:
    cost = await costs(asked, runner(store, plans=plans, works=works))
    assert per_second(cost) <= 1, cost


async def test_no_idle_pass_asks_more_than_it_needs(store: PostgresStore, asked: list[str]) -> None:
    every = {one.name: one for one in await settled(runner(store))}
    for name, most in {"reaper": 1, "planner": 1, "worker": 1, "elector": 2.1}.items():
        assert (await passes(asked, every[name]))[0] <= most, asked


async def test_a_worker_beats_with_one_statement(store: PostgresStore, asked: list[str]) -> None:
    membership = runner(store, plans=False).membership
    await membership.run_once()
    assert (await passes(asked, membership))[0] <= 1.1, asked


async def test_ticks_ahead_of_their_time_do_not_make_a_sweep_dearer(
    store: PostgresStore, asked: list[str]
) -> None:
    await store._database.fetch(FUTURE)
    reaper = Reaper(store, SETTINGS)
    await reaper.run_once()
    assert (await passes(asked, reaper))[0] == 1


async def test_a_node_that_holds_all_leases_does_not_look_for_sessions_that_ended(
    store: PostgresStore, asked: list[str]
) -> None:
    store.leases._watchers.append(lambda: None)
    await settled(runner(store))
    asked.clear()
    for _ in range(LOOKS_LEFT_OUT_MAX - 1):
        await store.leases._look_if_due()
    assert asked == []


async def test_a_planner_that_cannot_hear_of_changes_does_not_rest_longer(
    store: PostgresStore, asked: list[str]
) -> None:
    every = {one.name: one for one in await settled(runner(store))}
    assert await every["planner"].run_once() > SETTINGS.plan_every_s
    await store.signals.close()
    assert await every["planner"].run_once() == SETTINGS.plan_every_s
