"""Many clients of one lease store, all at once and with bad luck, and the history of what they were told.

What each client does and what becomes of its messages is drawn from a seed. How the calls then interleave is
up to the store and the machine: the history says what came of it, and the checker whether a lease may live
like that.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import TypeVar

from fencepost.clock import Clock
from fencepost.errors import StoreUnavailable
from fencepost.model.identifiers import Epoch, NodeId, Shard
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
from fencepost.testing.conformance.lease_harness import LeaseHarness
from tests.linearizability.checker import Explained
from tests.linearizability.lease_history import LeaseHistory, LeaseOperation, LeaseRules

SHARDS = tuple(Shard(number) for number in range(3))
TOLERANCE_S = 0.005
"""Stores count time in milliseconds or finer."""

BEAT_TERMS = 0.1

A = TypeVar("A")


@dataclass(frozen=True)
class Workload:
    """How much happens, and how it is drawn; spans of time are in terms of a lease."""

    seed: int = 1
    clients: int = 4
    calls_per_client: int = 36
    pause_terms: float = 0.05
    stall_share: float = 0.06
    stall_terms: float = 1.2
    bad_luck_share: float = 0.15
    storms: int = 3
    """How many calls of the harness's own client are made while the network loses answers."""


class Luck(Enum):
    """What becomes of a call on a bad line."""

    ANSWER_LOST = "the answer was lost"
    REQUEST_LOST = "the request was lost"
    LATE = "the request came late, when nobody waited for it any more"
    SLOW = "both took their time"


@dataclass
class BadLine:
    """A client of a lease store whose calls go wrong now and then. See `ports.leases`."""

    inner: LeaseStore
    random: Random
    share: float
    pause: Callable[[float], Awaitable[None]]
    """Of so many terms."""
    late: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def caveats(self) -> Sequence[str]:
        return self.inner.caveats

    async def acquire(
        self, shards: Sequence[Shard], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Acquisition]:
        return await self._carry(shards, lambda: self.inner.acquire(shards, holder, ttl_s))

    async def renew(
        self, held: Mapping[Shard, Epoch], holder: NodeId, ttl_s: float
    ) -> Mapping[Shard, Renewal]:
        return await self._carry([*held], lambda: self.inner.renew(held, holder, ttl_s))

    async def release(self, held: Mapping[Shard, Epoch], holder: NodeId) -> Mapping[Shard, Release]:
        return await self._carry([*held], lambda: self.inner.release(held, holder))

    async def read(self) -> Sequence[LeaseRecord]:
        return await self.inner.read()

    async def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        return await self.inner.watch(callback)

    async def close(self) -> None:
        """Let what is late arrive."""
        await asyncio.gather(*self.late)

    async def _carry(
        self, shards: Sequence[Shard], call: Callable[[], Awaitable[Mapping[Shard, A]]]
    ) -> Mapping[Shard, A | Unknown]:
        if self.random.random() >= self.share:
            return {**await call()}
        match luck := self.random.choice(list(Luck)):
            case Luck.SLOW:
                await self.pause(self.random.uniform(0, 0.5))
                answers = await call()
                await self.pause(self.random.uniform(0, 0.5))
                return {**answers}
            case Luck.ANSWER_LOST:
                await call()
            case Luck.LATE:
                terms = self.random.uniform(0, 2)
                self.late.append(asyncio.create_task(self._arrive(terms, call)))
            case Luck.REQUEST_LOST:
                pass
        if self.random.random() < 0.5:
            raise StoreUnavailable(luck.value)
        return dict.fromkeys(shards, Unknown(luck.value))

    async def _arrive(self, terms: float, call: Callable[[], Awaitable[object]]) -> None:
        await self.pause(terms)
        with suppress(StoreUnavailable):
            await call()


@dataclass
class Candidate:
    """A node that wants leases, keeps some, gives some back, and is not always up to date."""

    name: NodeId
    leases: LeaseStore
    random: Random
    ttl_s: float
    epochs: dict[Shard, Epoch] = field(default_factory=lambda: dict.fromkeys(SHARDS, Epoch(1)))
    """The last that it heard of, its own or another's."""
    held: set[Shard] = field(default_factory=set)

    async def call(self) -> None:
        """Do something, and remember what the answers say. Some calls are out of place: they speak of
        leases that another has, or of an epoch that has passed."""
        out_of_place, draw = self.random.random() < 0.3, self.random.random()
        age = self.random.choice((0, 1)) if out_of_place else 0
        mine = sorted(self.held) if self.held and (age or not out_of_place) else list(SHARDS)
        kept = {shard: Epoch(max(1, self.epochs[shard] - age)) for shard in self._some(mine)}
        with suppress(StoreUnavailable):
            if draw < 0.35 or not (self.held or out_of_place):
                self._heard(await self.leases.acquire(self._some(SHARDS), self.name, self.ttl_s))
            elif draw < 0.75:
                self._heard(await self.leases.renew(kept, self.name, self.ttl_s))
            else:
                self._heard(await self.leases.release(kept, self.name))

    def _some(self, shards: Sequence[Shard]) -> list[Shard]:
        return sorted(self.random.sample(shards, self.random.randint(1, len(shards))))

    def _heard(self, answers: Mapping[Shard, Acquisition | Renewal | Release]) -> None:
        for shard, answer in answers.items():
            if isinstance(answer, Granted | HeldBy):
                self.epochs[shard] = answer.epoch
            if isinstance(answer, Granted):
                self.held.add(shard)
            elif not isinstance(answer, Unknown):
                self.held.discard(shard)


async def live(harness: LeaseHarness, clock: Clock, workload: Workload) -> LeaseHistory:
    """Let clients of the store live, and tell their history by that clock.

    All pauses end on a beat, so that calls meet. The harness's own client loses answers in the network now
    and then, where the harness can do that.
    """
    random, history = Random(workload.seed), LeaseHistory(clock)

    async def pause(terms: float) -> None:
        now, beat_s = clock.monotonic(), BEAT_TERMS * harness.ttl_s
        wake_at = math.ceil((now + terms * harness.ttl_s) / beat_s) * beat_s
        await harness.advance(wake_at - now)

    clients = [harness.leases, *[await harness.another() for _ in range(workload.clients - 1)]]
    lines = [BadLine(client, Random(random.random()), workload.bad_luck_share, pause) for client in clients]
    candidates = [
        Candidate(NodeId(f"node-{number}"), history.recording(line), Random(random.random()), harness.ttl_s)
        for number, line in enumerate(lines)
    ]
    async with asyncio.TaskGroup() as lives:
        for candidate in candidates:
            weather = harness.losing_answers if candidate is candidates[0] else nullcontext
            lives.create_task(one_life(candidate, workload, pause, weather))
    for line in lines:
        await line.close()
    return history


async def one_life(
    candidate: Candidate,
    workload: Workload,
    pause: Callable[[float], Awaitable[None]],
    bad_weather: Callable[[], AbstractAsyncContextManager[None]],
) -> None:
    """Call, pause, and stall for longer than a term now and then; some calls are made in bad weather."""
    random = candidate.random
    storms = random.sample(range(workload.calls_per_client), workload.storms)
    for number in range(workload.calls_per_client):
        async with bad_weather() if number in storms else nullcontext():
            await candidate.call()
        terms = workload.stall_terms if random.random() < workload.stall_share else workload.pause_terms
        await pause(random.uniform(0, 2) * terms)


def judge(history: LeaseHistory, rules: LeaseRules, workload: Workload) -> None:
    """Demand an explanation of every shard's life; and that there was something to explain."""
    for shard, verdict in history.verdicts(rules).items():
        assert isinstance(verdict, Explained), f"shard {shard}, {workload}: {verdict}"
    lives = history.of_shard.values()
    told = Counter(type(one.what.answer).__name__ for life in lives for one in life)
    kinds = (Granted, HeldBy, Lost, Released, Unknown)
    assert all(told[kind.__name__] >= 3 for kind in kinds), f"a dull life, {workload}: {told}"
    assert sum(map(meetings, lives)) >= workload.calls_per_client, f"nobody met anybody, {workload}"


def meetings(life: Sequence[LeaseOperation]) -> int:
    """How many calls were under way together with another's."""
    heard = [(one.what.holder, one.sent_at, one.answered_at) for one in life if one.answered_at is not None]
    return sum(
        any(mine != other and sent <= ended and began <= answered for other, began, ended in heard)
        for mine, sent, answered in heard
    )
