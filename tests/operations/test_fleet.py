"""The fleet: looked at by anybody, changed for everybody."""

from __future__ import annotations

import pytest
from msgspec import ValidationError

from fencepost.errors import UnknownNode, UsageError
from fencepost.model.access import Role
from fencepost.model.audit import Action
from fencepost.model.identifiers import NodeId
from fencepost.model.node import Node, NodeReport
from fencepost.operations.control import Control
from fencepost.operations.fleet import (
    ChangeNodeRequest,
    ListNodesRequest,
    ReshardRequest,
    drain_node,
    list_nodes,
    reshard,
    undrain_node,
)
from fencepost.operations.leases import (
    ListLeasesRequest,
    ListRefusalsRequest,
    ListTermsRequest,
    list_leases,
    list_refusals,
    list_terms,
)
from tests.operations.asking import asked, refused
from tests.services.house import NS, House, PlanningNode
from tests.services.verbs_work import ANNA, logged


async def open_fleet(*names: str) -> tuple[House, Control]:
    house = House()
    for name in names:
        await PlanningNode(house, name).membership.run_once()
    return house, Control(house.store, NS, ANNA, settings=house.settings)


async def names(control: Control, **wanted: str) -> list[str]:
    return [one.node_id for one in (await asked(control, list_nodes, ListNodesRequest(**wanted))).items]  # type: ignore[arg-type]


async def test_nodes_are_listed_and_found_by_name_or_id() -> None:
    _, control = await open_fleet("web-2", "web-1-a", "web-1-b", "web-1")
    assert await names(control) == ["web-1", "web-1-a", "web-1-b", "web-2"]
    assert await names(control, name="web-1-b") == ["web-1-b"]
    assert await names(control, name="web-1") == ["web-1"]
    assert await names(control, name="db") == []
    assert await names(control, node_id="web-1") == ["web-1"]
    assert await names(control, node_id="web-") == []
    said = await refused(control, list_nodes, ListNodesRequest(name="web-"))
    assert said == 'node "web-": which one? web-1, web-1-a, web-1-b, web-2'


async def test_many_candidates_are_not_listed_to_the_end() -> None:
    _, control = await open_fleet(*(f"web-{number:02}" for number in range(20)))
    assert (await refused(control, list_nodes, ListNodesRequest(name="web"))).endswith("web-07 and 12 more")


async def test_an_empty_name_means_no_node_even_where_there_is_one() -> None:
    _, control = await open_fleet("web-1")
    with pytest.raises(UsageError, match="see: fencepost status"):
        await list_nodes.carry_out(control, ListNodesRequest(name=""))


async def test_nodes_are_given_in_pages() -> None:
    _, control = await open_fleet("c", "a", "b")
    first = await asked(control, list_nodes, ListNodesRequest(limit=2))
    last = await asked(control, list_nodes, ListNodesRequest(limit=2, after=first.next))
    assert [one.node_id for one in (*first.items, *last.items)] == ["a", "b", "c"]
    assert (last.next, last.at) == (None, "2026-03-01T12:00:00Z")


async def test_a_node_is_shown_with_all_it_does() -> None:
    house, control = await open_fleet()
    node = Node(NodeId("w"), "web", 7, plans=False, works=True, queues=house.settings.queues, concurrency=4)
    await house.memory.nodes.beat(node, NodeReport(skew_s=2.5, running=3), 60)
    (shown,) = (await asked(control, list_nodes, ListNodesRequest())).items
    assert (shown.plans, shown.works, shown.queues, shown.concurrency) == (False, True, ["default"], 4)
    assert (shown.skewed, shown.running, shown.leads, shown.load) == (True, 3, 0, 3)


async def test_a_node_is_drained_and_taken_back() -> None:
    _, control = await open_fleet("a", "b")
    one = ChangeNodeRequest(node_id="a")
    drained = await asked(control, drain_node, one)
    assert (drained.node.node_id, drained.node.draining, drained.changed, drained.undone) == (
        *("a", True, True),
        [],
    )
    assert not (await asked(control, drain_node, one)).changed
    assert (await asked(control, drain_node, ChangeNodeRequest(node_id="b"))).undone == ["plans"]
    back = await asked(control, undrain_node, one)
    assert (back.node.draining, back.changed, back.undone) == (False, True, [])
    drains = [(Action.NODE_DRAIN, "a"), (Action.NODE_DRAIN, "b"), (Action.NODE_UNDRAIN, "a")]
    assert await logged(control) == drains


async def test_only_a_whole_id_is_drained() -> None:
    _, control = await open_fleet("web-1")
    for verb in (drain_node, undrain_node):
        with pytest.raises(UnknownNode):
            await asked(control, verb, ChangeNodeRequest(node_id="web"))
    assert await logged(control) == []


async def test_shards_are_cut_anew() -> None:
    house, control = await open_fleet()
    done = await asked(control, reshard, ReshardRequest(shards=32))
    assert (done.before, done.after, done.changed) == (8, 32, True)
    assert not (await asked(control, reshard, ReshardRequest(shards=32))).changed
    assert await house.memory.epochs.shards() == 32
    assert await logged(control) == [(Action.RESHARD, "shards")]


@pytest.mark.parametrize("shards", [-1, 0, 1025])
async def test_shards_stay_within_their_bounds(shards: int) -> None:
    _, control = await open_fleet()
    with pytest.raises(ValidationError):
        await asked(control, reshard, ReshardRequest(shards=shards))


def test_no_tenant_changes_the_fleet() -> None:
    for verb in (drain_node, undrain_node, reshard):
        assert (verb.role, verb.whole_fleet) == (Role.ADMIN, True)


async def led(house: House, *nodes: str) -> None:
    """One after the other takes office, once the one before has died."""
    for name in nodes:
        node = PlanningNode(house, name)
        await node.elector.run_once()
        house.clock.advance(60)


async def test_leases_are_listed_with_who_holds_them_also_free_ones() -> None:
    house = House(shards=3)
    await PlanningNode(house, "web-1").elector.run_once()
    control = Control(house.store, NS, ANNA)
    page = await asked(control, list_leases, ListLeasesRequest(limit=2))
    assert [(one.shard, one.holder) for one in page.items] == [(0, "web-1"), (1, "web-1")]
    last = await asked(control, list_leases, ListLeasesRequest(limit=2, after=page.next))
    assert ([one.shard for one in last.items], last.next) == ([2], None)
    assert (last.at, last.url, last.trouble) == ("2026-03-01T12:00:00Z", None, None)
    house.clock.advance(60)
    free = await asked(control, list_leases, ListLeasesRequest())
    assert [one.holder for one in free.items] == [None] * 3


async def test_the_password_of_a_lease_store_is_not_shown() -> None:
    house = House(leases="redis://:hunter2@127.0.0.1:1")
    control = Control(house.store, NS, ANNA, settings=house.settings)
    page = await asked(control, list_leases, ListLeasesRequest())
    assert page.url is not None
    assert "hunter2" not in page.url
    assert "127.0.0.1" in page.url


async def test_terms_are_given_in_pages_the_latest_first() -> None:
    house = House(shards=2)
    await led(house, "a", "b", "c")
    control = Control(house.store, NS, ANNA)
    whole = (await asked(control, list_terms, ListTermsRequest())).items
    numbers = [one.number for one in whole]
    assert numbers == sorted(numbers, reverse=True)
    assert [one.holder for one in whole] == ["c", "c", "b", "b", "a", "a"]
    assert [one.until is None for one in whole] == [True] * 2 + [False] * 4
    walked: list[int] = []
    after: str | None = None
    for _ in range(2):
        page = await asked(control, list_terms, ListTermsRequest(limit=4, after=after))
        walked += [one.number for one in page.items]
        after = page.next
    assert (walked, after) == (numbers, None)
    of_one = await asked(control, list_terms, ListTermsRequest(shard=1))
    assert {one.shard for one in of_one.items} == {1}
    assert len(of_one.items) == 3


async def test_refused_writes_are_given_in_pages() -> None:
    house = House(shards=2)
    await led(house, "a", "b")
    epochs = {one.shard: one.epoch for one in await house.memory.epochs.all()}
    for shard, epoch in epochs.items():
        await house.memory.epochs.note_refusal(shard, type(epoch)(epoch - 1), NodeId("a"))
    control = Control(house.store, NS, ANNA)
    first = await asked(control, list_refusals, ListRefusalsRequest(limit=1))
    last = await asked(control, list_refusals, ListRefusalsRequest(limit=1, after=first.next))
    found = [*first.items, *last.items]
    assert [one.shard for one in found] == [1, 0]
    assert {(one.holder, one.known_holder) for one in found} == {("a", "b")}
    assert all(one.known_epoch > one.epoch for one in found)
    assert last.next is None
