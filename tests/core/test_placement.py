"""Every node computes the same, fair placement, and a change of the fleet moves little."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.core.placement import assign, shards_of
from fencepost.model.identifiers import NodeId, Shard

names = st.lists(st.text("abcdefgh0123456789-", min_size=1, max_size=8), min_size=1, max_size=12, unique=True)
fleets = names.map(lambda found: [NodeId(name) for name in found])


def fleet(size: int) -> list[NodeId]:
    return [NodeId(f"host-{number}") for number in range(size)]


@given(st.integers(1, 64), fleets)
def test_every_shard_has_exactly_one_holder_and_no_node_more_than_its_share(
    shards: int, nodes: list[NodeId]
) -> None:
    placed = assign(shards, nodes)
    assert set(placed) == {Shard(number) for number in range(shards)}
    holders = list(placed.values())
    assert max(holders.count(node) for node in nodes) <= -(-shards // len(nodes))


@given(st.integers(1, 64), fleets, st.randoms())
def test_the_order_of_the_list_does_not_matter(shards: int, nodes: list[NodeId], random: Random) -> None:
    shuffled = list(nodes)
    random.shuffle(shuffled)
    assert assign(shards, shuffled) == assign(shards, nodes)


@given(st.integers(1, 64), fleets)
def test_the_nodes_own_views_fit_together(shards: int, nodes: list[NodeId]) -> None:
    views = [shards_of(node, shards, nodes) for node in nodes]
    assert sum(map(len, views)) == shards
    assert frozenset().union(*views) == frozenset(assign(shards, nodes))


def test_without_nodes_there_is_no_holder() -> None:
    assert assign(8, []) == {}
    assert shards_of(NodeId("gone"), 8, fleet(2)) == frozenset()


def test_the_answer_is_the_same_in_every_release() -> None:
    placed = assign(8, fleet(3))
    assert [placed[Shard(number)][-1] for number in range(8)] == list("12110020")


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8])
def test_a_node_that_leaves_does_not_move_most_of_the_others_shards(size: int) -> None:
    shards, nodes = 64, fleet(size)
    before = assign(shards, nodes)
    for gone in nodes:
        after = assign(shards, [node for node in nodes if node != gone])
        moved = [shard for shard, holder in before.items() if holder != gone and after[shard] != holder]
        assert len(moved) <= shards // 6, (gone, len(moved))
