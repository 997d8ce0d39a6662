"""The ledger's record of leaders, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fencepost.model.audit import Action, Author
from fencepost.model.identifiers import Epoch, Namespace, NodeId, Shard, shard_of
from fencepost.model.leader import LeaderRecord, Registration, Resharding, offer, registration, succeed
from fencepost.model.lease import Granted
from fencepost.ports.signals import Topic
from fencepost.stores.memory.part import MemoryPart


class MemoryEpochs(MemoryPart):
    """See `ports.epochs`."""

    async def register(self, grants: Mapping[Shard, Granted], holder: NodeId) -> Mapping[Shard, Registration]:
        return {shard: self._register(shard, grant, holder) for shard, grant in grants.items()}

    def _register(self, shard: Shard, grant: Granted, holder: NodeId) -> Registration:
        known = self._tables.leaders.get(shard)
        after = succeed(known, offer(shard, grant, holder, self._tables.now()))
        if after is not None:
            self._tables.leaders[shard] = after
        return registration(known, after)

    async def all(self) -> Sequence[LeaderRecord]:
        return [record for _, record in sorted(self._tables.leaders.items())]

    async def shards(self) -> int:
        return self._tables.shards

    async def reshard(self, shards: int, namespace: Namespace, author: Author) -> Resharding:
        before = self._tables.shards
        if shards == before:
            return Resharding(before, before, 0)
        self._tables.shards = shards
        for shard, known in self._tables.leaders.items():
            self._tables.leaders[shard] = replace(known, epoch=Epoch(known.epoch + 1))
        moved = self._move(shards)
        said = {"shards": before}, {"shards": shards}
        self._tables.log(author, namespace, Action.RESHARD, "shards", *said)
        self._signals.hint(Topic.LEASES)
        return Resharding(before, shards, moved)

    def _move(self, shards: int) -> int:
        moved = 0
        for (namespace, schedule_id), row in self._tables.schedules.items():
            shard = shard_of(namespace, schedule_id, shards)
            moved += shard != row.schedule.shard
            row.schedule = replace(row.schedule, shard=shard)
        return moved
