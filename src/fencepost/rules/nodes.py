"""The list of nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime, is_from_the_future, later
from fencepost.model.identifiers import Namespace, NodeId
from fencepost.model.node import GONE_KEPT, BeatResponse, Node, NodeRecord, NodeReport
from fencepost.model.node_codec import node_from_text, node_to_text, report_from_text, report_to_text
from fencepost.model.table import Row
from fencepost.model.tables import META, NODES
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import log
from fencepost.rules.epochs import read_standing
from fencepost.rules.meta import read_meta, write_meta
from fencepost.rules.part import Part, reads, writes
from fencepost.rules.rows import reader


class NodeRules(Part):
    """See `ports.nodes`."""

    @writes
    async def beat(self, tx: Transaction, node: Node, report: NodeReport, alive_for_s: float) -> BeatResponse:
        nodes = {row["node_id"]: row for row in await tx.find(NODES.all())}
        known, now = await tx.lock(NODES.at(node.node_id)), await tx.now()
        said = {
            "about": node_to_text(node),
            "alive_until": later(now, alive_for_s),
            "skew_s": report.skew_s,
            "report": report_to_text(report),
            "reported_at": now,
        }
        new = {"node_id": node.node_id, "started_at": now, **said}
        mine = [] if known else await tx.put_if_absent(NODES, [new])
        known = known or mine or await tx.lock(NODES.at(node.node_id))
        nodes |= {row["node_id"]: row for row in await tx.change(NODES, [(row, said) for row in known])}
        live = [nodes[node_id] for node_id in sorted(nodes) if _is_alive(nodes[node_id], now)]
        high_water, shards = await read_standing(tx)
        return BeatResponse(tuple(_shown(live, now)), high_water, shards)

    @writes
    async def leave(self, tx: Transaction, node_id: NodeId) -> None:
        await _strike_off(tx, await tx.lock(NODES.at(node_id)))
        tx.hint(Topic.LEASES)

    @reads
    async def live(self, tx: Transaction) -> Sequence[NodeRecord]:
        return await _find(tx, _is_alive)

    @reads
    async def from_future(self, tx: Transaction) -> Sequence[NodeRecord]:
        return await _find(tx, _is_from_the_future)

    @reads
    async def owners(self, tx: Transaction) -> Mapping[NodeId, Namespace]:
        return await _gone(tx) | _owners_of(await tx.find(NODES.all()))

    @writes
    async def drain(
        self, tx: Transaction, node_id: NodeId, draining: bool, namespace: Namespace, author: Author
    ) -> bool:
        known = await tx.lock(NODES.at(node_id))
        if not known or not _is_alive(known[0], await tx.now()):
            return False
        if known[0]["draining"] != draining:
            await tx.change(NODES, [(known[0], {"draining": draining})])
            action = Action.NODE_DRAIN if draining else Action.NODE_UNDRAIN
            said = {"draining": not draining}, {"draining": draining}
            await log(tx, author, namespace, action, node_id, *said)
            tx.hint(Topic.LEASES)
        return True

    @writes
    async def sweep(self, tx: Transaction, dead_for_s: float) -> int:
        now = await tx.now()
        nodes = await tx.take(NODES.all())
        ahead = [row for row in nodes if _is_from_the_future(row, now)]
        await tx.change(NODES, [(row, {"reported_at": now, "alive_until": now}) for row in ahead])
        cutoff = later(now, -dead_for_s)
        dead = [row for row in nodes if row not in ahead and row["alive_until"] < cutoff]
        await _strike_off(tx, dead)
        return len(dead)


async def _strike_off(tx: Transaction, nodes: Sequence[Row]) -> None:
    """Delete them; their namespaces are kept, the last at the end."""
    if not nodes:
        return
    await tx.delete(NODES, nodes)
    await tx.lock(META.at("gone_nodes"))
    gone = await _gone(tx) | _owners_of(nodes)
    last_of_each = {namespace: node_id for node_id, namespace in gone.items()}
    kept = {*last_of_each.values(), *list(gone)[-GONE_KEPT:]}
    await write_meta(tx, "gone_nodes", json.dumps({one: gone[one] for one in gone if one in kept}))


async def _gone(tx: Transaction) -> dict[NodeId, Namespace]:
    text = await read_meta(tx, "gone_nodes")
    return {} if text is None else json.loads(text)


def _owners_of(nodes: Sequence[Row]) -> dict[NodeId, Namespace]:
    shown = [to_node_record({**row, "alive_for_s": 0.0}) for row in nodes]
    return {one.node.node_id: one.node.namespace for one in shown}


async def _find(tx: Transaction, keep: Callable[[Row, StoreTime], bool]) -> list[NodeRecord]:
    now = await tx.now()
    return _shown([row for row in await tx.find(NODES.all()) if keep(row, now)], now)


def _shown(nodes: Sequence[Row], now: StoreTime) -> list[NodeRecord]:
    return [
        to_node_record({**row, "alive_for_s": (row["alive_until"] - now).total_seconds()}) for row in nodes
    ]


def _is_alive(node: Row, now: StoreTime) -> bool:
    return bool(node["alive_until"] > now) and not _is_from_the_future(node, now)


def _is_from_the_future(node: Row, now: StoreTime) -> bool:
    return node["reported_at"] is not None and is_from_the_future(node["reported_at"], now)


to_node_record = reader(
    NodeRecord,
    node=lambda row: node_from_text(row["about"]),
    alive_for_s=lambda row: float(row["alive_for_s"]),
    report=lambda row: report_from_text(row["report"]),
)
"""A node, with `alive_for_s` by the store's clock and itself in `about`."""
