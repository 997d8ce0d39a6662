"""A replica set that loses its primary in the middle of a plan, a claim and a report; and a primary that does
not know yet that another was elected.

A write is in its middle while the primary holds its last command back, or while the primary has it and no
majority does. Afterwards the store is asked as its users ask it: what was written is there once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Protocol, TypeAlias

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import Epoch, RunKey, ScheduleId
from fencepost.model.lease import Granted
from fencepost.model.run import Claim, RunFilter, RunRecord, RunState
from fencepost.stores.mongodb import open_store
from fencepost.testing.conformance.builders import (
    ALICE,
    BOB,
    NS,
    at,
    by_hand,
    claim_request,
    death,
    make_plan,
    make_spec,
    plan_ticks,
    put,
    read_cursor,
    register,
    shard_for,
    start_all,
    start_ticks,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from tests.conformance.clocked import ClockHarness
from tests.conformance.on_mongodb import open_mongodb
from tests.integration.test_mongodb_failover import answered
from tests.leases.test_mongodb_failover import kill, step_down
from tests.servers.mongodb import Client, MongoReplicaSet, MongoServer

pytestmark = [pytest.mark.proof, pytest.mark.timeout(300)]

NAME = "in_the_middle"
TICKS = 20
HELD_MS, SEEN_WITHIN_MS, PATIENCE_S = 8_000, 30_000, 30.0
AFTER_S = tuple(float(60 * number) for number in range(1, TICKS + 1))

Work: TypeAlias = Callable[[], Awaitable[Any]]


class Task(Protocol):
    """What is done while the primary is lost."""

    last_command: str
    hangs_at: str
    """The fail point before it is carried out."""
    mark: dict[str, str]
    """What a run has when it is done."""

    async def prepare(self) -> None: ...

    async def work(self) -> None:
        """As its user does it, who may have heard nothing of it before."""
        ...

    async def check(self) -> None: ...


@pytest.fixture
async def harness(mongo_replica_set: MongoReplicaSet) -> AsyncIterator[ClockHarness]:
    url = mongo_replica_set.url.replace("/?", f"/{NAME}?")
    opened = await answered(lambda: open_mongodb(url))
    yield opened
    await opened.close()


class Planning:
    """The ticks of one schedule; a leader that heard nothing plans from where the ledger stands."""

    last_command, hangs_at, mark = "commitTransaction", "hangBeforeCommitingTxn", {"state": "planned"}

    def __init__(self, harness: StoreHarness) -> None:
        self._harness = harness

    async def prepare(self) -> None:
        await put(self._harness)
        await register(self._harness.store, shard_for(self._harness), 1)

    async def work(self) -> None:
        cursor = await read_cursor(self._harness)
        left = [at(self._harness, one) for one in AFTER_S]
        left = [one for one in left if one > cursor.planned_through]
        if left:
            await self._harness.store.plans.write([make_plan(cursor, *left)])

    async def check(self) -> None:
        runs = await _runs(self._harness)
        assert sorted(one.fire_time for one in runs) == [at(self._harness, one) for one in AFTER_S]


class Claiming:
    """The due ticks of many schedules; a worker that heard nothing adopts what it was given."""

    last_command, hangs_at, mark = "commitTransaction", "hangBeforeCommitingTxn", {"state": "running"}

    def __init__(self, harness: StoreHarness) -> None:
        self._harness = harness
        self._claims: dict[RunKey, Claim] = {}

    async def prepare(self) -> None:
        await _due(self._harness)

    async def work(self) -> None:
        ledger = self._harness.store.ledger
        mine = [*await answered(lambda: ledger.adopt(ALICE, [one.fence for one in self._claims.values()]))]
        mine += await ledger.claim_ticks(claim_request(alive_for_s=600), TICKS, start_all)
        for one in mine:
            assert one.run_key not in self._claims, "it was given twice"
            self._claims[one.run_key] = one

    async def check(self) -> None:
        runs = await _runs(self._harness)
        assert {one.run_key: one.fence for one in runs} == {
            key: claim.fence for key, claim in self._claims.items()
        }
        assert {(one.state, one.attempt) for one in runs} == {(RunState.RUNNING, 1)}
        assert len({one.fence for one in runs}) == len(runs) == TICKS


class Reporting:
    """What became of those ticks; a worker that heard nothing reports again."""

    last_command, hangs_at, mark = "update", "hangDuringBatchUpdate", {"state": "succeeded"}

    def __init__(self, harness: StoreHarness) -> None:
        self._harness = harness
        self.claims: Sequence[Claim] = ()

    async def prepare(self) -> None:
        await _due(self._harness)
        self.claims = await start_ticks(self._harness, limit=TICKS)
        assert len(self.claims) == TICKS

    async def work(self) -> None:
        receipts = await self._harness.store.ledger.finish([success(one.ticket) for one in self.claims])
        assert all(receipts), receipts

    async def check(self) -> None:
        runs = await _runs(self._harness)
        assert {(one.state, one.attempt) for one in runs} == {(RunState.SUCCEEDED, 1)}
        assert len(runs) == TICKS


@contextmanager
def held_back(members: MongoReplicaSet, task: Task) -> Iterator[Work]:
    """The primary has got the last command, and does not carry it out."""
    with Client(_alone(members.primary())) as client:
        told = {"failCommands": [task.last_command], "blockConnection": True, "blockTimeMS": HELD_MS}
        yield partial(_reached, client, _set(client, "failCommand", {"times": 1}, told), "failCommand")


@contextmanager
def unreplicated(members: MongoReplicaSet, task: Task) -> Iterator[Work]:
    """The primary has carried it out, and waits for a majority that gets nothing."""
    with Client(_alone(members.primary())) as client, ExitStack() as stopped:
        before = _set(client, task.hangs_at, "alwaysOn", {})

        async def arrived() -> None:
            await _reached(client, before, task.hangs_at)
            await asyncio.to_thread(stopped.enter_context, members.replication_stopped())
            _set(client, task.hangs_at, "off", {})
            async with asyncio.timeout(PATIENCE_S):
                while client[NAME]["runs"].find_one(task.mark) is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

        yield arrived


def _set(client: Client, name: str, mode: object, data: Mapping[str, object]) -> int:
    """Set a fail point; how often it was entered before."""
    return int(client.admin.command("configureFailPoint", name, mode=mode, data=data)["count"])


async def _reached(client: Client, before: int, name: str) -> None:
    seen = {"waitForFailPoint": name, "timesEntered": before + 1, "maxTimeMS": SEEN_WITHIN_MS}
    await asyncio.to_thread(lambda: client.admin.command(seen))


@pytest.mark.parametrize("make", [Planning, Claiming, Reporting])
@pytest.mark.parametrize(
    ("middle", "lose_primary"), [(held_back, kill), (held_back, step_down), (unreplicated, kill)]
)
async def test_nothing_is_lost_or_doubled_when_the_primary_is_lost_in_the_middle(
    mongo_replica_set: MongoReplicaSet,
    harness: ClockHarness,
    make: Callable[[StoreHarness], Task],
    middle: Callable[[MongoReplicaSet, Task], AbstractContextManager[Work]],
    lose_primary: Callable[[MongoReplicaSet], None],
) -> None:
    """About 10 s: elections take a second or two each, and what was held back comes late."""
    task = make(harness)
    await task.prepare()
    with middle(mongo_replica_set, task) as arrived:
        working = asyncio.create_task(task.work())
        await arrived()
        assert not working.done()
        await asyncio.to_thread(lose_primary, mongo_replica_set)
    with suppress(StoreUnavailable):
        await working
    await answered(task.work)
    await answered(task.check)


async def test_a_primary_that_does_not_know_of_its_successor_acknowledges_nothing(
    mongo_replica_set: MongoReplicaSet, harness: ClockHarness
) -> None:
    """About 20 s. It is cut off with writes that only it has, and stalled; another is elected and works; then
    it goes on with what it was asked meanwhile."""
    reporting, stale = Reporting(harness), mongo_replica_set.primary()
    await reporting.prepare()
    await put(harness)
    await plan_ticks(harness, 60.0)
    await harness.advance(60.0)
    plan = make_plan(await read_cursor(harness), at(harness, 60.0))
    old = await open_store(_alone(stale).replace("/?", f"/{NAME}?"))

    async def asked(key: str) -> Sequence[object]:
        grant = {shard_for(harness): Granted(Epoch(2))}
        return await asyncio.gather(
            old.ledger.enqueue(NS, [by_hand(key)]),
            old.ledger.claim_ticks(claim_request(BOB), 1, start_all),
            old.ledger.finish([death(one.ticket) for one in reporting.claims]),
            old.plans.write([plan]),
            old.epochs.register(grant, BOB),
            return_exceptions=True,
        )

    with Client(_alone(stale)) as client, mongo_replica_set.replication_stopped():
        first = asyncio.create_task(asked("one"))
        async with asyncio.timeout(PATIENCE_S):
            while client[NAME]["runs"].find_one({"run_key": by_hand("one").run_key}) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        stale.pause()
    second = asyncio.create_task(asked("two"))
    await answered(reporting.work)
    (tick,) = await start_ticks(harness)
    await asyncio.to_thread(mongo_replica_set.restore)
    told = [*await first, *await second]
    await old.close()
    assert [type(one) for one in told] == [StoreUnavailable] * len(told)
    runs = {one.run_key: one for one in await answered(lambda: _runs(harness))}
    assert {runs[one.run_key].state for one in reporting.claims} == {RunState.SUCCEEDED}
    assert (runs[tick.run_key].worker, runs[tick.run_key].fence) == (ALICE, tick.fence)
    assert len(runs) == len(reporting.claims) + 1
    assert (await harness.store.plans.write([plan])).runs_written == 1


def _alone(member: MongoServer) -> str:
    """What leads to this member, whatever its part in the set."""
    return f"mongodb://{member.address}/?directConnection=true"


async def _due(harness: StoreHarness) -> None:
    """A due tick of each of some schedules."""
    for number in range(TICKS):
        name = ScheduleId(f"s{number}")
        await put(harness, make_spec(), name)
        await plan_ticks(harness, 60.0, schedule_id=name)
    await harness.advance(60.0)


async def _runs(harness: StoreHarness) -> Sequence[RunRecord]:
    return await harness.store.ledger.list(NS, RunFilter(limit=10 * TICKS))
