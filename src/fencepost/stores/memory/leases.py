"""Leases in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, HeldBy, LeaseRecord, Lost, Release, Released, Renewal
from fencepost.ports.signals import Topic
from fencepost.stores.memory.lanes import START_OF_TIME
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import LeaseRow


class MemoryLeases(MemoryPart):
    """See `ports.leases`."""

    caveats: Sequence[str] = ()

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return {shard: self._acquire(shard, holder, ttl_s) for shard in shards}

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return {shard: self._renew(shard, epoch, holder, ttl_s) for shard, epoch in held.items()}

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        answers = {shard: self._release(shard, epoch, holder) for shard, epoch in held.items()}
        self._signals.hint(Topic.LEASES)
        return answers

    async def read(self) -> Sequence[LeaseRecord]:
        now = self._tables.now()
        return [_shown(shard, row, now) for shard, row in sorted(self._tables.leases.items())]

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._signals.listen(Topic.LEASES, callback)

    async def close(self) -> None:
        return None

    def _acquire(self, shard: Shard, holder: NodeId, ttl_s: float) -> Acquisition:
        row, now = self._row(shard), self._tables.now()
        ahead_s = row.ahead_s(now)
        if row.holder is None or row.expires_at <= now or ahead_s:
            row.holder, row.epoch = holder, Epoch(row.epoch + 1)
            row.expires_at, row.ttl_s, row.set_back_s = later(now, ttl_s), ttl_s, ahead_s
        elif row.holder != holder:
            return HeldBy(row.holder, row.epoch, (row.expires_at - now).total_seconds())
        return Granted(row.epoch, set_back_s=row.set_back_s)

    def _renew(self, shard: Shard, epoch: Epoch, holder: NodeId, ttl_s: float) -> Renewal:
        row, now = self._tables.leases.get(shard), self._tables.now()
        if row is None or row.holder != holder or row.epoch != epoch or row.expires_at <= now:
            return Lost()
        row.set_back_s = row.ahead_s(now)
        row.expires_at, row.ttl_s = later(now, ttl_s), ttl_s
        return Granted(epoch, set_back_s=row.set_back_s)

    def _release(self, shard: Shard, epoch: Epoch, holder: NodeId) -> Release:
        row = self._tables.leases.get(shard)
        if row is None or row.holder != holder or row.epoch != epoch:
            return Lost()
        row.holder, row.expires_at = None, START_OF_TIME
        return Released()

    def _row(self, shard: Shard) -> LeaseRow:
        return self._tables.leases.setdefault(shard, LeaseRow(None, Epoch(0), START_OF_TIME))


def _shown(shard: Shard, row: LeaseRow, now: StoreTime) -> LeaseRecord:
    left_s = max((row.expires_at - now).total_seconds(), 0.0) if row.holder is not None else 0.0
    return LeaseRecord(shard, row.holder, row.epoch, left_s, row.ahead_s(now) > 0)
