"""Membership: this node's sign of life, its clock's skew, and who else is alive."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.model.node import Node, NodeRecord
from fencepost.ports.store import Store
from fencepost.services.service import Service

BEATS_PER_SKEW_MEASURE = 10


class Membership(Service):
    """Beats at the pace of lease renewals, because a dead node's shards should move as fast as its leases."""

    name = "membership"

    def __init__(self, store: Store, node: Node, settings: Settings, clock: Clock) -> None:
        super().__init__()
        self.node = node
        self.live: Sequence[NodeRecord] = ()
        self.skew_s = 0.0
        self._store = store
        self._settings = settings
        self._clock = clock
        self._beats = 0

    async def run_once(self) -> float:
        if self._beats % BEATS_PER_SKEW_MEASURE == 0:
            await self._measure_skew()
        self._beats += 1
        self.live = await self._store.roster.beat(self.node, self.skew_s, self._settings.lease_ttl_s)
        return self._settings.lease_retry_period_s

    async def leave(self) -> None:
        """Say goodbye, so that others need not wait."""
        await self._store.roster.leave(self.node.node_id)

    async def _measure_skew(self) -> None:
        """The host's clock against the store's, taking the answer to be half a round trip old."""
        before = self._clock.wall()
        store_now: datetime = await self._store.now()
        after = self._clock.wall()
        middle = before + (after - before) / 2
        self.skew_s = (middle - store_now).total_seconds()
        if abs(self.skew_s) > self._settings.skew_warning_s:
            self.log.warning("this host's clock differs from the store's", skew_s=self.skew_s)
