"""The verbs of the fleet: its nodes, and the shards that they share. A change is one for all namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from fencepost.core.draining import left_undone
from fencepost.core.fleet import is_skewed
from fencepost.errors import UnknownNode, UsageError
from fencepost.model.access import Role
from fencepost.model.identifiers import NodeId
from fencepost.model.node import NodeRecord
from fencepost.model.quoting import quoted
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.fleet import (
    DrainResponse,
    FleetNode,
    NodePage,
    ReshardResponse,
    fleet_node,
    reshard_response,
)
from fencepost.operations.words import SHARDS_MAX, Text, moment

NAMED_MAX = 8
NodeName = Annotated[Text, Meta(min_length=1, description="The node's id.", examples=["web-3-4711-a1b2"])]


class ListNodesRequest(Request, frozen=True, kw_only=True):
    """Which nodes to list."""

    node_id: Annotated[Text, Meta(min_length=1, description="Only the node of this very id.")] | None = None
    name: (
        Annotated[
            Text,
            Meta(
                min_length=1,
                description="Only the node of this id, or else the only one whose id begins so; where "
                "several do, it is refused.",
            ),
        ]
        | None
    ) = None
    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ChangeNodeRequest(ChangeRequest, frozen=True, kw_only=True):
    """One live node, by its id."""

    node_id: NodeName


class ReshardRequest(ChangeRequest, frozen=True, kw_only=True):
    """How many shards there are to be."""

    shards: Annotated[int, Meta(ge=1, le=SHARDS_MAX)]


@operation("nodes.list", "GET /nodes", Role.VIEWER)
async def list_nodes(control: Control, request: ListNodesRequest) -> NodePage:
    """List the live nodes: what they do, lead and run, and their clocks' skew."""
    found = await live_nodes(control)
    if request.name is not None:
        found = _named(request.name, found)
    wanted = [one for one in found if request.node_id in (None, one.node.node_id)]
    page, after = sliced(
        wanted, lambda one: (str(one.node.node_id),), tuple[str], request.limit, request.after
    )
    now = await control.store.now()
    return NodePage(items=[_shape(control, one) for one in page], next=after, at=moment(now))


@operation("nodes.drain", "POST /nodes/{node_id}/drain", Role.ADMIN, whole_fleet=True)
async def drain_node(control: Control, request: ChangeNodeRequest) -> DrainResponse:
    """Have a node plan nothing and start nothing more.

    Its shards go to other nodes at once, and what it runs is let finish. Then its process can be stopped
    without anybody waiting for a lease or a run."""
    return await _drained(control, NodeId(request.node_id), True)


@operation("nodes.undrain", "POST /nodes/{node_id}/undrain", Role.ADMIN, whole_fleet=True)
async def undrain_node(control: Control, request: ChangeNodeRequest) -> DrainResponse:
    """Let a node that drains plan and work again."""
    return await _drained(control, NodeId(request.node_id), False)


@operation(
    "shards.reshard",
    "POST /shards",
    Role.ADMIN,
    whole_fleet=True,
    example={"shards": 32, "reason": "twelve planners"},
)
async def reshard(control: Control, request: ReshardRequest) -> ReshardResponse:
    """Cut the schedules into another number of shards, from 1 to 1024, while nodes run.

    A shard is what one node plans at a time, so there should be several for each node that plans. All
    schedules move in one transaction, in which every epoch rises: what leaders of the old cut still have on
    its way is refused, and no tick is lost or doubled. Nodes follow by themselves."""
    older = [one for one in await control.store.nodes.live() if one.reported_at is None]
    if older:
        raise UsageError(
            f"shards {request.shards}: {_names(older)} would go on by the old number; "
            "upgrade every process, applications too, before the first reshard"
        )
    done = await control.store.epochs.reshard(request.shards, control.namespace, control.author)
    return reshard_response(done)


async def live_nodes(control: Control) -> list[NodeRecord]:
    """The live nodes that the caller may see, by id."""
    live = await control.store.nodes.live()
    return [one for one in live if control.kept_to in (None, one.node.namespace)]


def _named(name: str, live: Sequence[NodeRecord]) -> list[NodeRecord]:
    """The node of this id, or the only one whose id begins so; refused where several do."""
    if not name:
        raise UsageError("node: expected an id or the beginning of one; see: fencepost status")
    exact = [one for one in live if one.node.node_id == name]
    found = exact or [one for one in live if one.node.node_id.startswith(name)]
    if len(found) > 1:
        raise UsageError(f"node {quoted(name)}: which one? {_names(found)}")
    return found


def _names(found: Sequence[NodeRecord]) -> str:
    left = len(found) - NAMED_MAX
    names = ", ".join(one.node.node_id for one in found[:NAMED_MAX])
    return f"{names} and {left} more" if left > 0 else names


async def _drained(control: Control, node_id: NodeId, draining: bool) -> DrainResponse:
    before = await _known(control, node_id)
    await control.store.nodes.drain(node_id, draining, control.namespace, control.author)
    record = await _known(control, node_id)
    undone = left_undone(record, await control.store.nodes.live()) if draining else []
    changed = before.draining is not record.draining
    return DrainResponse(node=_shape(control, record), changed=changed, undone=undone)


async def _known(control: Control, node_id: NodeId) -> NodeRecord:
    for one in await control.store.nodes.live():
        if one.node.node_id == node_id:
            return one
    raise UnknownNode(f"node {quoted(node_id)}: no live node is called so; see: fencepost status")


def _shape(control: Control, record: NodeRecord) -> FleetNode:
    return fleet_node(record, is_skewed(record, control.settings.skew_warning_s))
