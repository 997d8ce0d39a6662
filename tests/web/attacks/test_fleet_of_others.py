"""Hosts and queues of other namespaces are shown to nobody who is kept to one."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.access import EVERYWHERE, Role
from fencepost.model.identifiers import Epoch, Lineage, Namespace, NodeId, Queue, Shard
from fencepost.model.lease import Granted
from fencepost.model.node import Led, Node, NodeReport
from fencepost.services.fleet import HIDDEN
from tests.services.house import NS
from tests.web.attacks.stage import ELSEWHERE, PAGE, Stage, everything
from tests.web.house import Answer

MINE = Node(NodeId("ada-1-a"), "ada-host", 1, True, True, (Queue("default"), Queue("ada-queue")), 4)
THEIRS = Node(
    *(NodeId("canary-1-b"), "canary-host", 2, True, True, (Queue("default"), Queue("canary-queue")), 4),
    namespace=ELSEWHERE,
)
SKEWED = NodeReport(skew_s=60.0, leads=(Led(Shard(1), Epoch(9), 30.0),))
SEEN = ("/api/v1/nodes", "/api/v1/leases", "/api/v1/leases/terms", "/api/v1/status", "/api/v1/queues")
PAGES = ("/", "/leases", "/workers")


async def manned(stage: Stage, *nodes: Node) -> Stage:
    """Live nodes; the first leads shard 0, the last leads shard 1, where a write of the first was refused."""
    memory = stage.house.memory
    for shard, node in ((0, nodes[0]), (1, nodes[-1])):
        grant = Granted(Epoch(5), Lineage("canary-lineage" if node is THEIRS else "own"))
        await memory.epochs.register({Shard(shard): grant}, node.node_id)
        await memory.leases.acquire([Shard(shard)], node.node_id, 60.0)
    await memory.epochs.note_refusal(Shard(0), Epoch(1), nodes[-1].node_id)
    for node in nodes:
        await memory.nodes.beat(node, SKEWED, 3_600.0)
    return stage


async def look(stage: Stage, path: str, role: Role, namespace: Namespace) -> Answer:
    token = (await stage.token(role, namespace)).credential.reveal()
    headers = {} if path.startswith("/api") else PAGE
    return await stage.ask("GET", path, token=token, **headers)


async def test_nothing_that_can_be_looked_at_names_a_node_or_a_queue_of_another_namespace(
    stage: Stage,
) -> None:
    await manned(stage, MINE, THEIRS)
    token = (await stage.token(Role.ADMIN)).credential.reveal()
    told = []
    for method, path in everything(stage.serving):
        if method == "GET" and not path.endswith(("/events", "/metrics")):
            answer = await stage.ask("GET", path, token=token, **({} if "/api/" in path else PAGE))
            told += [path] if b"canary" in answer.content else []
    assert told == []


async def test_those_who_are_kept_to_no_namespace_see_the_whole_fleet(stage: Stage) -> None:
    await manned(stage, MINE, THEIRS)
    for path in (*SEEN[:4], *PAGES):
        assert b"canary-1-b" in (await look(stage, path, Role.VIEWER, EVERYWHERE)).content, path


async def test_a_namespace_sees_its_own_nodes_and_that_the_other_shards_are_led(stage: Stage) -> None:
    await manned(stage, MINE, THEIRS)
    for path in (*SEEN[:4], *PAGES):
        assert b"ada-1-a" in (await look(stage, path, Role.VIEWER, NS)).content, path
    leases = (await look(stage, "/api/v1/leases", Role.VIEWER, NS)).body
    assert [one["holder"] for one in leases["items"]][:2] == ["ada-1-a", HIDDEN]
    status = (await look(stage, "/api/v1/status", Role.VIEWER, NS)).body
    assert [one["node_id"] for one in status["workers"]] == ["ada-1-a"]
    assert [one["kind"] for one in status["alarms"] if one["nodes"]] != []
    queues = (await look(stage, "/api/v1/queues", Role.VIEWER, NS)).body["items"]
    assert {one["queue"]: one["workers"] for one in queues} == {"ada-queue": 1, "default": 1}


async def test_where_one_namespace_has_the_fleet_to_itself_it_sees_all_of_it(stage: Stage) -> None:
    gone = replace(MINE, node_id=NodeId("ada-0-dead"))
    await manned(stage, gone, MINE)
    await stage.house.memory.nodes.leave(gone.node_id)
    for path in ("/api/v1/leases/terms", "/leases"):
        assert b"ada-0-dead" in (await look(stage, path, Role.VIEWER, NS)).content, path


async def test_nodes_of_another_namespace_are_not_named_when_they_are_gone(stage: Stage) -> None:
    gone = replace(MINE, node_id=NodeId("ada-0-dead"))
    await manned(stage, gone, MINE, THEIRS)
    for one in (gone, THEIRS):
        await stage.house.memory.nodes.leave(one.node_id)
    for path in (*SEEN, "/api/v1/leases/refusals", *PAGES):
        assert b"canary" not in (await look(stage, path, Role.VIEWER, NS)).content, path
    for path in ("/api/v1/leases/terms", "/leases"):
        assert b"ada-0-dead" in (await look(stage, path, Role.VIEWER, NS)).content, path
