"""How long a planner rests."""

from __future__ import annotations

import pytest

from tests.services.house import House, PlanningNode


async def test_a_planner_does_not_rest_longer_while_it_has_work_or_could_miss_a_change() -> None:
    house = House()
    node, every_s = PlanningNode(house, "alice"), house.settings.plan_every_s
    await node.elector.run_once()
    assert await node.planner.run_once() == every_s
    house.memory.signals.are_connected = True
    assert await node.planner.run_once() == pytest.approx((60 - (10 + 4 * 1.2)) / 3)
    await house.put("beat", every_s=10)
    assert await node.planner.run_once() == every_s
