"""The example of a store of one's own runs the demo's shop, is stopped, opened again, and goes on."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from examples.row_store.journal import JournalStore, open_store
from fencepost.app import Fencepost
from fencepost.demo import Accounting, account, build
from fencepost.demo.shop import LIVELY, NIGHTLY
from fencepost.model.identifiers import DEFAULT_NAMESPACE, NodeId
from fencepost.model.node import Node
from fencepost.model.run import RunFilter, RunState
from fencepost.services.accounting import Auditor
from fencepost.services.deployer import Deployer
from fencepost.services.heartbeat import Heartbeat
from fencepost.services.node import NodeRunner, Surroundings
from tests.virtual_loop import LoopClock, run_virtually

OPENED_AT = datetime(2026, 3, 1, 11, 59, 30, tzinfo=UTC)
SHIFT_S, ABSENCE_S = 45, 20
MANY = 10_000
OFTEN = {*LIVELY, "stock-sync-hamburg", "send-invoices", "checkout-probe"} - {NIGHTLY}


@pytest.mark.proof
def test_the_example_store_loses_no_tick_of_the_demo_when_it_is_stopped_and_opened_again(
    tmp_path: Path,
) -> None:
    """The second shift finds the ticks of the absence, and both together are accounted for."""
    path = tmp_path / "ledger.jsonl"
    before = run_virtually(shift(path, OPENED_AT, "first"))
    after = run_virtually(shift(path, OPENED_AT + timedelta(seconds=SHIFT_S + ABSENCE_S), "second"))
    for one in (before, after):
        assert (one.lost, one.doubled) == (0, 0)
    for state in (RunState.SUCCEEDED, RunState.SKIPPED):
        assert after.states[state] > before.states[state] > 0
    assert after.expected > before.expected + 2 * SHIFT_S - ABSENCE_S


async def shift(path: Path, begins_at: datetime, name: str) -> Accounting:
    """One process that plans and works for a while; what the ledger says after it."""
    clock = LoopClock(begins_at)
    store = await open_store(path, clock)
    app, stop = build("sqlite:///unused.db"), asyncio.Event()
    node = await node_of(app, store, clock, name)
    running = asyncio.create_task(node.run(stop))
    await clock.sleep(SHIFT_S)
    stop.set()
    await running
    await check(store)
    found = await account(store, DEFAULT_NAMESPACE, await store.now())
    await store.close()
    return found


async def node_of(app: Fencepost, store: JournalStore, clock: LoopClock, name: str) -> NodeRunner:
    app._threads.submit = inline  # type: ignore[method-assign]
    settings, specs = app.settings, app.specs()
    deployer = Deployer(store, DEFAULT_NAMESPACE, specs, app.code_schedules, app.code_calendars)
    await deployer.start()
    around = Surroundings(
        store=store,
        leases=store.leases,
        clock=clock,
        dice=Random(1).random,
        settings=settings,
        jobs=app.jobs,
        heart=lambda active: Heartbeat(store, active, settings),
    )
    node = NodeRunner(Node(NodeId(f"{name}-1"), "here", 1, plans=True, works=True), around)
    node.also(deployer)
    return node


def inline(function: Callable[..., Any], *args: Any, **words: Any) -> Future[Any]:
    """In virtual time there are no threads."""
    done: Future[Any] = Future()
    try:
        done.set_result(function(*args, **words))
    except Exception as failure:
        done.set_exception(failure)
    return done


async def check(store: JournalStore) -> None:
    """What is often due has run, also at a second attempt, and an audit of all there was finds nothing."""
    runs = await store.ledger.list(DEFAULT_NAMESPACE, RunFilter(state=RunState.SUCCEEDED, limit=MANY))
    assert {one.schedule_id for one in runs} >= OFTEN
    assert max(one.attempt for one in runs) == 2
    assert len({one.fence for one in runs}) == len(runs)
    report = await Auditor(store, DEFAULT_NAMESPACE).audit(None, OPENED_AT, await store.now())
    assert report.faults == 0, report.counts
