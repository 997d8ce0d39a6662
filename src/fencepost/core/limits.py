"""Limits of a job: which of the candidates start, which wait, and for what.

A pure function of the candidates, of what runs by the ledger, of the rate's state and of the store's time.
It is asked under the lock of the job's limits, so two claimers never see the same last slot.

The ledger says what counts as running, so a slot is never given back: the slot of a worker that died becomes
free when its run is rescued. Where a limit is lowered below what runs, nothing is stopped; nothing starts
until enough runs have ended.

The rate is the *generic cell rate algorithm*. Each start pays for one interval; `paid_until` is how far
ahead that reaches. A run may start while this is at most the burst less one ahead of now. So in any stretch
of time there are at most as many starts as it has intervals, and one burst. No start reaches further ahead
than a burst; what was paid for at a lower rate may, and counts as a burst when the rate is raised.

The slot is asked for first: a run that waits for a slot uses up none of the rate.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

from fencepost.model.clocks import StoreTime
from fencepost.model.limits import Candidate, JobLimit, LimitFacts, LimitVerdict, Waiting
from fencepost.model.run import Hold

US = 1_000_000


def decide(facts: LimitFacts, now: StoreTime, room: int) -> LimitVerdict:
    """Go through the candidates in turn until there is no room."""
    pace = _Pace.of(facts.limit, facts.paid_until, now)
    running = Counter(facts.running)
    starts: list[Candidate] = []
    waits: list[Waiting] = []
    for one in facts.candidates:
        if len(starts) >= room:
            break
        if _is_full(facts.limit, running[one.slot]):
            waits.append(_for_a_slot(facts, one, running[one.slot]))
        elif not pace.lets_go(now):
            waits.append(Waiting(one.run_key, one.slot, Hold.PACED, _pace_words(facts)))
        else:
            starts.append(one)
            running[one.slot] += 1
            pace.pay(now)
    return LimitVerdict(tuple(starts), tuple(waits), pace.paid_until, pace.next_at, running)


@dataclass(slots=True)
class _Pace:
    """The rate, as starts use it up."""

    every: timedelta | None
    ahead: timedelta
    paid_until: StoreTime | None

    @classmethod
    def of(cls, limit: JobLimit, paid_until: StoreTime | None, now: StoreTime) -> _Pace:
        if limit.every_s is None:
            return cls(None, timedelta(), None)
        every = timedelta(microseconds=math.ceil(limit.every_s * US - 0.001))
        furthest = StoreTime(now + limit.burst * every)
        paid = None if paid_until is None else min(paid_until, furthest)
        return cls(every, (limit.burst - 1) * every, paid)

    @property
    def next_at(self) -> StoreTime | None:
        return None if self.paid_until is None else StoreTime(self.paid_until - self.ahead)

    def lets_go(self, now: StoreTime) -> bool:
        return self.next_at is None or self.next_at <= now

    def pay(self, now: StoreTime) -> None:
        if self.every is not None:
            base = now if self.paid_until is None else max(self.paid_until, now)
            self.paid_until = StoreTime(base + self.every)


def _is_full(limit: JobLimit, running: int) -> bool:
    return limit.concurrency is not None and running >= limit.concurrency


def _for_a_slot(facts: LimitFacts, one: Candidate, running: int) -> Waiting:
    key = facts.limit.key
    of = f" with {key} {one.slot}" if key is not None else ""
    reason = f"waits for a slot of job {facts.job}{of} ({running} running)"
    return Waiting(one.run_key, one.slot, Hold.LIMITED, reason)


def _pace_words(facts: LimitFacts) -> str:
    return f"waits for the rate of job {facts.job} ({facts.limit.rate})"
