"""The elector: gets, keeps and gives up the leases of the shards that this node should lead.

Every node computes which shards those are in the same way (`core.placement`), over the nodes that the
list of nodes calls alive. A pass renews what is held, gives up what another node should hold, and asks for
what is missing. A fresh grant is registered in the ledger before anything is planned under it. From then on
the ledger's epoch counts, which is the grant's own unless the lease store has fallen back.

An answer that did not come changes nothing: the deadlines of what is held stand, and `watch` gives each grant
up when its deadline comes, also while the pass is still waiting. A request without an answer may be carried
out at any later time, and two things follow. A grant may be much older than the request that it answers, so
it is believed only after a renewal, from when that was sent. And a lease whose release is in doubt may be
freed under its holder, so the node never uses it again: it releases it once more, and the next grant has
another epoch.

A node whose lease store does not answer at all says so on the list of nodes. It keeps what it has until its
own deadline, and the other nodes ask for those shards meanwhile: so they get them as soon as they are free,
although the node lives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from math import inf
from typing import TypeVar, assert_never

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.fleet import epoch_numbers, shard_numbers
from fencepost.core.placement import shards_of
from fencepost.errors import LeaseStoreUnavailable, StoreUnavailable
from fencepost.model.clocks import STEP_MIN_S, Monotonic
from fencepost.model.identifiers import Epoch, Lineage, Shard
from fencepost.model.leader import Registered, RegistrationRefused
from fencepost.model.lease import Acquisition, Granted, HeldBy, Lost, Renewal, Unknown
from fencepost.model.node import NodeRecord, NodeReport
from fencepost.ports.leases import LeaseStore
from fencepost.ports.store import Store
from fencepost.services.leadership import Leadership
from fencepost.services.membership import Membership
from fencepost.services.service import Service, Wakeup
from fencepost.telemetry.events import ClockSetBack, RenewalFailed, emit

T = TypeVar("T")

IDLE_WATCH_S = 60.0
EXPIRY_SLACK_S = 0.2


class Elector(Service):
    """Runs on every node that plans."""

    name = "elector"

    def __init__(
        self,
        store: Store,
        leases: LeaseStore,
        membership: Membership,
        leadership: Leadership,
        settings: Settings,
        clock: Clock,
        dice: Callable[[], float],
    ) -> None:
        super().__init__()
        self.patience_max_s = settings.lease_retry_period_s
        self._store = store
        self._leases = leases
        self._membership = membership
        self._leadership = leadership
        self._terms = settings.lease_terms
        self._clock = clock
        self._dice = dice
        self._deadline_moved = Wakeup()
        self._unheard: set[Shard] = set()
        self._given_up: dict[Shard, Epoch] = {}
        self._resting: dict[Shard, Monotonic] = {}
        self._held_for_s: list[float] = []
        self._doubts: list[str] = []
        self._hurried_at = Monotonic(-inf)
        self._cut_off = False
        membership.report = self._report

    async def run_once(self) -> float:
        self._doubts.clear()
        self._held_for_s.clear()
        await self._renew(self._held())
        self._deadline_moved.wake()
        if self._cut_off and not self._held():
            await self._knock()
        reported = self._leadership.transitions
        await self._membership.run_once()
        wanted = self._wanted()
        await self._release({shard: epoch for shard, epoch in self._held().items() if shard not in wanted})
        await self._acquire(sorted(wanted - self._held().keys() - self._refused_lately()))
        self._deadline_moved.wake()
        if self._leadership.transitions != reported:
            await self._membership.run_once()
        if self._doubts:
            raise LeaseStoreUnavailable(self._doubts[0])
        return self._rest_s()

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.watch())
                tasks.create_task(super().run())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def watch(self) -> None:
        """Give up each grant that runs out, at its deadline."""
        while True:
            now = self._clock.monotonic()
            self._leadership.expire(now)
            deadline = self._leadership.next_deadline()
            await self._deadline_moved.rest(IDLE_WATCH_S if deadline is None else deadline - now)

    def hurry(self) -> None:
        """The ledger refused a plan: ask again at once, but not again and again."""
        now = self._clock.monotonic()
        if now - self._hurried_at >= self._terms.retry_period_s:
            self._hurried_at = now
            self.wakeup.wake()

    async def resign(self) -> None:
        """Give up everything, also grants without an answer, so that the next leader need not wait."""
        held = self._held()
        if self._unheard:
            answers = await self._asked(self._unheard, self._request(sorted(self._unheard)))
            held |= {shard: one.epoch for shard, one in answers.items() if isinstance(one, Granted)}
        await self._release(held)

    def _wanted(self) -> frozenset[Shard]:
        """The shards that this node should lead, none while it drains. While its lease store does not
        answer: those that it leads, for as long as it may believe in that."""
        if self._cut_off:
            return frozenset(self._held())
        planners = [one.node.node_id for one in self._membership.live if _is_candidate(one)]
        return shards_of(self._membership.node.node_id, self._membership.shards, planners)

    async def _knock(self) -> None:
        """Send the lease store any request, to see whether it answers."""
        try:
            async with asyncio.timeout(self._terms.renew_deadline_s):
                await self._leases.read()
        except (TimeoutError, StoreUnavailable) as error:
            self._doubts.append(str(error) or "no answer from the lease store")
        else:
            self._cut_off = False

    def _rest_s(self) -> float:
        """One period; less where a lease that is wanted runs out before that."""
        stretch = 1 + self._dice() * (self._terms.jitter - 1)
        beat_s = self._terms.retry_period_s * stretch
        return min([beat_s, *(max(left_s, 0) + EXPIRY_SLACK_S for left_s in self._held_for_s)])

    def _held(self) -> dict[Shard, Epoch]:
        grants = self._leadership.grants(self._clock.monotonic())
        return {shard: grant.lease_epoch for shard, grant in grants.items()}

    async def _asked(
        self, shards: Collection[Shard], answers: Awaitable[Mapping[Shard, T]]
    ) -> Mapping[Shard, T | Unknown]:
        """The lease store's answer, within bounds."""
        try:
            async with asyncio.timeout(self._terms.renew_deadline_s):
                heard: Mapping[Shard, T | Unknown] = await answers
        except TimeoutError:
            heard = dict.fromkeys(shards, Unknown("no answer from the lease store within the renew deadline"))
        except StoreUnavailable as error:
            heard = dict.fromkeys(shards, Unknown(str(error)))
        self._tell_of_a_clock([one.set_back_s for one in heard.values() if isinstance(one, Granted)])
        self._cut_off = bool(heard) and all(isinstance(one, Unknown) for one in heard.values())
        return heard

    async def _renew(self, held: dict[Shard, Epoch]) -> None:
        if not held:
            return
        sent_at, lost = self._clock.monotonic(), list[Shard]()
        for shard, answer in (await self._asked(held, self._extend(held))).items():
            match answer:
                case Granted():
                    self._leadership.renewed(shard, sent_at)
                case Lost():
                    emit(RenewalFailed(shard, "refused"))
                    lost.append(shard)
                case Unknown(why):
                    emit(RenewalFailed(shard, why))
                    self._leadership.unrenewed(shard)
                    self._doubts.append(why)
                case _ as never:
                    assert_never(never)
        self._leadership.step_down(lost, "the lease store refused the renewal")

    async def _release(self, held: Mapping[Shard, Epoch]) -> None:
        """Stop acting for these shards, then free their leases: no write is in flight in between."""
        if not held:
            return
        async with self._leadership.writing:
            self._leadership.step_down(held, "resigned")
        await self._give_up(held)

    async def _give_up(self, held: Mapping[Shard, Epoch]) -> None:
        answers = await self._asked(held, self._leases.release(held, self._membership.node.node_id))
        for shard, answer in answers.items():
            if isinstance(answer, Unknown):
                self._given_up[shard] = held[shard]
            else:
                self._given_up.pop(shard, None)

    async def _acquire(self, shards: Collection[Shard]) -> None:
        if not shards:
            return
        self._unheard.update(shards)
        granted: dict[Shard, Granted] = {}
        for shard, answer in (await self._campaign(shards)).items():
            match answer:
                case Granted():
                    granted[shard] = answer
                case HeldBy(holder, _, expires_in_s):
                    self._not_ours(shard, holder)
                    self._held_for_s.append(expires_in_s)
                case Lost():
                    self._not_ours(shard, "another node, after a lost answer")
                case Unknown(why):
                    self._leadership.unanswered([shard])
                    self._doubts.append(why)
                case _ as never:
                    assert_never(never)
        if granted:
            await self._take_office(granted)

    def _not_ours(self, shard: Shard, holder: str) -> None:
        self._leadership.held(shard, holder)
        self._unheard.discard(shard)

    async def _campaign(self, shards: Collection[Shard]) -> Mapping[Shard, Acquisition | Renewal]:
        """Ask for the leases, then renew what was granted: only then it is known when their time began."""
        self._stand(shards)
        answers: dict[Shard, Acquisition | Renewal] = dict(
            await self._asked(shards, self._request(list(shards)))
        )
        granted = {shard: one.epoch for shard, one in answers.items() if isinstance(one, Granted)}
        doubtful = {shard: epoch for shard, epoch in granted.items() if self._given_up.get(shard) == epoch}
        if doubtful:
            await self._give_up(doubtful)
            answers |= dict.fromkeys(doubtful, Unknown("an earlier release of this lease may yet arrive"))
        if firm := {shard: epoch for shard, epoch in granted.items() if shard not in doubtful}:
            self._stand(firm)
            answers |= await self._asked(firm, self._extend(firm))
        return answers

    def _request(self, shards: list[Shard]) -> Awaitable[Mapping[Shard, Acquisition]]:
        return self._leases.acquire(shards, self._membership.node.node_id, self._terms.ttl_s)

    def _extend(self, held: Mapping[Shard, Epoch]) -> Awaitable[Mapping[Shard, Renewal]]:
        return self._leases.renew(held, self._membership.node.node_id, self._terms.ttl_s)

    def _stand(self, shards: Collection[Shard]) -> None:
        sent_at = self._clock.monotonic()
        for shard in shards:
            self._leadership.campaign(shard, sent_at)

    async def _take_office(self, grants: Mapping[Shard, Granted]) -> None:
        """Register the grants with the ledger; a grant that it refuses is given back."""
        try:
            answers = await self._store.epochs.register(grants, self._membership.node.node_id)
        except StoreUnavailable:
            self._leadership.unanswered(grants)
            raise
        refused: dict[Shard, Epoch] = {}
        led: dict[Shard, Epoch] = {}
        for shard, answer in answers.items():
            grant = grants[shard]
            self._unheard.discard(shard)
            match answer:
                case Registered(epoch, instead_of):
                    self._resting.pop(shard, None)
                    self._tell_of_a_change(shard, grant, epoch, instead_of)
                    self._leadership.granted(shard, epoch, grant.epoch)
                    led[shard] = epoch
                case RegistrationRefused(known):
                    self._tell_of_a_fall(shard, grant, known)
                    refused[shard] = grant.epoch
                case _ as never:
                    assert_never(never)
        if led:
            self.log.info("leads", shards=shard_numbers(led), epochs=epoch_numbers(led.values()))
        self._deadline_moved.wake()
        await self._send_back(refused)

    async def _send_back(self, refused: Mapping[Shard, Epoch]) -> None:
        """Free the leases that the ledger refused, and do not ask for them again before the next period."""
        for shard in refused:
            self._leadership.held(shard, "a later grant in the ledger")
            self._resting[shard] = Monotonic(self._clock.monotonic() + self._terms.retry_period_s)
        await self._release(refused)

    def _refused_lately(self) -> set[Shard]:
        now = self._clock.monotonic()
        return {shard for shard, until in self._resting.items() if until > now}

    def _tell_of_a_clock(self, set_back_s: Sequence[float]) -> None:
        """Log the repair of the leases: only this answer tells of it."""
        by_s = max(set_back_s, default=0.0)
        if by_s <= STEP_MIN_S:
            return
        emit(ClockSetBack("leases", by_s))
        self.log.warning(
            "the clock of the lease store was set back",
            by_s=round(by_s, 1),
            leases=sum(one > STEP_MIN_S for one in set_back_s),
            why="leases were to last longer than their term; those of other nodes count as expired",
            remedy="have NTP keep the time of its host, by slewing",
        )

    def _tell_of_a_fall(self, shard: Shard, grant: Granted, known: Epoch) -> None:
        """Log a fall of the lease store when it begins; it may last many periods."""
        if shard in self._resting:
            return
        self.log.error(
            "the lease store has fallen back",
            shard=shard,
            epoch=grant.epoch,
            known=known,
            why="it granted an epoch that the ledger has seen before, as after a restored backup",
            remedy="the lease is given back and asked for again; where this goes on, keep the leases "
            "under another name: --leases '…?name=NEW'",
        )

    def _tell_of_a_change(
        self, shard: Shard, grant: Granted, epoch: Epoch, instead_of: Lineage | None
    ) -> None:
        if instead_of:
            self.log.warning(
                "leases come from another place than before",
                shard=shard,
                lineage=grant.lineage,
                before=instead_of,
                epoch=epoch,
                lease_epoch=grant.epoch,
                why="the lease store was switched, made anew, or has failed over",
                remedy="nothing, if it happens once; where it goes on, give all nodes the same --leases",
            )

    def _report(self) -> NodeReport:
        return NodeReport(
            leads=self._leadership.led(self._clock.monotonic()),
            transitions=self._leadership.transitions,
            cut_off=self._cut_off,
        )


def _is_candidate(record: NodeRecord) -> bool:
    return record.node.plans and not record.draining and not record.report.cut_off
