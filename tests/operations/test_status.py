"""The state of the house, as one namespace sees it."""

from __future__ import annotations

import msgspec
import pytest

from fencepost.model.freeze import ScopeKind
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.node import Node, NodeReport
from fencepost.operations.control import Control
from fencepost.operations.freezes import ChangeFreezeRequest, freeze
from fencepost.operations.status import StatusRequest, show_status
from tests.operations.asking import asked
from tests.operations.test_gates import closed
from tests.services.house import NS, House, PlanningNode
from tests.services.verbs_work import ANNA


async def busy() -> House:
    """A house with a node, a closed gate, a freeze and runs, all of one namespace but the node."""
    house = House()
    control = await closed(house, "invoices")
    await PlanningNode(house, "web-1").elector.run_once()
    await house.enqueue("by-hand")
    await asked(control, freeze, ChangeFreezeRequest(kind=ScopeKind.SCHEDULE, value="invoices"))
    return house


async def test_it_says_what_waits_for_whom() -> None:
    house = await busy()
    status = await asked(Control(house.store, NS, ANNA), show_status, StatusRequest())
    assert (status.queue.ready, status.attention.held) == (1, 3)
    assert [one.schedule_id for one in status.gates] == ["invoices"]
    assert [one.value for one in status.freezes] == ["invoices"]
    assert [one.node_id for one in status.nodes] == ["web-1"]
    assert {one.holder for one in status.shards} == {"web-1"}
    assert status.workers == []


async def test_another_namespace_sees_the_fleet_and_nothing_of_its_neighbours() -> None:
    house = await busy()
    other = Control(house.store, Namespace("billing"), ANNA)
    status = await asked(other, show_status, StatusRequest())
    assert [one.node_id for one in status.nodes] == ["web-1"]
    text = msgspec.json.encode(status).decode()
    assert "invoices" not in text
    assert "by-hand" not in text
    assert (status.queue.ready, status.completeness.due, status.attention.held) == (0, 0, 0)
    assert (status.gates, status.freezes) == ([], [])


@pytest.mark.parametrize(("warning_s", "alarms"), [(1.0, ["skew"]), (3.0, [])])
async def test_the_skew_that_counts_is_the_settings(warning_s: float, alarms: list[str]) -> None:
    house = House(skew_warning_s=warning_s)
    node = Node(NodeId("w"), "web", 7, plans=False, works=True)
    await house.memory.nodes.beat(node, NodeReport(skew_s=2.5), 60)
    control = Control(house.store, NS, ANNA, settings=house.settings)
    status = await asked(control, show_status, StatusRequest())
    assert [one.kind for one in status.alarms] == alarms
