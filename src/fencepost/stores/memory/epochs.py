"""The ledger's record of leaders, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fencepost.model.audit import Action, Author
from fencepost.model.high_water import HighWater, lifted, next_incarnation
from fencepost.model.identifiers import Epoch, Fence, Namespace, NodeId, Shard, shard_of
from fencepost.model.leader import (
    LeaderRecord,
    Refusal,
    Registration,
    Resharding,
    Term,
    offer,
    registration,
    succeed,
)
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
            if after is not known:
                self._begin(after)
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
            if shard < min(before, shards):
                self._begin(self._tables.leaders[shard])
            else:
                self._end(shard)
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

    def _begin(self, leader: LeaderRecord) -> None:
        """The term before ends with this one's beginning."""
        self._end(leader.shard)
        if leader.holder is not None:
            number, now = _next([one.number for one in self._tables.terms]), self._tables.now()
            term = Term(number, leader.shard, leader.epoch, leader.holder, leader.lineage, now)
            self._tables.terms.append(term)

    def _end(self, shard: Shard) -> None:
        now = self._tables.now()
        self._tables.terms = [
            replace(one, until=now) if one.shard == shard and one.until is None else one
            for one in self._tables.terms
        ]

    async def terms(self, shard: Shard | None, before: int | None, limit: int) -> Sequence[Term]:
        found = [one for one in reversed(self._tables.terms) if shard in (None, one.shard)]
        return [one for one in found if before is None or one.number < before][:limit]

    async def note_refusal(self, shard: Shard, epoch: Epoch, holder: NodeId) -> None:
        known = self._tables.leaders.get(shard)
        number = _next([one.number for one in self._tables.refusals])
        by = (Epoch(0), None) if known is None else (known.epoch, known.holder)
        self._tables.refusals.append(Refusal(number, self._tables.now(), shard, epoch, holder, *by))

    async def refusals(self, before: int | None, limit: int) -> Sequence[Refusal]:
        found = reversed(self._tables.refusals)
        return [one for one in found if before is None or one.number < before][:limit]

    async def high_water(self) -> HighWater:
        tables = self._tables
        epochs = sum(one.epoch for one in tables.leaders.values())
        return HighWater(tables.incarnation, Fence(tables.fence), epochs, tables.older)

    async def mark_older(self, why: str) -> None:
        self._tables.older = self._tables.older or why

    async def restore(self, namespace: Namespace, author: Author) -> HighWater:
        tables, before, now = self._tables, await self.high_water(), self._tables.now()
        tables.fence, tables.older = lifted(tables.fence, now), None
        tables.incarnation = next_incarnation(before, "memory")
        for shard, known in tables.leaders.items():
            tables.leaders[shard] = replace(known, epoch=Epoch(lifted(known.epoch, now)))
        after = await self.high_water()
        said = before.to_json(), after.to_json()
        tables.log(author, namespace, Action.LEDGER_RESTORE, "ledger", *said)
        return after

    async def trim(self, terms_max: int, refusals_max: int) -> int:
        tables = self._tables
        old = len(tables.terms) - terms_max
        ended = [one for one in tables.terms[: max(old, 0)] if one.until is not None]
        gone = tables.refusals[: max(len(tables.refusals) - refusals_max, 0)]
        tables.terms = [one for one in tables.terms if one not in ended]
        tables.refusals = tables.refusals[len(gone) :]
        return len(ended) + len(gone)


def _next(numbers: Sequence[int]) -> int:
    return numbers[-1] + 1 if numbers else 1
