"""A process of the fleet."""

from __future__ import annotations

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.high_water import HighWater
from fencepost.model.identifiers import DEFAULT_NAMESPACE, Epoch, JobName, Namespace, NodeId, Queue, Shard


@dataclass(frozen=True)
class Node:
    """What a process reports about itself. Its name is made anew at each start and never used again."""

    node_id: NodeId
    host: str
    pid: int
    plans: bool
    works: bool
    queues: tuple[Queue, ...] = ()
    concurrency: int = 0
    code_digest: str = ""
    namespace: Namespace = DEFAULT_NAMESPACE
    """The namespace whose jobs it runs, and whose users may see where it runs them. It plans for all
    namespaces."""


@dataclass(frozen=True, slots=True)
class Led:
    """A shard that a node believed to lead when it reported: for how long it might still believe so, and how
    many renewals went without an answer since the grant. Then, None where an older release does not report
    them: how long ago it sent the last answered renewal, or the grant, and how long a lease is."""

    shard: Shard
    epoch: Epoch
    trusted_for_s: float
    renewals_failed: int = 0
    renewed_ago_s: float | None = None
    ttl_s: float | None = None


@dataclass(frozen=True, slots=True)
class BrokerReport:
    """How a node stands to its message broker: for how long it has missed it (0 where it has not), how many
    messages it saw waiting for a processor or an intake, and for how long it has heard processors without a
    break."""

    name: str
    away_s: float = 0.0
    waiting: int = 0
    heard_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeReport:
    """The state of a node, reported with each sign of life. `skew_s` is its wall clock minus the store's;
    `transitions` counts the grants that it got or lost since its start."""

    skew_s: float = 0.0
    leads: tuple[Led, ...] = ()
    transitions: int = 0
    running: int = 0
    cut_off: bool = False
    """Whether the lease store did not answer it: then it is no candidate, and others ask for its shards."""
    set_ahead_s: float = 0.0
    """By how much it saw the store's clock leap ahead within the last hour."""
    stall_s: float = 0.0
    """The longest time within the last day for which its event loop stood still."""
    broker: BrokerReport | None = None
    """None where it uses no message broker."""
    jobs: tuple[JobName, ...] | None = None
    """The jobs of its application, by name. None where it does not report them: it has more than
    `JOBS_TOLD_MAX`, or is of an older release."""


JOBS_TOLD_MAX = 1_000


GONE_KEPT = 100
"""The ledger keeps the namespaces of this number of nodes that are gone."""


@dataclass(frozen=True)
class NodeRecord:
    """A node as the store knows it. One that is `draining` plans nothing and starts nothing more."""

    node: Node
    started_at: StoreTime
    alive_for_s: float
    report: NodeReport = NodeReport()
    reported_at: StoreTime | None = None
    draining: bool = False

    @property
    def load(self) -> int:
        """How much it leads and runs, by its last report."""
        return len(self.report.leads) + self.report.running

    @property
    def skew_s(self) -> float:
        """The node's wall clock minus the store's."""
        return self.report.skew_s


@dataclass(frozen=True, slots=True)
class BeatResponse:
    """What a node learns from its sign of life: the live nodes by id, itself included, how far the ledger has
    come, and into how many shards the schedules are cut."""

    live: tuple[NodeRecord, ...]
    high_water: HighWater
    shards: int
