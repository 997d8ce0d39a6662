"""Membership: this node's sign of life, its clock's skew, who else is alive, into how many shards the
schedules are cut, whether the ledger is still the same, and whether the node is being drained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.clock_leaps import Reading
from fencepost.core.split_brain import pretenders
from fencepost.model.clocks import since
from fencepost.model.identifiers import JobName, NodeId, Shard
from fencepost.model.node import BrokerReport, Node, NodeRecord, NodeReport
from fencepost.ports.store import Store
from fencepost.services.clock_watch import ClockWatch
from fencepost.services.ledger_watch import LedgerWatch
from fencepost.services.service import Service
from fencepost.telemetry.events import SkewMeasured, emit

BEATS_PER_SKEW_MEASURE = 10


class Membership(Service):
    """Beats at the pace of lease renewals, because a dead node's shards should move as fast as its leases.

    `report` says what the node leads, `running` how much work it has, `stall_s` for how long it stood still,
    `jobs` which jobs its application has. `on_drain` is called when the node is to start nothing more, or to
    go on.
    """

    name = "membership"

    def __init__(self, store: Store, node: Node, settings: Settings, clock: Clock) -> None:
        super().__init__()
        self.node = node
        self.live: Sequence[NodeRecord] = ()
        self.shards = 0
        self.skew_s = 0.0
        self.draining = False
        self.watch = LedgerWatch(store, node.node_id)
        self.clock_watch = ClockWatch(settings)
        self.report: Callable[[], NodeReport] = NodeReport
        self.running: Callable[[], int] = int
        self.jobs: tuple[JobName, ...] | None = None
        self.stall_s: Callable[[], float] = float
        self.broker: Callable[[], BrokerReport | None] = lambda: None
        self.on_drain: Callable[[bool], None] = lambda draining: None
        self._store = store
        self._settings = settings
        self._clock = clock
        self._beats = 0
        self._alarmed = False

    async def run_once(self) -> float:
        if self._beats % BEATS_PER_SKEW_MEASURE == 0:
            await self._measure_skew()
        self._beats += 1
        if self._heed(await self._beat()):
            # The caller that drains waits for a report that was made after the node knew of the drain.
            await self._beat()
        if self.node.plans:
            await self._look_for_rivals()
        return self._settings.lease_retry_period_s

    async def leave(self) -> None:
        """Strike the node off, so that others need not wait."""
        await self._store.nodes.leave(self.node.node_id)

    async def _beat(self) -> bool:
        """Report this node's state, and read which others live; returns whether this one is being drained."""
        report = replace(
            self.report(),
            skew_s=self.skew_s,
            running=self.running(),
            broker=self.broker(),
            jobs=self.jobs,
            stall_s=self.stall_s(),
            set_ahead_s=self.clock_watch.set_ahead_s(self._clock.monotonic()),
        )
        heard = await self._store.nodes.beat(self.node, report, self._settings.lease_ttl_s)
        await self.watch.remember(heard.high_water)
        self.live, self.shards = heard.live, heard.shards
        return any(one.draining for one in self.live if one.node.node_id == self.node.node_id)

    def _heed(self, draining: bool) -> bool:
        """Begin or end the drain; returns whether that is a change."""
        if draining == self.draining:
            return False
        self.draining = draining
        self.log.info("draining: plans and starts nothing more" if draining else "no longer draining")
        self.on_drain(draining)
        return True

    async def _look_for_rivals(self) -> None:
        """Log when more than one node begins to believe to lead a shard."""
        if all(len(claims) == 1 for claims in self._believers().values()):
            self._alarmed = False
            return
        found = pretenders(await self._store.epochs.all(), self.live)
        if found and not self._alarmed:
            for one in found:
                self.log.error(
                    "more than one node believes to lead a shard",
                    shard=one.shard,
                    node=one.node_id,
                    epoch=one.epoch,
                    leader=one.leader,
                    remedy="give all nodes the same --leases; only the leader's plans are accepted meanwhile",
                )
        self._alarmed = bool(found)

    def _believers(self) -> Mapping[Shard, Sequence[NodeId]]:
        """The nodes that reported to lead each shard."""
        found: dict[Shard, list[NodeId]] = {}
        for one in self.live:
            for led in one.report.leads:
                found.setdefault(led.shard, []).append(one.node.node_id)
        return found

    async def _measure_skew(self) -> None:
        """The host's clock against the store's; the answer is taken to be half a round trip old."""
        before, sent = self._clock.wall(), self._clock.monotonic()
        store_now = await self._store.now()
        after = self._clock.wall()
        self.clock_watch.believes(Reading(store_now, sent, self._clock.monotonic()))
        middle = before + (after - before) / 2
        self.skew_s = -since(middle, store_now).total_seconds()
        emit(SkewMeasured(self.skew_s))
        if abs(self.skew_s) > self._settings.skew_warning_s:
            self.log.warning("this host's clock differs from the store's", skew_s=self.skew_s)
