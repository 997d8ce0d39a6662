"""The end of a session as a hint that a node was killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import asyncpg
import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Granted, HeldBy, Lost
from fencepost.model.node import Node, NodeReport
from fencepost.ports.signals import Topic
from fencepost.stores.postgres import open_store
from fencepost.stores.postgres.store import PostgresStore
from tests.servers.pgbouncer import Detour

pytestmark = pytest.mark.postgres

ALICE, BOB = NodeId("alice"), NodeId("bob")
SHARD = Shard(0)
LONG_S = 600.0


class Pair:
    """Two processes of a fleet, alice and bob, as their stores."""

    def __init__(self, alice: PostgresStore, bob: PostgresStore, url: str) -> None:
        self.alice, self.bob, self.url = alice, bob, url

    async def end_session_of_alice(self) -> None:
        """As the server does when her process is killed."""
        connection = self.alice.signals._connection
        assert connection is not None
        pid = connection.get_server_pid()
        admin = await asyncpg.connect(self.url)
        try:
            await admin.execute("SELECT pg_terminate_backend($1)", pid)
            for _ in range(1_000):
                if not await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid):
                    return
                await asyncio.sleep(0.01)
            raise AssertionError("the session does not end")
        finally:
            await admin.close()

    async def grant_to_alice(self) -> Epoch:
        answer = (await self.alice.leases.acquire([SHARD], ALICE, LONG_S))[SHARD]
        assert isinstance(answer, Granted)
        return answer.epoch

    async def asked_by_bob(self) -> Granted | HeldBy | object:
        return (await self.bob.leases.acquire([SHARD], BOB, LONG_S))[SHARD]


@pytest.fixture
async def pair(postgres_url: str) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        stores = [await open_store(postgres_url, clock=SystemClock()) for _ in range(2)]
        for store in stores:
            stack.push_async_callback(store.close)
        pair = Pair(stores[0], stores[1], postgres_url)
        await pair.alice.signals.listen(Topic.RUNS, lambda: None)
        yield pair


def keep_away(pair: Pair) -> None:
    """Let alice's listener not come back."""
    keeper = pair.alice.signals._keeper
    assert keeper is not None
    keeper.cancel()


async def test_a_lease_does_not_outlive_the_session_of_its_holder(pair: Pair) -> None:
    epoch = await pair.grant_to_alice()
    assert isinstance(await pair.asked_by_bob(), HeldBy)
    keep_away(pair)
    await pair.end_session_of_alice()
    answer = await pair.asked_by_bob()
    assert isinstance(answer, Granted)
    assert answer.epoch > epoch


async def test_a_holder_that_only_lost_its_session_is_told_at_its_next_renewal(pair: Pair) -> None:
    epoch = await pair.grant_to_alice()
    keep_away(pair)
    await pair.end_session_of_alice()
    await pair.asked_by_bob()
    assert await pair.alice.leases.renew({SHARD: epoch}, ALICE, LONG_S) == {SHARD: Lost()}


async def test_a_holder_that_reconnected_in_time_loses_nothing(pair: Pair) -> None:
    epoch = await pair.grant_to_alice()
    back = asyncio.Event()
    await pair.alice.signals.listen(Topic.LEASES, back.set)
    await pair.end_session_of_alice()
    async with asyncio.timeout(20):
        await back.wait()
    assert isinstance(await pair.asked_by_bob(), HeldBy)
    assert await pair.alice.leases.renew({SHARD: epoch}, ALICE, LONG_S) == {SHARD: Granted(epoch)}


async def test_watchers_are_told_of_a_session_that_ended(pair: Pair) -> None:
    await pair.grant_to_alice()
    told = asyncio.Event()
    stop = await pair.bob.leases.watch(told.set)
    told.clear()
    keep_away(pair)
    await pair.end_session_of_alice()
    async with asyncio.timeout(10):
        await told.wait()
    stop()


async def test_a_node_whose_session_ended_is_not_live(pair: Pair) -> None:
    alice, bob = (Node(name, "host", 1, plans=True, works=False) for name in (ALICE, BOB))
    await pair.bob.signals.listen(Topic.RUNS, lambda: None)
    await pair.alice.nodes.beat(alice, NodeReport(), LONG_S)
    assert len((await pair.bob.nodes.beat(bob, NodeReport(), LONG_S)).live) == 2
    keep_away(pair)
    await pair.end_session_of_alice()
    assert [one.node.node_id for one in await pair.bob.nodes.live()] == [BOB]
    heard = await pair.bob.nodes.beat(bob, NodeReport(), LONG_S)
    assert [one.node.node_id for one in heard.live] == [BOB]


async def test_who_holds_without_a_session_is_not_taken_for_dead(
    pair: Pair, postgres_url: str, pgbouncer: Detour
) -> None:
    pooled = await open_store(
        f"{pgbouncer.through(postgres_url)}?statement_cache_size=0", clock=SystemClock()
    )
    try:
        await pooled.signals.listen(Topic.LEASES, lambda: None)
        assert isinstance((await pooled.leases.acquire([SHARD], ALICE, LONG_S))[SHARD], Granted)
        node = Node(ALICE, "host", 1, plans=True, works=False)
        await pooled.nodes.beat(node, NodeReport(), LONG_S)
        assert isinstance(await pair.asked_by_bob(), HeldBy)
        assert [one.node.node_id for one in await pair.bob.nodes.live()] == [ALICE]
    finally:
        await pooled.close()


async def test_looking_does_not_keep_the_server_from_cleaning_up(pair: Pair) -> None:
    """No session of a watcher holds a snapshot while it waits."""
    await pair.grant_to_alice()
    stop = await pair.bob.leases.watch(lambda: None)
    admin = await asyncpg.connect(pair.url)
    try:
        held = await admin.fetchval(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid() "
            "AND state <> 'active'"
        )
        waiting = await admin.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
    finally:
        await admin.close()
    stop()
    assert (held, waiting) == (0, 0)


async def test_a_node_looks_for_the_end_of_others_only_while_others_hold_leases(pair: Pair) -> None:
    leases, looked = pair.alice.leases, list[bool]()
    await pair.bob.signals.listen(Topic.RUNS, lambda: None)
    epoch = await pair.grant_to_alice()
    await leases._look()
    looked.append(leases._has_others)
    await leases.release({SHARD: epoch}, ALICE)
    looked.append(leases._has_others)
    await pair.asked_by_bob()
    await leases._look()
    looked.append(leases._has_others)
    assert looked == [False, True, True]


async def test_a_renewal_does_not_hide_whether_others_hold_leases(pair: Pair) -> None:
    leases, told, other = pair.alice.leases, list[bool](), Shard(1)
    await pair.bob.signals.listen(Topic.RUNS, lambda: None)
    epoch = await pair.grant_to_alice()
    await leases.renew({SHARD: epoch}, ALICE, LONG_S)
    told.append(leases._has_others)
    answer = (await pair.bob.leases.acquire([other], BOB, LONG_S))[other]
    await leases.renew({SHARD: epoch}, ALICE, LONG_S)
    told.append(leases._has_others)
    assert isinstance(answer, Granted)
    await pair.bob.leases.release({other: answer.epoch}, BOB)
    await leases.renew({SHARD: epoch}, ALICE, LONG_S)
    told.append(leases._has_others)
    assert told == [False, True, False]
