"""A store in which a schedule has fired every ten seconds for the last two minutes, and ways to spoil it."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw

from fencepost.clock import SystemClock
from fencepost.config import settings_from
from fencepost.core.planning import Rules, plan
from fencepost.core.verdict import judge
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, Epoch, JobName, NodeId, Shard
from fencepost.model.job import JobSpec
from fencepost.model.run import Outcome, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.ports.store import Store
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import register
from fencepost.triggers import Every, stored_trigger, tzdata_version
from fencepost.wiring import open_store
from tests.cli.calls import called_json

TICKS, EVERY_S = 12, 60
JOB = JobName("report")
LEADER = Epoch(1)


def beat(url: str) -> None:
    """Make such a store at an address."""
    asyncio.run(_beat(url))


def keys(url: str) -> list[str]:
    """The runs that succeeded, the oldest first."""
    found = called_json("runs", "list", "--state", "succeeded", "--store", url)
    return [one["run_key"] for one in reversed(found)]


def spoil(url: str, statement: str, *values: Any) -> None:
    """What no part of the house does: lay hands on the ledger."""
    connection = apsw.Connection(str(Path(url.removeprefix("sqlite:///"))))
    connection.execute(statement, values)
    connection.close()


async def _beat(url: str) -> None:
    clock = VirtualClock(SystemClock().wall() - timedelta(seconds=TICKS * EVERY_S))
    store = await open_store(settings_from({}, overrides={"store": url}), clock)
    try:
        await store.jobs.register(DEFAULT_NAMESPACE, [JobSpec(JOB)])
        spec = ScheduleSpec(JOB, trigger=Every(EVERY_S).to_json())
        await schedule_operations.add(Control(store, DEFAULT_NAMESPACE), "beat", spec)
        for shard in map(Shard, range(await store.epochs.shards())):
            await register(store, shard, LEADER)
        for _ in range(TICKS):
            await _plan(store)
            clock.advance(EVERY_S)
            await _work(store)
    finally:
        await store.close()


async def _plan(store: Store) -> None:
    shards = [Shard(one) for one in range(await store.epochs.shards())]
    window = await store.plans.window(shards, 60.0, 10)
    plans = []
    for cursor in window.cursors:
        assert cursor.spec is not None
        trigger = stored_trigger(cursor.spec, cursor.schedule_id)
        plans.append(plan(cursor, trigger, window.through, LEADER, 100, Rules(tzdata_version(), window.now)))
    await store.plans.write(plans)


async def _work(store: Store) -> None:
    claim_request = ClaimRequest(NodeId("worker-1"), (DEFAULT_QUEUE,), (JOB,), 30.0)
    claims = await store.ledger.claim_ticks(claim_request, 10, judge)
    await store.ledger.finish([Outcome(one.ticket, RunState.SUCCEEDED) for one in claims])
