"""The fleet at one moment: asked of everybody, whoever does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from fencepost.core.fleet import AlarmKind
from fencepost.errors import InvalidSettings, LeaseStoreUnavailable
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import Granted, LeaseRecord
from fencepost.operations.control import Control
from fencepost.operations.status import StatusRequest, show_status
from fencepost.services import fleet
from fencepost.services.fleet import look
from tests.services.house import NS, House, PlanningNode

SKEW_MAX_S = 1.0


class Elsewhere:
    """A lease store with such answers, one after the other; the last one stands."""

    def __init__(self, *answers: Sequence[LeaseRecord] | Exception) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def read(self) -> Sequence[LeaseRecord]:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def led_by_alice(shards: int = 2) -> House:
    house = House(shards=shards)
    await PlanningNode(house, "alice").elector.run_once()
    return house


async def test_a_fleet_that_is_well_has_no_trouble_and_no_alarm() -> None:
    house = await led_by_alice()
    house.clock.advance(2)
    view = await look(house.store, house.store.leases, SKEW_MAX_S)
    assert (view.trouble, view.alarms, view.at) == (None, [], house.clock.wall())
    assert [one.node.node_id for one in view.nodes] == ["alice"]
    for one in view.shards:
        assert (one.holder, one.epoch, one.expires_in_s, one.trusted_for_s) == ("alice", 1, 8.0, 7.0)
        assert (one.transitions, one.renewals_failed, one.lineage) == (1, 0, "store")


async def test_a_lease_store_that_is_away_hides_nothing_else() -> None:
    house = await led_by_alice()
    away = Elsewhere(LeaseStoreUnavailable("etcd: connection refused"))
    view = await look(house.store, away, SKEW_MAX_S)
    assert view.trouble is not None
    assert view.trouble.startswith("the lease store did not answer (etcd: connection refused)")
    assert [(one.holder, one.epoch, one.expires_in_s) for one in view.shards] == [("alice", 1, None)] * 2
    assert (view.alarms, away.asked) == ([], 1)


async def test_a_lease_store_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging:
        async def read(self) -> Sequence[LeaseRecord]:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr(fleet, "ANSWER_MAX_S", 0.01)
    house = await led_by_alice()
    view = await look(house.store, Hanging(), SKEW_MAX_S)
    assert view.trouble is not None
    assert "did not answer (nothing within 0.01 s)" in view.trouble


async def test_a_wrong_address_is_not_taken_for_silence() -> None:
    house = await led_by_alice()
    with pytest.raises(InvalidSettings):
        await look(house.store, Elsewhere(InvalidSettings("leases: no such scheme")), SKEW_MAX_S)


async def test_who_looks_for_the_leases_in_the_wrong_place_is_told_where_they_come_from() -> None:
    house = await led_by_alice()
    empty = Elsewhere([])
    view = await look(house.store, empty, SKEW_MAX_S)
    assert view.trouble is not None
    assert view.trouble.startswith("the leases of shards 0-1 are elsewhere (store)")
    assert view.trouble.endswith("give --leases as the nodes have it")
    assert {one.holder for one in view.shards} == {"alice"}
    assert empty.asked == 2


async def test_a_lease_that_moved_between_two_answers_is_not_elsewhere() -> None:
    house = await led_by_alice()
    moved = Elsewhere([], await house.memory.leases.read())
    view = await look(house.store, moved, SKEW_MAX_S)
    assert (view.trouble, moved.asked) == (None, 2)
    assert {one.expires_in_s for one in view.shards} == {10.0}


async def test_a_node_that_was_overtaken_and_says_otherwise_later_is_an_alarm() -> None:
    house = await led_by_alice(shards=1)
    grant = Granted(Epoch(1), Lineage("etcd:other"))
    await house.memory.epochs.register({Shard(0): grant}, NodeId("bob"))
    assert (await look(house.store, house.store.leases, SKEW_MAX_S)).alarms == []
    house.clock.advance(1)
    (alice,) = await house.memory.nodes.live()
    await house.memory.nodes.beat(alice.node, alice.report, 10)
    (alarm,) = (await look(house.store, house.store.leases, SKEW_MAX_S)).alarms
    assert (alarm.kind, alarm.nodes) == (AlarmKind.RIVALS, ("alice", "bob"))


async def test_a_node_that_was_heard_before_the_clock_was_set_back_is_an_alarm() -> None:
    house = await led_by_alice(shards=1)
    await house.memory.leases.release({Shard(0): Epoch(1)}, NodeId("alice"))
    house.clock.set_back(3600)
    view = await look(house.store, house.store.leases, SKEW_MAX_S)
    (alarm,) = view.alarms
    assert (alarm.kind, alarm.nodes, view.nodes) == (AlarmKind.CLOCK, ("alice",), [])


async def test_control_looks_where_it_was_told_and_else_in_the_store() -> None:
    house = await led_by_alice()
    assert (await show_status.carry_out(Control(house.store, NS), StatusRequest())).leases.trouble is None
    away = Elsewhere(LeaseStoreUnavailable("gone"))
    status = await show_status.carry_out(Control(house.store, NS, leases=away), StatusRequest())
    assert status.leases.trouble is not None
    assert status.queue.ready == 0
