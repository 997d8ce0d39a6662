"""A drain, watched from outside."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from fencepost.core.draining import DrainState, DrainWatch, left_undone, seen
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.node import Led, Node, NodeRecord, NodeReport

NOW = StoreTime(datetime(2026, 3, 1, 12, tzinfo=UTC))
ASKED = NodeRecord(Node(NodeId("alice"), "host", 1, True, True), NOW, 8.0, NodeReport(), NOW, draining=True)


def says(at_s: float, running: int = 0, leads: int = 0, draining: bool = True) -> NodeRecord:
    held = tuple(Led(Shard(number), Epoch(1), 9.0) for number in range(leads))
    report = NodeReport(leads=held, running=running)
    return replace(ASKED, report=report, reported_at=later(NOW, at_s), draining=draining)


@pytest.mark.parametrize(
    ("looks", "state"),
    [
        pytest.param([], DrainState.DRAINING, id="what it said before counts for nothing"),
        pytest.param([says(0)] * 9, DrainState.DRAINING, id="nor does looking again and again"),
        pytest.param([says(1)], DrainState.DRAINING, id="nor what it said when it was told"),
        pytest.param([says(1), says(1), says(2)], DrainState.DRAINED, id="idle when it knew"),
        pytest.param([says(1), says(2, running=1)], DrainState.DRAINING, id="a run goes on"),
        pytest.param([says(1), says(2, leads=1)], DrainState.DRAINING, id="a lease is kept"),
        pytest.param([says(1), says(2, running=1), says(3)], DrainState.DRAINED, id="the run has ended"),
        pytest.param([says(1, running=1), None], DrainState.LEFT, id="it was stopped meanwhile"),
        pytest.param([says(1), says(2, draining=False)], DrainState.UP, id="it was taken back"),
    ],
)
def test_a_drain_is_believed_only_of_who_knows_of_it(
    looks: list[NodeRecord | None], state: DrainState
) -> None:
    watch = DrainWatch(ASKED)
    for look in looks:
        watch = seen(watch, look)
    assert watch.state is state


def test_who_has_left_has_nothing_to_do_any_more() -> None:
    watch = DrainWatch(says(0, running=2, leads=3))
    assert watch.load == 5
    assert seen(watch, None).load == 0


def other(node_id: str, plans: bool, works: bool, draining: bool = False) -> NodeRecord:
    return replace(ASKED, node=Node(NodeId(node_id), "host", 1, plans, works), draining=draining)


@pytest.mark.parametrize(
    ("others", "undone"),
    [
        ([], ["plans", "works"]),
        ([other("bob", True, True)], []),
        ([other("bob", True, False)], ["works"]),
        ([other("bob", True, True, draining=True), other("carol", False, True)], ["plans"]),
    ],
)
def test_what_only_the_drained_node_did_is_named(others: list[NodeRecord], undone: list[str]) -> None:
    assert left_undone(ASKED, [ASKED, *others]) == undone


def test_a_role_that_no_node_had_is_not_missed() -> None:
    assert left_undone(other("carol", False, True), [other("bob", False, True)]) == []
