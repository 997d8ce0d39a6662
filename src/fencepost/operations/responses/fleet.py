"""The fleet: shards, nodes, alarms. A credential of one namespace sees the nodes of that one only."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.core.fleet import Alarm, ShardView
from fencepost.model.leader import Refusal, Resharding, Term
from fencepost.model.node import BrokerReport, NodeRecord
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, moment


class ShardResponse(Struct, kw_only=True):
    """A shard; null is what nobody could say."""

    shard: int
    holder: Annotated[
        str | None, Meta(description="The node that leads it; `(another namespace)` where it is not shown.")
    ]
    epoch: Annotated[int, Meta(description="What plans are compared with.")]
    expires_in_s: Annotated[float | None, Meta(description="By the lease store; 0: the lease is free.")]
    since: Annotated[Moment | None, Meta(description="When its holder was registered.")]
    transitions: Annotated[int, Meta(description="How often its leader changed.")]
    renewals_failed: Annotated[int | None, Meta(description="As the holder says.")]
    trusted_for_s: Annotated[float | None, Meta(description="To the holder's own deadline, as it says.")]
    lineage: Annotated[str | None, Meta(description="Which lease store the lease came from.")]
    renewed_at: Annotated[
        Moment | None, Meta(description="When its lease was last renewed or granted, as the holder says.")
    ]
    ttl_s: Annotated[float | None, Meta(description="For how long each renewal is, as the holder says.")]


class BrokerResponse(Struct, kw_only=True):
    """How a node stands to its message broker."""

    name: Annotated[str, Meta(examples=["rabbitmq"])]
    away_s: Annotated[float, Meta(description="For how long it has missed it; 0: it has not.")]
    waiting: Annotated[int, Meta(description="Messages that wait for a processor or an intake.")]


class NodeResponse(Struct, kw_only=True):
    """A live node, as it said last."""

    node_id: Annotated[str, Meta(examples=["web-3-4711-a1b2"])]
    host: str
    pid: int
    started_at: Moment
    alive_for_s: float
    skew_s: Annotated[float, Meta(description="Its wall clock minus the store's.")]
    draining: bool
    leads: Annotated[int, Meta(description="How many shards.")]
    running: Annotated[int, Meta(description="How many runs.")]
    broker: BrokerResponse | None


class WorkerResponse(NodeResponse, kw_only=True):
    """A live node that works."""

    queues: list[str]
    concurrency: int


class FleetNode(WorkerResponse, kw_only=True):
    """A live node, whatever it does."""

    plans: bool
    works: bool
    stall_s: Annotated[float, Meta(description="The longest time that it stood still within a day.")]
    skewed: Annotated[bool, Meta(description="Whether its clock is too far from the store's.")]
    reported_at: Moment | None

    @property
    def load(self) -> int:
        """How much it leads and runs."""
        return self.leads + self.running


class NodePage(Struct, kw_only=True):
    """Live nodes, by id; `at` is the store's time."""

    items: list[FleetNode]
    next: Next
    at: Moment


class DrainResponse(Struct, kw_only=True):
    """The node once it was asked, and whether that was news."""

    node: FleetNode
    changed: bool
    undone: Annotated[
        list[str],
        Meta(description="What nobody else does meanwhile: `plans`, `works`.", examples=[["plans"]]),
    ]


class ReshardResponse(Struct, kw_only=True):
    """How many shards there were and are, and how many schedules moved to another."""

    before: int
    after: int
    moved: int
    changed: bool


class AlarmResponse(Struct, kw_only=True):
    """What a person should look at, with the mend, and what it is about."""

    kind: Annotated[str, Meta(examples=["skew"])]
    text: str
    shards: list[int]
    nodes: list[str]


class LeasePage(Struct, kw_only=True):
    """Who leads what; every shard is there, also one that nobody has led yet."""

    items: list[ShardResponse]
    next: Next
    at: Moment
    url: Annotated[str | None, Meta(description="Where leases live, without a password; null: in the store.")]
    trouble: Annotated[str | None, Meta(description="Why something of the leases is unknown.")]


class TermResponse(Struct, kw_only=True):
    """A time for which plans of one holder counted for one shard."""

    number: int
    shard: int
    epoch: int
    holder: str
    lineage: str
    since: Moment
    until: Annotated[Moment | None, Meta(description="Null where it has not ended.")]


class TermPage(Struct, kw_only=True):
    """Who led when, the latest first."""

    items: list[TermResponse]
    next: Next


class RefusalResponse(Struct, kw_only=True):
    """A write under an epoch that was over: it changed nothing."""

    number: int
    at: Moment
    shard: int
    epoch: int
    holder: str
    known_epoch: Annotated[int, Meta(description="What the ledger had by then.")]
    known_holder: str | None


class RefusalPage(Struct, kw_only=True):
    """Refused writes, the latest first."""

    items: list[RefusalResponse]
    next: Next


def shard_response(view: ShardView) -> ShardResponse:
    """A shard."""
    return ShardResponse(
        shard=view.shard,
        holder=view.holder,
        epoch=view.epoch,
        expires_in_s=view.expires_in_s,
        since=moment(view.since),
        transitions=view.transitions,
        renewals_failed=view.renewals_failed,
        trusted_for_s=view.trusted_for_s,
        lineage=view.lineage,
        renewed_at=moment(view.renewed_at),
        ttl_s=view.ttl_s,
    )


def node_fields(record: NodeRecord) -> dict[str, Any]:
    """A node, by the names of its shape."""
    return {
        "node_id": record.node.node_id,
        "host": record.node.host,
        "pid": record.node.pid,
        "started_at": moment(record.started_at),
        "alive_for_s": record.alive_for_s,
        "skew_s": record.skew_s,
        "draining": record.draining,
        "leads": len(record.report.leads),
        "running": record.report.running,
        "broker": None if record.report.broker is None else _broker_response(record.report.broker),
    }


def _broker_response(report: BrokerReport) -> BrokerResponse:
    return BrokerResponse(name=report.name, away_s=report.away_s, waiting=report.waiting)


def worker_fields(record: NodeRecord) -> dict[str, Any]:
    """A node that works, by the names of its shape."""
    node = record.node
    return {**node_fields(record), "queues": list(node.queues), "concurrency": node.concurrency}


def fleet_node(record: NodeRecord, skewed: bool) -> FleetNode:
    """A node, with all that it does."""
    return FleetNode(
        **worker_fields(record),
        plans=record.node.plans,
        works=record.node.works,
        stall_s=record.report.stall_s,
        skewed=skewed,
        reported_at=moment(record.reported_at),
    )


def alarm_response(alarm: Alarm) -> AlarmResponse:
    """An alarm."""
    return AlarmResponse(
        kind=str(alarm.kind), text=alarm.text, shards=list(alarm.shards), nodes=list(alarm.nodes)
    )


def reshard_response(done: Resharding) -> ReshardResponse:
    """What a new cut has changed."""
    changed = done.before != done.after
    return ReshardResponse(before=done.before, after=done.after, moved=done.moved, changed=changed)


def term_response(term: Term) -> TermResponse:
    """A term."""
    return TermResponse(
        number=term.number,
        shard=term.shard,
        epoch=term.epoch,
        holder=term.holder,
        lineage=term.lineage,
        since=moment(term.since),
        until=moment(term.until),
    )


def refusal_response(refusal: Refusal) -> RefusalResponse:
    """A refused write."""
    return RefusalResponse(
        number=refusal.number,
        at=moment(refusal.at),
        shard=refusal.shard,
        epoch=refusal.epoch,
        holder=refusal.holder,
        known_epoch=refusal.known_epoch,
        known_holder=refusal.known_holder,
    )
