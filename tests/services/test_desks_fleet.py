"""Nodes drained and taken back, and shards cut anew, in somebody's name."""

from __future__ import annotations

import pytest

from fencepost.errors import UsageError
from fencepost.model.audit import Action
from fencepost.model.identifiers import NodeId
from fencepost.model.leader import Resharding
from fencepost.services.control import Control
from tests.services.desk_work import ANNA, logged
from tests.services.house import NS, House, PlanningNode

NAMES = ("web-1-aa", "web-1-ab", "web-2-ca", "web-2")


async def open_fleet(*names: str) -> tuple[House, Control]:
    house = House()
    for name in names:
        await PlanningNode(house, name).membership.run_once()
    return house, Control(house.store, NS, ANNA)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param("web-1-ab", "web-1-ab", id="the whole id"),
        pytest.param("web-2", "web-2", id="the whole id of one, though another begins so"),
        pytest.param("web-2-", "web-2-ca", id="enough of one"),
        pytest.param("db", None, id="nobody"),
    ],
)
async def test_a_node_is_found_by_the_beginning_of_its_id(asked: str, found: str | None) -> None:
    _, control = await open_fleet(*NAMES)
    record = await control.fleet.find(asked)
    assert (None if record is None else record.node.node_id) == found


async def test_who_might_mean_two_nodes_is_told_both() -> None:
    _, control = await open_fleet(*NAMES)
    with pytest.raises(UsageError) as refused:
        await control.fleet.find("web-1")
    assert str(refused.value) == 'node "web-1": which one? web-1-aa, web-1-ab'


async def test_a_crowd_of_candidates_is_not_listed_to_the_end() -> None:
    _, control = await open_fleet(*(f"web-{number:02}" for number in range(20)))
    with pytest.raises(UsageError, match=r"web-07 and 12 more$"):
        await control.fleet.find("web")


async def test_an_empty_name_means_nobody_even_where_there_is_one_node() -> None:
    _, control = await open_fleet("web-1")
    with pytest.raises(UsageError, match="see: fencepost status"):
        await control.fleet.find("")


async def test_a_drain_and_its_end_are_logged_once_each() -> None:
    house, control = await open_fleet("web-1", "web-2")
    node_id = NodeId("web-1")
    for _ in range(2):
        assert await control.fleet.drain(node_id)
    record = await control.fleet.get(node_id)
    assert record is not None
    assert record.draining
    assert await control.fleet.left_undone(record) == []
    for _ in range(2):
        assert await control.fleet.undrain(node_id)
    assert await logged(control) == [(Action.NODE_DRAIN, "web-1"), (Action.NODE_UNDRAIN, "web-1")]
    house.clock.advance(60)
    assert await control.fleet.get(node_id) is None
    assert not await control.fleet.drain(node_id)


async def test_shards_are_cut_anew_once_and_within_bounds() -> None:
    _, control = await open_fleet()
    assert await control.fleet.reshard(16) == Resharding(8, 16, 0)
    assert await control.fleet.reshard(16) == Resharding(16, 16, 0)
    for wrong in (-1, 0, 1025):
        with pytest.raises(UsageError, match=f"shards {wrong}: expected 1 to 1024"):
            await control.fleet.reshard(wrong)
    assert await logged(control) == [(Action.RESHARD, "shards")]
