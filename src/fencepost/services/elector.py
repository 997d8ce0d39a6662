"""The elector: gets, keeps and gives up the leases of the shards that this node should lead.

Which shards those are is the same computation on every node (`core.placement`), over the nodes that the
roster calls alive. A pass renews what is held, gives up what should be another's, and asks for what is
missing. A fresh epoch is registered in the ledger before anything is planned under it.

A failed pass changes nothing: the deadlines of what is held stand, and `watch` gives each grant up when
its deadline comes, whether or not the pass is still waiting for an answer. A request whose answer was lost
may have been granted, and that lease has been running ever since: it is believed only after a renewal, from
when that was sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import assert_never

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.placement import shards_of
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import Epoch, Shard
from fencepost.model.lease import Acquisition, Granted, HeldBy, Lost, Renewal
from fencepost.ports.store import Store
from fencepost.services.leadership import Leadership
from fencepost.services.membership import Membership
from fencepost.services.service import Service, Wakeup

IDLE_WATCH_S = 60.0


class Elector(Service):
    """Runs on every node that plans."""

    name = "elector"

    def __init__(
        self,
        store: Store,
        membership: Membership,
        leadership: Leadership,
        settings: Settings,
        clock: Clock,
        dice: Callable[[], float],
    ) -> None:
        super().__init__()
        self._store = store
        self._membership = membership
        self._leadership = leadership
        self._terms = settings.lease_terms
        self._clock = clock
        self._dice = dice
        self._deadline_moved = Wakeup()
        self._unheard: set[Shard] = set()
        self._led: dict[Shard, Epoch] = {}

    async def run_once(self) -> float:
        await self._renew(self._held())
        self._deadline_moved.wake()
        await self._membership.run_once()
        planners = [one.node.node_id for one in self._membership.live if one.node.plans]
        wanted = shards_of(self._membership.node.node_id, self._store.shards, planners)
        await self._release({shard: epoch for shard, epoch in self._held().items() if shard not in wanted})
        await self._acquire(sorted(wanted - self._held().keys()))
        self._deadline_moved.wake()
        stretch = 1 + self._dice() * (self._terms.jitter - 1)
        return self._terms.retry_period_s * stretch

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.watch())
            tasks.create_task(super().run())

    async def watch(self) -> None:
        """Tell of each grant that runs out, at its deadline."""
        while True:
            now = self._clock.monotonic()
            self._leadership.expire(now)
            deadline = self._leadership.next_deadline()
            await self._deadline_moved.rest(IDLE_WATCH_S if deadline is None else deadline - now)

    async def resign(self) -> None:
        """Give up everything, so that the next leader need not wait, also what it never heard about."""
        held = self._held()
        if self._unheard:
            node_id, ttl_s = self._membership.node.node_id, self._terms.ttl_s
            answers = await self._store.leases.acquire(sorted(self._unheard), node_id, ttl_s)
            held |= {shard: one.epoch for shard, one in answers.items() if isinstance(one, Granted)}
        await self._release(held)

    def _held(self) -> dict[Shard, Epoch]:
        grants = self._leadership.grants(self._clock.monotonic())
        return {shard: grant.epoch for shard, grant in grants.items()}

    async def _renew(self, held: dict[Shard, Epoch]) -> None:
        if not held:
            return
        sent_at = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._terms.renew_deadline_s):
                answers = await self._store.leases.renew(
                    held, self._membership.node.node_id, self._terms.ttl_s
                )
        except TimeoutError:
            raise StoreUnavailable("no answer to a renewal within the renew deadline") from None
        for shard, answer in answers.items():
            match answer:
                case Granted():
                    self._leadership.renewed(shard, sent_at)
                case Lost():
                    self._leadership.step_down(shard, "the lease store refused the renewal")
                case _ as never:
                    assert_never(never)

    async def _release(self, held: dict[Shard, Epoch]) -> None:
        if not held:
            return
        async with self._leadership.writing:
            for shard in held:
                self._leadership.step_down(shard, "resigned")
            await self._store.leases.release(held, self._membership.node.node_id)

    async def _acquire(self, shards: Collection[Shard]) -> None:
        if not shards:
            return
        doubtful = self._unheard.intersection(shards)
        self._unheard.update(shards)
        try:
            for shard, answer in (await self._ask(shards, doubtful)).items():
                match answer:
                    case Granted(epoch):
                        await self._take_office(shard, epoch)
                    case HeldBy(holder):
                        self._leadership.held(shard, holder)
                    case Lost():
                        self._leadership.held(shard, "whoever came after a lost answer")
                    case _ as never:
                        assert_never(never)
                self._unheard.discard(shard)
        except StoreUnavailable:
            self._leadership.unanswered()
            raise

    async def _ask(
        self, shards: Collection[Shard], doubtful: Collection[Shard]
    ) -> Mapping[Shard, Acquisition | Renewal]:
        """Ask for the leases; one that may be older than this request is renewed before it counts."""
        node_id, ttl_s = self._membership.node.node_id, self._terms.ttl_s
        self._campaign(shards)
        answers = await self._store.leases.acquire(list(shards), node_id, ttl_s)
        older = {
            shard: answer.epoch
            for shard, answer in answers.items()
            if isinstance(answer, Granted) and (shard in doubtful or answer.epoch <= self._led.get(shard, 0))
        }
        if not older:
            return answers
        self._campaign(older)
        return {**answers, **await self._store.leases.renew(older, node_id, ttl_s)}

    def _campaign(self, shards: Collection[Shard]) -> None:
        sent_at = self._clock.monotonic()
        for shard in shards:
            self._leadership.campaign(shard, sent_at)

    async def _take_office(self, shard: Shard, epoch: Epoch) -> None:
        """Register the epoch with the ledger; an epoch that it refuses is worth nothing."""
        if await self._store.planbook.register_epoch(shard, epoch):
            self._led[shard] = epoch
            self._leadership.granted(shard, epoch)
        else:
            self._leadership.held(shard, "a larger epoch in the ledger")
            self.log.warning("the ledger knows a larger epoch; the lease store's has fallen", shard=shard)
