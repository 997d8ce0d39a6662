"""The fleet for people: what three witnesses say together, and what of it is an alarm."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fencepost.core.fleet import (
    AlarmKind,
    ShardView,
    Witnesses,
    alarms,
    elsewhere,
    shard_views,
    shown_shards,
)
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.leader import LeaderRecord
from fencepost.model.lease import OWN_LINEAGE, LeaseRecord
from fencepost.model.node import BrokerReport, Led, Node, NodeRecord, NodeReport

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
ALICE, BOB = NodeId("alice"), NodeId("bob")
ONE = Shard(0)
SINCE = later(NOW, -60)
SKEW_MAX_S = 1.0


def node(
    node_id: NodeId,
    *leads: Led,
    plans: bool = True,
    draining: bool = False,
    skew_s: float = 0.0,
    reported_s_ago: float = 2.0,
) -> NodeRecord:
    report = NodeReport(skew_s=skew_s, leads=leads)
    about = Node(node_id, "host", 1, plans, True)
    return NodeRecord(about, SINCE, 8.0, report, later(NOW, -reported_s_ago), draining)


def led(shard: int = 0, epoch: int = 5, trusted_for_s: float = 9.0, renewals_failed: int = 0) -> Led:
    return Led(Shard(shard), Epoch(epoch), trusted_for_s, renewals_failed)


def leader(holder: NodeId = ALICE, shard: int = 0, epoch: int = 5, **others: Any) -> LeaderRecord:
    known = LeaderRecord(Shard(shard), Epoch(epoch), holder, OWN_LINEAGE, Epoch(epoch), SINCE, 3)
    return replace(known, **others)


def lease(holder: NodeId | None = ALICE, shard: int = 0, epoch: int = 5, left_s: float = 8.0) -> LeaseRecord:
    return LeaseRecord(Shard(shard), holder, Epoch(epoch), left_s)


def seen(**said: Any) -> Witnesses:
    """One shard that alice leads, as far as nothing else is said."""
    usual = Witnesses(NOW, 1, [leader()], [lease()], [node(ALICE, led(renewals_failed=2))])
    return replace(usual, **said)


def only(witnesses: Witnesses) -> ShardView:
    (view,) = shard_views(witnesses)
    return view


def kinds(witnesses: Witnesses) -> list[AlarmKind]:
    return [one.kind for one in alarms(witnesses, SKEW_MAX_S)]


def test_a_shard_that_is_led_has_the_words_of_all_three() -> None:
    assert only(seen()) == ShardView(ONE, ALICE, Epoch(5), 8.0, SINCE, 3, 2, 7.0, OWN_LINEAGE)
    assert kinds(seen()) == []


@pytest.mark.parametrize(("reported_s_ago", "left_s"), [(0, 9), (8.5, 0.5), (9, 0), (60, 0), (-1, 9)])
def test_a_leaders_trust_runs_on_after_its_report(reported_s_ago: float, left_s: float) -> None:
    nodes = [node(ALICE, led(), reported_s_ago=reported_s_ago)]
    assert only(seen(nodes=nodes)).trusted_for_s == left_s


def test_a_renewal_is_placed_in_the_time_of_the_store() -> None:
    nodes = [node(ALICE, Led(ONE, Epoch(5), 6.0, 0, 3.0, 10.0), reported_s_ago=4)]
    view = only(seen(nodes=nodes))
    assert (view.renewed_at, view.ttl_s) == (later(NOW, -7), 10.0)


def test_a_shard_that_never_had_a_leader_is_free_and_not_unknown() -> None:
    view = only(seen(leaders=[], leases=[], nodes=[]))
    assert view == ShardView(ONE, None, Epoch(0), 0.0, None, 0, None, None, None)


@pytest.mark.parametrize("held", [lease(None, left_s=0.0), lease(left_s=0.0)])
def test_a_lease_that_is_free_or_has_run_out_has_no_holder(held: LeaseRecord) -> None:
    view = only(seen(leases=[held], nodes=[]))
    assert (view.holder, view.expires_in_s, view.epoch, view.transitions) == (None, 0.0, 5, 3)
    assert (view.since, view.trusted_for_s, view.renewals_failed) == (None, None, None)


def test_a_holder_that_is_not_registered_yet_has_the_epoch_of_its_grant_and_no_since() -> None:
    view = only(seen(leases=[lease(BOB, epoch=6)], nodes=[node(BOB)]))
    assert (view.holder, view.epoch, view.since, view.trusted_for_s) == (BOB, 6, None, None)


def test_the_epoch_is_the_ledgers_where_the_lease_store_has_fallen_back() -> None:
    known = leader(epoch=41, lease_epoch=Epoch(2), lineage=Lineage("redis:b"))
    view = only(seen(leaders=[known], leases=[lease(epoch=2)]))
    assert (view.epoch, view.lineage) == (41, "redis:b")


def test_unread_leases_leave_the_ledgers_word_and_no_time() -> None:
    view = only(seen(leases=None))
    assert (view.holder, view.epoch, view.expires_in_s, view.trusted_for_s) == (ALICE, 5, None, 7.0)
    assert kinds(seen(leases=None)) == []
    assert elsewhere(seen(leases=None)) == []


def test_unread_leases_do_not_make_a_holder_of_who_is_not_alive() -> None:
    view = only(seen(leases=None, nodes=[node(BOB)]))
    assert (view.holder, view.expires_in_s) == (None, None)


def test_a_leader_whose_lease_is_not_where_it_was_looked_for_is_shown_all_the_same() -> None:
    view = only(seen(leases=[]))
    assert (view.holder, view.expires_in_s, view.since) == (ALICE, None, SINCE)
    assert elsewhere(seen(leases=[])) == [view]
    assert kinds(seen(leases=[])) == []


def test_a_leader_that_may_no_longer_believe_is_not_elsewhere() -> None:
    overdue = seen(leases=[], nodes=[node(ALICE, led(), reported_s_ago=9.5)])
    assert elsewhere(overdue) == []
    assert only(overdue).holder is None


def test_shards_of_an_older_and_wider_cut_are_left_out() -> None:
    views = shard_views(seen(shards=2, leaders=[leader(shard=1), leader(shard=7)], leases=[lease(shard=7)]))
    assert [(one.shard, one.transitions) for one in views] == [(0, 0), (1, 3)]


def test_a_node_that_has_not_noticed_its_successor_is_one_alarm_with_all_its_shards() -> None:
    leaders = [leader(BOB, shard, 8) for shard in (0, 1, 2)]
    leases = [lease(BOB, shard, 8) for shard in (0, 1, 2)]
    nodes = [node(ALICE, led(0), led(2)), node(BOB, *(led(shard, 8) for shard in (0, 1, 2)))]
    (alarm,) = alarms(seen(shards=3, leaders=leaders, leases=leases, nodes=nodes), SKEW_MAX_S)
    assert (alarm.kind, alarm.shards, alarm.nodes) == (AlarmKind.RIVALS, (0, 2), (ALICE, BOB))
    assert alarm.text.startswith("alice believes to lead shards 0, 2, which bob took over; give all nodes")


@pytest.mark.parametrize(
    ("leases", "nodes"),
    [
        pytest.param([], [node(ALICE)], id="a planner that leads nothing"),
        pytest.param(None, [node(ALICE)], id="a planner that stepped down while the lease store is away"),
        pytest.param([], [node(ALICE, led(), reported_s_ago=10)], id="a leader whose trust has run out"),
    ],
)
def test_a_shard_without_a_leader_while_a_node_plans_is_an_alarm(leases: Any, nodes: Any) -> None:
    (alarm,) = alarms(seen(leases=leases, nodes=nodes), SKEW_MAX_S)
    assert (alarm.kind, alarm.shards, alarm.nodes) == (AlarmKind.LEADERLESS, (ONE,), (ALICE,))
    assert alarm.text.startswith("no node leads shard 0, although 1 node plans: where that lasts")


def test_who_drains_the_last_planner_is_told_how_to_take_it_back() -> None:
    nodes = [node(ALICE, draining=True), node(BOB, draining=True)]
    (alarm,) = alarms(seen(leases=[], nodes=nodes), SKEW_MAX_S)
    assert "although 2 nodes plan: all of them are draining" in alarm.text
    assert "fencepost drain NODE --undo" in alarm.text


@pytest.mark.parametrize("nodes", [[], [node(ALICE, plans=False)]])
def test_without_a_planner_no_leader_is_missed(nodes: list[NodeRecord]) -> None:
    assert kinds(seen(leases=[], nodes=nodes)) == []


def test_a_lease_of_a_dead_node_that_runs_on_is_no_alarm() -> None:
    assert kinds(seen(nodes=[node(BOB)])) == []


def test_a_lease_from_the_future_is_an_alarm_and_has_no_holder() -> None:
    ahead = replace(lease(left_s=3599.0), from_future=True)
    found = seen(leases=[ahead], nodes=[node(BOB)])
    assert (only(found).holder, only(found).expires_in_s) == (None, 0.0)
    assert kinds(found) == [AlarmKind.LEADERLESS, AlarmKind.CLOCK]
    assert "shard 0: leases last longer than their term" in alarms(found, SKEW_MAX_S)[1].text


def test_a_node_from_the_future_is_an_alarm() -> None:
    (alarm,) = alarms(seen(from_future=[node(BOB)]), SKEW_MAX_S)
    assert (alarm.kind, alarm.nodes) == (AlarmKind.CLOCK, (BOB,))
    assert alarm.text.startswith("bob: the last sign of life lies in the future")


def test_a_clock_that_was_set_ahead_is_an_alarm() -> None:
    alice = node(ALICE, led())
    found = seen(nodes=[replace(alice, report=replace(alice.report, set_ahead_s=3600.0)), node(BOB)])
    (alarm,) = (one for one in alarms(found, SKEW_MAX_S) if one.kind is AlarmKind.CLOCK)
    assert alarm.nodes == (ALICE,)
    assert "was set ahead by 3600 s" in alarm.text


@pytest.mark.parametrize("is_cut_off", [True, False])
def test_a_node_that_gets_no_answer_from_its_lease_store_is_an_alarm(is_cut_off: bool) -> None:
    alice = node(ALICE, led())
    alice = replace(alice, report=replace(alice.report, cut_off=is_cut_off))
    found = [one for one in alarms(seen(nodes=[alice]), SKEW_MAX_S) if one.kind is AlarmKind.CUT_OFF]
    assert [one.nodes for one in found] == ([(ALICE,)] if is_cut_off else [])


@pytest.mark.parametrize(("away_s", "named"), [(5.0, [(ALICE, BOB)]), (4.0, [])])
def test_a_broker_that_answers_some_nodes_no_more_is_one_alarm(
    away_s: float, named: list[tuple[NodeId, ...]]
) -> None:
    nodes = [
        replace(one, report=replace(one.report, broker=BrokerReport("amqp://mq", away_s=away_s)))
        for one in (node(ALICE, led()), node(BOB), node(NodeId("carol"), draining=True))
    ]
    found = [one for one in alarms(seen(nodes=nodes), SKEW_MAX_S) if one.kind is AlarmKind.BROKER]
    assert [one.nodes for one in found] == named
    assert all("the broker amqp://mq does not answer or refuses alice, bob" in one.text for one in found)


@pytest.mark.parametrize(
    ("skew_s", "said"), [(1.0, None), (-1.0, None), (1.5, "1.5 s ahead of"), (-90.0, "90 s behind")]
)
def test_a_clock_beyond_the_threshold_is_an_alarm_whichever_way(skew_s: float, said: str | None) -> None:
    found = alarms(seen(nodes=[node(ALICE, led(), skew_s=skew_s)]), SKEW_MAX_S)
    assert [one.kind for one in found] == ([] if said is None else [AlarmKind.SKEW])
    assert all(f"the clock of alice is {said} the store's, more than 1 s" in one.text for one in found)


@pytest.mark.parametrize(
    ("shards", "said"),
    [
        ([3], "shard 3"),
        ([0, 1], "shards 0-1"),
        ([7, 0, 2, 1], "shards 0-2, 7"),
        (range(0, 40, 2), "shards 0, 2, 4, 6, 8, 10, 12, 14 and 12 more"),
        (range(1024), "shards 0-1023"),
    ],
)
def test_many_shards_are_few_words(shards: Any, said: str) -> None:
    assert shown_shards(map(Shard, shards)) == said
