"""Leases on the store itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from fencepost.model.clocks import STEP_MIN_S, StoreTime, later
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import Acquisition, Granted, HeldBy, LeaseRecord, Lost, Release, Released, Renewal
from fencepost.model.table import Row
from fencepost.model.tables import LEASES
from fencepost.ports.rows import Rows, Transaction
from fencepost.ports.signals import Signals, Topic
from fencepost.rules.part import Part, reads, writes

START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class LeaseRules(Part):
    """See `ports.leases`."""

    caveats: Sequence[str] = ()

    def __init__(self, rows: Rows, signals: Signals) -> None:
        super().__init__(rows)
        self._signals = signals

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._signals.listen(Topic.LEASES, callback)

    async def close(self) -> None:
        """The store closes its own connections."""

    @writes
    async def acquire(
        self, tx: Transaction, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        free = {"epoch": 0, "expires_at": START_OF_TIME}
        await tx.put_if_absent(LEASES, [{"shard": shard, **free} for shard in sorted(shards)])
        leases = await tx.lock(LEASES.among((shard,) for shard in sorted(shards)))
        now = await tx.now()
        return {lease["shard"]: await _acquire(tx, lease, holder, ttl_s, now) for lease in leases}

    @writes
    async def renew(
        self, tx: Transaction, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        mine = await _lock_mine(tx, held, holder)
        now = await tx.now()
        good = {shard: lease for shard, lease in mine.items() if lease["expires_at"] > now}
        set_back_s = {shard: ahead_s(lease, now) for shard, lease in good.items()}
        renewed = {"expires_at": later(now, ttl_s), "ttl_s": ttl_s}
        changes = [(lease, {**renewed, "set_back_s": set_back_s[shard]}) for shard, lease in good.items()]
        await tx.change(LEASES, changes)
        return {
            shard: Granted(epoch, set_back_s=set_back_s[shard]) if shard in good else Lost()
            for shard, epoch in held.items()
        }

    @writes
    async def release(
        self, tx: Transaction, held: Mapping[Shard, Epoch], holder: NodeId
    ) -> Mapping[Shard, Release]:
        mine = await _lock_mine(tx, held, holder)
        free = {"holder": None, "expires_at": START_OF_TIME}
        await tx.change(LEASES, [(lease, free) for lease in mine.values()])
        tx.hint(Topic.LEASES)
        return {shard: Released() if shard in mine else Lost() for shard in held}

    @reads
    async def read(self, tx: Transaction) -> Sequence[LeaseRecord]:
        now = await tx.now()
        return [_shown(lease, now) for lease in await tx.find(LEASES.all())]


def ahead_s(lease: Row, now: StoreTime) -> float:
    """How far in the future a lease was granted or renewed, because the clock was set back; 0 where it was
    not."""
    if lease["holder"] is None or lease["ttl_s"] is None:
        return 0.0
    found = (lease["expires_at"] - now).total_seconds() - lease["ttl_s"]
    return float(found) if found > STEP_MIN_S else 0.0


async def _acquire(tx: Transaction, lease: Row, holder: NodeId, ttl_s: float, now: StoreTime) -> Acquisition:
    ahead = ahead_s(lease, now)
    if lease["holder"] is None or lease["expires_at"] <= now or ahead:
        granted = {"holder": holder, "epoch": lease["epoch"] + 1}
        term = {"expires_at": later(now, ttl_s), "ttl_s": ttl_s, "set_back_s": ahead}
        (lease,) = await tx.change(LEASES, [(lease, {**granted, **term})])
    elif lease["holder"] != holder:
        left_s = (lease["expires_at"] - now).total_seconds()
        return HeldBy(lease["holder"], lease["epoch"], left_s)
    return Granted(lease["epoch"], set_back_s=lease["set_back_s"])


async def _lock_mine(tx: Transaction, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Row]:
    leases = await tx.lock(LEASES.among((shard,) for shard in sorted(held)))
    mine = (one for one in leases if (one["holder"], one["epoch"]) == (holder, held[one["shard"]]))
    return {one["shard"]: one for one in mine}


def _shown(lease: Row, now: StoreTime) -> LeaseRecord:
    left_s = max((lease["expires_at"] - now).total_seconds(), 0.0) if lease["holder"] is not None else 0.0
    return LeaseRecord(lease["shard"], lease["holder"], lease["epoch"], left_s, ahead_s(lease, now) > 0)
