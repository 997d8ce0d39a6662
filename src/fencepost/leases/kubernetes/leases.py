"""The lease store: what each call reads, judges and writes. The package says why.

A call reads only where it must. `acquire` lists once for all shards, because nothing may be granted from
memory; `renew` and `release` write at once upon the version that they know, and read when that is refused,
or when memory says no: memory can be old, and `Lost` is final.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from fencepost.clock import Clock
from fencepost.errors import LeaseStoreUnavailable
from fencepost.leases.kubernetes.api import Api
from fencepost.leases.kubernetes.hints import KubernetesHints
from fencepost.leases.kubernetes.lease import Body, Lease, first_grant
from fencepost.leases.kubernetes.lease_objects import LeaseObjects
from fencepost.leases.kubernetes.observations import Seen
from fencepost.model.clocks import Monotonic
from fencepost.model.identifiers import Epoch, NodeId, Shard
from fencepost.model.lease import (
    Acquisition,
    HeldBy,
    LeaseRecord,
    Lost,
    Release,
    Released,
    Renewal,
    Unknown,
)

REQUEST_TIMEOUT_S = 2.5
"""For a whole call, with all its requests."""
TRIES_MAX = 4
SLOW_TAKEOVER = (
    "A process that has not watched a lease waits a whole term before it takes it over, counted from when it "
    "first saw it."
)
RESTORED = (
    "An etcd that was restored from a backup brings back old epochs under the same lineage; the ledger "
    "refuses them until the Lease objects are deleted."
)
CAVEATS = (SLOW_TAKEOVER, RESTORED)
OUTRUN = Unknown(f"others changed the lease {TRIES_MAX} times while it was being asked for")

T = TypeVar("T")


class KubernetesLeases:
    """Leases of one fleet in one namespace."""

    def __init__(
        self, api: Api, lease_objects: LeaseObjects, clock: Clock, caveats: Sequence[str] = CAVEATS
    ) -> None:
        self._api = api
        self._shelf = lease_objects
        self.observations = lease_objects.observations
        self._clock = clock
        self._hints = KubernetesHints(api, lease_objects, clock)
        self._caveats = tuple(caveats)

    @property
    def caveats(self) -> Sequence[str]:
        return self._caveats

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return await self._each(shards, lambda shard: self._acquire(shard, holder, ttl_s), look_first=True)

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return await self._each(held, lambda shard: self._renew(shard, holder, held[shard], ttl_s))

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        return await self._each(held, lambda shard: self._release(shard, holder, held[shard]))

    async def read(self) -> Sequence[LeaseRecord]:
        async with _until(_deadline()):
            await self._shelf.refresh()
        now = self._clock.monotonic()
        return [_record(shard, seen, now) for shard, seen in sorted(self._shelf.shards().items())]

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._hints.watch(callback)

    async def close(self) -> None:
        await self._hints.close()
        await self._api.close()

    async def _each(
        self, shards: Collection[Shard], act: Callable[[Shard], Awaitable[T]], *, look_first: bool = False
    ) -> Mapping[Shard, T | Unknown]:
        """The answer of each shard, within the time of one call."""
        deadline = _deadline()
        if shards and look_first:
            async with _until(deadline):
                await self._shelf.refresh()

        async def answer(shard: Shard) -> T | Unknown:
            try:
                async with _until(deadline):
                    return await act(shard)
            except LeaseStoreUnavailable as error:
                return Unknown(str(error))

        async with asyncio.TaskGroup() as tasks:
            answers = {shard: tasks.create_task(answer(shard)) for shard in shards}
        return {shard: task.result() for shard, task in answers.items()}

    async def _acquire(self, shard: Shard, holder: NodeId, ttl_s: float) -> Acquisition:
        name, labels = self._shelf.names.object_name(shard), self._shelf.names.labels
        for _ in range(TRIES_MAX):
            seen = self.observations.get(name)
            if seen is None:
                body = first_grant(name, labels, holder, ttl_s, self._clock.wall())
                lease = await self._shelf.create(name, body)
            elif present := self._present(seen, holder):
                return present
            else:
                body = seen.lease.granted_to(holder, ttl_s, self._clock.wall())
                lease = await self._shelf.replace(name, body)
            if lease is not None:
                return lease.grant
            await self._shelf.look(name)
        return OUTRUN

    def _present(self, seen: Seen, asker: NodeId) -> Acquisition | None:
        """What to answer without a grant; None where the lease is free or has run out."""
        lease, left_s = seen.lease, seen.left_s(asker, self._clock.monotonic())
        if not lease.has(self._shelf.names.labels):
            return Unknown(
                f"the Lease {lease.name} in {self._shelf.namespace} is not ours: it lacks the labels "
                f"{self._shelf.names.selector}; delete it, or choose another name= in the URL"
            )
        if lease.holder is None or left_s <= 0:
            return None
        if lease.holder != asker:
            return HeldBy(lease.holder, lease.epoch, left_s)
        return None if self.observations.may_be_freed(lease.name) else lease.grant

    async def _renew(self, shard: Shard, holder: NodeId, epoch: Epoch, ttl_s: float) -> Renewal:
        def is_in_time(seen: Seen) -> bool:
            return _is(seen.lease, holder, epoch) and seen.left_s(holder, self._clock.monotonic()) > 0

        def renewed(lease: Lease) -> Body:
            return lease.renewed(ttl_s, self._clock.wall())

        outcome = await self._change(shard, is_in_time, renewed)
        return outcome.grant if isinstance(outcome, Lease) else outcome

    async def _release(self, shard: Shard, holder: NodeId, epoch: Epoch) -> Release:
        def is_held(seen: Seen) -> bool:
            return _is(seen.lease, holder, epoch)

        def released(lease: Lease) -> Body:
            return lease.released(self._clock.wall())

        outcome = await self._change(shard, is_held, released, frees=True)
        return Released() if isinstance(outcome, Lease) else outcome

    async def _change(
        self,
        shard: Shard,
        may: Callable[[Seen], bool],
        changed: Callable[[Lease], Body],
        *,
        frees: bool = False,
    ) -> Lease | Lost | Unknown:
        """Write upon the version that is known, if it may be; what memory refuses is looked at first."""
        name, is_fresh = self._shelf.names.object_name(shard), False
        for _ in range(TRIES_MAX):
            seen = self.observations.get(name)
            if seen is not None and may(seen):
                lease = await self._shelf.replace(name, changed(seen.lease), frees=frees)
                if lease is not None:
                    return lease
            elif is_fresh:
                return Lost()
            await self._shelf.look(name)
            is_fresh = True
        return OUTRUN


def _is(lease: Lease, holder: NodeId, epoch: Epoch) -> bool:
    return lease.holder == holder and lease.epoch == epoch


def _record(shard: Shard, seen: Seen, now: Monotonic) -> LeaseRecord:
    return LeaseRecord(shard, seen.lease.holder, seen.lease.epoch, max(0.0, seen.left_s(None, now)))


def _deadline() -> float:
    """By the loop's clock: this bounds a wait, and judges no lease."""
    return asyncio.get_running_loop().time() + REQUEST_TIMEOUT_S


@asynccontextmanager
async def _until(deadline: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout_at(deadline):
            yield
    except TimeoutError:
        raise LeaseStoreUnavailable(f"no answer from the API server in {REQUEST_TIMEOUT_S:g} s") from None
