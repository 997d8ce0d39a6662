"""Three nodes of etcd, and the end of the one that leads."""

import asyncio
import shutil
from collections.abc import AsyncIterator

import pytest

from fencepost.clock import SystemClock
from fencepost.leases.etcd import EtcdLeases, open_leases
from fencepost.leases.etcd.renewing import LEADER_CHANGED
from fencepost.model.lease import Granted, HeldBy, Released, Unknown
from tests.leases.etcd.asking import ALICE, BOB, LONG_S, ask, grant, heard, release, renew, until
from tests.leases.etcd.by_hand import Interrupted
from tests.leases.etcd.harness import fresh_name
from tests.servers.etcd import EtcdCluster, EtcdServer
from tests.servers.fixtures import started

pytestmark = pytest.mark.proof

SHORT_S = 2.0


@pytest.fixture
async def leases(etcd_cluster: EtcdCluster) -> AsyncIterator[EtcdLeases]:
    url = f"etcd://{hosts(etcd_cluster)}?name={fresh_name()}"
    opened = await open_leases(url, clock=SystemClock())
    yield opened
    await opened.close()


async def test_a_lease_is_not_lost_with_etcds_leader(etcd_cluster: EtcdCluster, leases: EtcdLeases) -> None:
    granted = await grant(leases, ALICE)
    await asyncio.to_thread(etcd_cluster.kill_leader)
    answers = [await renew(leases, ALICE, granted.epoch)]
    async with asyncio.timeout(LONG_S):
        while answers[-1] != granted:
            assert isinstance(answers[-1], Unknown), answers
            answers.append(await renew(leases, ALICE, granted.epoch))
    assert isinstance(await ask(leases, BOB), HeldBy)
    assert await release(leases, ALICE, granted.epoch) == Released()
    assert (await grant(leases, BOB)).epoch > granted.epoch


async def test_a_holder_that_died_together_with_etcds_leader_is_not_waited_for_for_ever(
    etcd_cluster: EtcdCluster, leases: EtcdLeases
) -> None:
    old = await grant(leases, ALICE, SHORT_S)
    await asyncio.to_thread(etcd_cluster.kill_leader)
    seen = [old.epoch]

    async def is_taken_over() -> bool:
        answer = await ask(leases, BOB, SHORT_S)
        seen.extend([answer.epoch] if isinstance(answer, Granted) else [])
        return isinstance(answer, Granted)

    await until(is_taken_over)
    assert seen[1] > seen[0]


async def test_a_renewal_across_a_change_of_etcds_leader_is_not_believed(etcd_cluster: EtcdCluster) -> None:
    gateway = Interrupted(hosts(etcd_cluster), fresh_name())
    leases = gateway.client()
    granted = await grant(leases, ALICE)
    gateway.before("lease/keepalive", lambda: asyncio.to_thread(pass_leadership_on, etcd_cluster))
    assert await renew(leases, ALICE, granted.epoch) == LEADER_CHANGED
    assert await renew(leases, ALICE, granted.epoch) == granted
    await leases.close()


async def test_a_watcher_at_a_node_without_a_leader_is_not_deaf_for_good(etcd_cluster: EtcdCluster) -> None:
    *others, last = sorted(etcd_cluster.nodes, key=lambda node: not node.is_leader())
    gateway = Interrupted(f"127.0.0.1:{last.port}", fresh_name())
    leases = gateway.client()
    async with heard(leases):
        for node in others:
            node.kill()
        await asyncio.wait_for(gateway.stream_ended.wait(), LONG_S)
        await asyncio.to_thread(etcd_cluster.restore)
    await leases.close()


async def test_an_etcd_that_was_made_anew_does_not_keep_its_lineage() -> None:
    with started(EtcdServer) as server:
        leases = await open_leases(f"etcd://127.0.0.1:{server.port}", clock=SystemClock())
        before = await grant(leases, ALICE)
        await asyncio.to_thread(forget_everything, server)
        after = await grant(leases, ALICE)
        assert after.lineage != before.lineage
        assert after.lineage.split(":")[:3] == before.lineage.split(":")[:3]
        assert await renew(leases, ALICE, after.epoch) == after
        await leases.close()


def forget_everything(server: EtcdServer) -> None:
    server.kill()
    shutil.rmtree(server.folder / "data")
    server.start()


def pass_leadership_on(cluster: EtcdCluster) -> None:
    leader = cluster.leader()
    heir = next(node for node in cluster.nodes if node is not leader)
    member = heir.call("maintenance/status", {})["header"]["member_id"]
    leader.call("maintenance/transfer-leadership", {"targetID": member})


def hosts(cluster: EtcdCluster) -> str:
    return ",".join(f"127.0.0.1:{node.port}" for node in cluster.nodes)
