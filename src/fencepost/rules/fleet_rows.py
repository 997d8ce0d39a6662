"""Rows about leases, leaders and nodes as values of the model; see `rows` for what a row is."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from functools import lru_cache

from fencepost.model.identifiers import Epoch, NodeId, Queue, Shard
from fencepost.model.json import canonical
from fencepost.model.leader import LeaderRecord, Refusal, Term
from fencepost.model.lease import Acquisition, Granted, HeldBy, LeaseRecord
from fencepost.model.node import Led, Node, NodeRecord, NodeReport
from fencepost.rules.rows import Row

NODES_MAX = 1_024
REPORTED = tuple(one.name for one in fields(NodeReport))
LED = tuple(one.name for one in fields(Led))


def to_acquisition(row: Row) -> Acquisition:
    """A lease as it is after an attempt to acquire it: `granted`, else whose it is."""
    if row["granted"]:
        return Granted(Epoch(row["epoch"]), set_back_s=row["set_back_s"])
    return HeldBy(NodeId(row["holder"]), Epoch(row["epoch"]), float(row["expires_in_s"]))


def to_lease_record(row: Row) -> LeaseRecord:
    """A lease for people, with `expires_in_s` by the store's clock."""
    left_s, from_future = float(row["expires_in_s"]), bool(row["from_future"])
    return LeaseRecord(row["shard"], row["holder"], row["epoch"], left_s, from_future)


def to_leader_record(row: Row) -> LeaderRecord:
    """What the ledger knows of a shard's leader."""
    return LeaderRecord(
        shard=Shard(row["shard"]),
        epoch=Epoch(row["epoch"]),
        holder=row["holder"],
        lineage=row["lineage"],
        lease_epoch=Epoch(row["lease_epoch"]),
        since=row["since"],
        transitions=row["transitions"],
    )


def to_term(row: Row) -> Term:
    """A time for which somebody led a shard."""
    return Term(
        number=row["number"],
        shard=Shard(row["shard"]),
        epoch=Epoch(row["epoch"]),
        holder=NodeId(row["holder"]),
        lineage=row["lineage"],
        since=row["since"],
        until=row["until"],
    )


def to_refusal(row: Row) -> Refusal:
    """A write that came under an old epoch."""
    return Refusal(
        number=row["number"],
        at=row["at"],
        shard=Shard(row["shard"]),
        epoch=Epoch(row["epoch"]),
        holder=NodeId(row["holder"]),
        known_epoch=Epoch(row["known_epoch"]),
        known_holder=row["known_holder"],
    )


def to_node_record(row: Row) -> NodeRecord:
    """A node, with `alive_for_s` by the store's clock and itself in `about`."""
    return NodeRecord(
        node=_to_node(row["about"]),
        started_at=row["started_at"],
        alive_for_s=float(row["alive_for_s"]),
        report=_to_report(row["report"]),
        reported_at=row["reported_at"],
        draining=bool(row["draining"]),
    )


@lru_cache(NODES_MAX)
def node_to_text(node: Node) -> str:
    """What a node says of itself, as JSON for the column `about`."""
    return canonical({**asdict(node), "queues": list(node.queues)})


def report_to_text(report: NodeReport) -> str:
    """How a node says it is, as JSON for the column `report`."""
    said = {name: getattr(report, name) for name in REPORTED}
    return canonical({**said, "leads": [[getattr(one, name) for name in LED] for one in report.leads]})


@lru_cache(NODES_MAX)
def _to_node(about: str) -> Node:
    said = json.loads(about)
    queues = tuple(Queue(queue) for queue in said.pop("queues"))
    return Node(**said, queues=queues)


@lru_cache(NODES_MAX)
def _to_report(text: str) -> NodeReport:
    """What a newer release says besides is left alone."""
    said = json.loads(text)
    leads = tuple(Led(*one[: len(LED)]) for one in said.pop("leads", ()))
    return NodeReport(leads=leads, **{name: value for name, value in said.items() if name in REPORTED})
