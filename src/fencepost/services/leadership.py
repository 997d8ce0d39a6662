"""Leadership: the shards that this node may act for, shared between the elector and the planner.

The elector changes it; the planner reads it. A grant carries an event that is set the moment the node may no
longer believe in it, for any cause, so no code has to poll. While the planner writes it holds `writing`, and
a lease is released only without a write in flight.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from fencepost.core import election
from fencepost.core.election import Election, Follower, Leader
from fencepost.core.fleet import epoch_numbers, shard_numbers
from fencepost.model.clocks import Monotonic
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch, Shard
from fencepost.model.lease import LeaseTerms
from fencepost.model.node import Led
from fencepost.telemetry.events import LeaseChanged, emit
from fencepost.telemetry.logs import Log


@dataclass(frozen=True)
class Grant:
    """One shard led under one epoch; `lost` is set when that is over."""

    shard: Shard
    epoch: Epoch
    """The ledger's, under which plans are written."""
    lease_epoch: Epoch
    """The lease store's, under which the lease is renewed."""
    lost: asyncio.Event = field(default_factory=asyncio.Event, compare=False)


class Leadership:
    """What this node believes about every shard."""

    def __init__(self, terms: LeaseTerms) -> None:
        self.writing = asyncio.Lock()
        self.on_granted: Callable[[], None] = lambda: None
        self.on_refused: Callable[[], None] = lambda: None
        self._terms = terms
        self._elections: dict[Shard, Election] = {}
        self._grants: dict[Shard, Grant] = {}
        self.transitions = 0
        """Grants that came or went since the start."""
        self._unrenewed: Counter[Shard] = Counter()
        self._log = Log("leadership")

    def grants(self, now: Monotonic) -> Mapping[Shard, Grant]:
        """The grants that may be believed at this moment; overdue ones are given up first."""
        self.expire(now)
        return dict(sorted(self._grants.items()))

    def campaign(self, shard: Shard, sent_at: Monotonic) -> None:
        self._elections[shard] = election.campaign(self._state(shard), sent_at)

    def granted(self, shard: Shard, epoch: Epoch, lease_epoch: Epoch) -> None:
        self._elections[shard] = election.granted(self._state(shard), epoch, self._terms)
        del self._unrenewed[shard]
        self._grants[shard] = Grant(shard, epoch, lease_epoch)
        self.transitions += 1
        self._log.debug("leads", shard=shard, epoch=epoch)
        emit(LeaseChanged(shard, epoch, True, "granted", len(self._grants)))
        self.on_granted()

    def held(self, shard: Shard, by: str) -> None:
        self._elections[shard] = election.held(self._state(shard), by)

    def unanswered(self, shards: Iterable[Shard]) -> None:
        """No answer to a campaign."""
        for shard in shards:
            self._elections[shard] = election.unanswered(self._state(shard))

    def unrenewed(self, shard: Shard) -> None:
        """A renewal without an answer changes nothing; it is counted."""
        self._unrenewed[shard] += 1

    def renewed(self, shard: Shard, sent_at: Monotonic) -> None:
        self._elections[shard] = election.renewed(self._state(shard), sent_at, self._terms)

    def step_down(self, shards: Iterable[Shard], reason: str) -> None:
        """No longer the leader: refused, overdue or resigned."""
        lost: dict[Shard, Epoch] = {}
        for shard in shards:
            self._elections[shard] = election.stepped_down(self._state(shard), reason)
            grant = self._grants.pop(shard, None)
            if grant is not None:
                grant.lost.set()
                self.transitions += 1
                lost[shard] = grant.epoch
                emit(LeaseChanged(shard, grant.epoch, False, reason, len(self._grants)))
        if lost:
            epochs = epoch_numbers(lost.values())
            self._log.info("stepped down", shards=shard_numbers(lost), epochs=epochs, reason=reason)

    def refused(self, shard: Shard, epoch: Epoch) -> None:
        """The ledger refused a write of this epoch; a newer grant of the shard stands."""
        grant = self._grants.get(shard)
        if grant is not None and grant.epoch == epoch:
            self.step_down([shard], "the ledger refused a stale epoch")
            self.on_refused()

    def expire(self, now: Monotonic) -> None:
        """Give up what may no longer be believed."""
        late = [shard for shard, state in self._elections.items() if election.overdue(state, now)]
        self.step_down(late, "the lease ran out before a renewal was confirmed")

    def led(self, now: Monotonic) -> tuple[Led, ...]:
        """The shards that this node reports to lead."""
        self.expire(now)
        return tuple(
            self._told(shard, state, now)
            for shard, state in sorted(self._elections.items())
            if isinstance(state, Leader)
        )

    def _told(self, shard: Shard, state: Leader, now: Monotonic) -> Led:
        ttl_s, left_s = self._terms.ttl_s, max(state.trusted_until - now, 0.0)
        renewed_ago_s = election.sent_ago_s(state, now, self._terms)
        return Led(shard, state.epoch, left_s, self._unrenewed[shard], renewed_ago_s, ttl_s)

    def next_deadline(self) -> Monotonic | None:
        """When the first grant stops being believable."""
        deadlines = [s.trusted_until for s in self._elections.values() if isinstance(s, Leader)]
        return min(deadlines, default=None)

    def _state(self, shard: Shard) -> Election:
        return self._elections.get(shard, Follower())
