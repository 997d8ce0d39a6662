"""The life of one shard's lease as `checker` checks it, and a recorder of such lives.

    history = LeaseHistory(SystemClock())
    alice, bob = history.recording(store), history.recording(another_client_of_the_store)
    ...                                          # both call as they like, at the same time
    for shard, verdict in history.verdicts(LeaseRules(ttl_s=0.5, slack_s=0.1)).items():
        assert isinstance(verdict, Explained), f"shard {shard}: {verdict}"

**What is known of time.** The store has its own idea of when a lease has run out; a history shows only when
calls were sent and answered. A lease that was granted or renewed by a call sent at `t` cannot have run out
before `t + ttl`, because that is what a store owes its holder. It must have run out at the latest possible
moment of that call plus `ttl` plus the slack the store is given. In between it may be over or not, and every
answer that fits either is good, as long as they fit one another.

**A grant without an answer** has an epoch that nobody saw. It is taken for one larger than all before it, and
pinned down by the first answer that speaks of it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from fencepost.clock import Clock
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import Epoch, Lineage, NodeId, Shard
from fencepost.model.lease import (
    Acquisition,
    Granted,
    HeldBy,
    LeaseRecord,
    Lost,
    Release,
    Released,
    Renewal,
    Unknown,
)
from fencepost.ports.leases import LeaseStore
from tests.linearizability.checker import STEPS_MAX, Objection, Operation, Verdict, Window, check

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Acquiring:
    """A holder asked for the lease."""

    holder: NodeId
    answer: Acquisition

    def __str__(self) -> str:
        return f"{self.holder} asks for it: {_said(self.answer)}"


@dataclass(frozen=True, slots=True)
class Renewing:
    """A holder asked to keep the lease it had under an epoch."""

    holder: NodeId
    epoch: Epoch
    answer: Renewal

    def __str__(self) -> str:
        return f"{self.holder} renews epoch {self.epoch}: {_said(self.answer)}"


@dataclass(frozen=True, slots=True)
class Releasing:
    """A holder gave back the lease it had under an epoch."""

    holder: NodeId
    epoch: Epoch
    answer: Release

    def __str__(self) -> str:
        return f"{self.holder} releases epoch {self.epoch}: {_said(self.answer)}"


LeaseCall: TypeAlias = Acquiring | Renewing | Releasing
LeaseOperation: TypeAlias = Operation[LeaseCall]


@dataclass(frozen=True, slots=True)
class Lease:
    """What is known of a lease after some calls.

    A lease that has a holder lasts until `lasts_until` at least and is over after `over_by` for certain;
    `seen_over` is set when an answer said so in between. The holder stays named until there is another,
    because it may still release. An epoch that no answer told is None; it is `top` or larger.
    """

    holder: NodeId | None = None
    epoch: Epoch | None = None
    top: int = 0
    lasts_until: float = -math.inf
    over_by: float = -math.inf
    seen_over: bool = False
    lineage: Lineage | None = None
    past: frozenset[Lineage] = frozenset()

    def __str__(self) -> str:
        if self.holder is None:
            return (
                f"nobody holds it, and the last epoch was {self.top}" if self.top else "nobody ever held it"
            )
        epoch = f"an epoch not below {self.top}" if self.epoch is None else f"epoch {self.epoch}"
        return f"{self.holder} holds it under {epoch} until {self.lasts_until:.3f} at least"


@dataclass(frozen=True, slots=True)
class LeaseRules:
    """The sequential specification of one shard's lease, of which nothing was ever granted.

    All calls ask for the same `ttl_s`. `slack_s` is how much later than its term a lease may end; without a
    limit, a store that never lets go is not found out. `tolerance_s` is by how much the store's clock and the
    test's may disagree over one term: the grain of the store's clock.

    With `one_judge` a lease that one caller was told is over is over for all of them. Set it to False where
    every client times the record for itself. A `forgetful` store may lose all it knew at any time, if its
    next grant has a lineage that was never seen before.
    """

    ttl_s: float
    slack_s: float = math.inf
    tolerance_s: float = 0.0
    one_judge: bool = True
    forgetful: bool = False

    def initial(self) -> Lease:
        return Lease()

    def ways(self, lease: Lease, operation: LeaseOperation, window: Window) -> Iterable[Lease | Objection]:
        yield from self._ways(lease, operation, window)
        if self.forgetful and (lease.top or lease.lineage):
            past = lease.past | {lease.lineage} if lease.lineage else lease.past
            yield from self._ways(Lease(past=past), operation, window)

    def _ways(self, lease: Lease, operation: LeaseOperation, window: Window) -> Iterator[Lease | Objection]:
        match operation.what:
            case Acquiring(holder, HeldBy() as answer):
                yield self._refused(lease, holder, answer, window)
            case Acquiring(holder, Granted() as answer):
                if lease.holder == holder:
                    yield self._lasting(lease, holder, answer.epoch, answer.lineage, window)
                yield from self._granted(lease, operation, answer, window)
            case Acquiring():
                yield from self._granted(lease, operation, None, window)
            case Renewing(holder, epoch, Lost()) | Releasing(holder, epoch, Lost()):
                yield from self._lost(lease, holder, epoch, window)
            case Renewing() as call:
                yield self._renewed(lease, operation, call, window)
            case Releasing(holder, epoch):
                known = _matching(lease, holder, epoch, None)
                yield known if isinstance(known, Objection) else _freed(known)

    def _granted(
        self, lease: Lease, operation: LeaseOperation, answer: Granted | None, window: Window
    ) -> Iterator[Lease | Objection]:
        """A new grant, of which the answer may not have been heard.

        It does not follow on one that no answer ever spoke of: where that explains the history, so
        does leaving the other out, and the search need not try all their orders.
        """
        if lease.holder is not None and lease.epoch is None:
            return
        if not self._may_be_over(lease, window):
            yield Objection(f"{lease}, and the answer came by {window.latest:.3f}")
        elif answer is None:
            yield self._lease(lease, operation, None, lease.top + 1, lease.lineage, window)
        elif not _fits(lease, answer.lineage):
            yield Objection(f"lineage {answer.lineage} is not the lease's, {lease.lineage}")
        elif answer.epoch <= lease.top:
            yield Objection(f"the epoch of a new grant must be above {lease.top}")
        else:
            yield self._lease(lease, operation, answer.epoch, answer.epoch, answer.lineage, window)

    def _lease(
        self,
        before: Lease,
        operation: LeaseOperation,
        epoch: Epoch | None,
        top: int,
        lineage: Lineage | None,
        window: Window,
    ) -> Lease:
        lasts_until, over_by = self._term(operation, window.latest)
        return Lease(
            operation.what.holder, epoch, top, lasts_until, over_by, lineage=lineage, past=before.past
        )

    def _refused(self, lease: Lease, holder: NodeId, answer: HeldBy, window: Window) -> Lease | Objection:
        if answer.holder == holder:
            return Objection("who holds it is granted it again, not refused")
        return self._lasting(lease, answer.holder, answer.epoch, None, window)

    def _renewed(
        self, lease: Lease, operation: LeaseOperation, call: Renewing, window: Window
    ) -> Lease | Objection:
        """An extension, of which the answer may not have been heard."""
        lineage = None
        if isinstance(call.answer, Granted):
            lineage = call.answer.lineage
            if call.answer.epoch != call.epoch:
                return Objection(f"a renewal does not change the epoch, {call.epoch}")
        known = self._lasting(lease, call.holder, call.epoch, lineage, window)
        if isinstance(known, Objection):
            return known
        lasts_until, over_by = self._term(operation, min(window.latest, lease.over_by))
        return replace(known, lasts_until=max(lasts_until, known.lasts_until), over_by=over_by)

    def _lost(
        self, lease: Lease, holder: NodeId, epoch: Epoch, window: Window
    ) -> Iterator[Lease | Objection]:
        """Somebody else's or another epoch, or over; then it is over from here on."""
        if (lease.holder, lease.epoch) != (holder, epoch):
            yield lease
        known = _matching(lease, holder, epoch, None)
        if isinstance(known, Objection):
            return
        if self._may_be_over(lease, window):
            yield replace(known, seen_over=True) if self.one_judge else known
        else:
            yield Objection(f"{lease}, and the answer came by {window.latest:.3f}")

    def _lasting(
        self, lease: Lease, holder: NodeId, epoch: Epoch, lineage: Lineage | None, window: Window
    ) -> Lease | Objection:
        """The lease if it is that holder's under that epoch, and need not be over."""
        known = _matching(lease, holder, epoch, lineage)
        if isinstance(known, Objection):
            return known
        if lease.seen_over:
            return Objection(f"an earlier answer told that epoch {epoch} was over")
        if window.earliest > lease.over_by + self.tolerance_s:
            return Objection(
                f"epoch {epoch} must have run out by {lease.over_by:.3f}, and the call came at "
                f"{window.earliest:.3f} or later"
            )
        return known

    def _may_be_over(self, lease: Lease, window: Window) -> bool:
        return (
            lease.holder is None or lease.seen_over or window.latest >= lease.lasts_until - self.tolerance_s
        )

    def _term(self, operation: LeaseOperation, latest: float) -> tuple[float, float]:
        return operation.sent_at + self.ttl_s, latest + self.ttl_s + self.slack_s


def _matching(lease: Lease, holder: NodeId, epoch: Epoch, lineage: Lineage | None) -> Lease | Objection:
    """The lease with all that is known of it now, if it is that holder's under that epoch."""
    if lease.holder != holder or (lease.epoch is not None and lease.epoch != epoch):
        return Objection(f"{lease}")
    if epoch < lease.top:
        return Objection(f"{holder}'s epoch must be {lease.top} or larger")
    if lineage is not None and not _fits(lease, lineage):
        return Objection(f"lineage {lineage} is not the lease's, {lease.lineage}")
    return replace(lease, epoch=epoch, top=epoch, lineage=lineage or lease.lineage)


def _fits(lease: Lease, lineage: Lineage) -> bool:
    return lineage not in lease.past if lease.lineage is None else lineage == lease.lineage


def _freed(lease: Lease) -> Lease:
    return Lease(top=lease.top, lineage=lease.lineage, past=lease.past)


def _said(answer: Acquisition | Renewal | Release) -> str:
    match answer:
        case Granted(epoch, lineage):
            return f"granted epoch {epoch} of lineage {lineage}"
        case HeldBy(holder, epoch):
            return f"held by {holder} under epoch {epoch}"
        case Unknown(why):
            return f"no answer ({why})"
        case Lost():
            return "lost"
        case Released():
            return "released"


class LeaseHistory:
    """What all clients together were answered, by shard, in seconds since the history began."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began_at = clock.monotonic()
        self.of_shard: defaultdict[Shard, list[LeaseOperation]] = defaultdict(list)

    def recording(self, client: LeaseStore) -> LeaseStore:
        """The same client, with every call written down."""
        return _RecordedLeases(client, self)

    def verdicts(self, rules: LeaseRules, steps_max: int = STEPS_MAX) -> dict[Shard, Verdict[LeaseCall]]:
        """Each shard for itself."""
        return {shard: check(of_shard, rules, steps_max) for shard, of_shard in sorted(self.of_shard.items())}

    async def record(
        self,
        shards: Iterable[Shard],
        asking: Awaitable[Mapping[Shard, A]],
        described: Callable[[Shard, A | Unknown], LeaseCall],
    ) -> Mapping[Shard, A]:
        """Await the call, and write down what came of it. Whoever was interrupted does not know."""
        shards, sent_at = list(shards), self._now()
        try:
            answers = await asking
        except BaseException as error:
            reason = str(error) if isinstance(error, StoreUnavailable) else type(error).__name__
            for shard in shards:
                self.of_shard[shard].append(Operation(described(shard, Unknown(reason)), sent_at, None))
            raise
        answered_at = self._now()
        for shard in shards:
            call = described(shard, answers[shard])
            heard = None if isinstance(call.answer, Unknown) else answered_at
            self.of_shard[shard].append(Operation(call, sent_at, heard))
        return answers

    def _now(self) -> float:
        return self._clock.monotonic() - self._began_at


class _RecordedLeases:
    """A client of a lease store and its history."""

    def __init__(self, inner: LeaseStore, history: LeaseHistory) -> None:
        self._inner = inner
        self._history = history

    @property
    def caveats(self) -> Sequence[str]:
        return self._inner.caveats

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        asking = self._inner.acquire(shards, holder, ttl_s)
        return await self._history.record(shards, asking, lambda _, answer: Acquiring(holder, answer))

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        asking = self._inner.renew(held, holder, ttl_s)
        return await self._history.record(
            held, asking, lambda shard, answer: Renewing(holder, held[shard], answer)
        )

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        asking = self._inner.release(held, holder)
        return await self._history.record(
            held, asking, lambda shard, answer: Releasing(holder, held[shard], answer)
        )

    async def read(self) -> Sequence[LeaseRecord]:
        return await self._inner.read()

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self._inner.watch(callback)

    async def close(self) -> None:
        await self._inner.close()
