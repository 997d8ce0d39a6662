"""Election: what one node may believe about one shard's lease.

The lease store is authoritative about who holds the lease; the ledger is authoritative about whose writes
count. This machine only answers: may I act as the leader now? It says yes from the grant until
`sent_at + ttl - margin` on this node's monotonic clock, counted from when the request was *sent*, because
the store may have started the lease any time between sending and answering. A renewal moves the deadline on
in the same way. An answer that never came moves nothing: the lease may or may not have been extended, and
the old deadline stands.

Losing is an event, not a state to poll: the code that acts for the leader gets a `Lost`. It carries the
reason: the store refused a renewal, the ledger refused an epoch, or the deadline passed.

    follower ──campaign──▶ candidate ──granted──▶ leader ──refused · expired · resigned──▶ follower
                               └──────held────────────────────────────────────────────────────▲
"""

from __future__ import annotations

from typing import TypeAlias

from fencepost.model.clocks import Monotonic
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Epoch
from fencepost.model.lease import LeaseTerms


@dataclass(frozen=True, slots=True)
class Follower:
    """Another node leads, or none does; `reason` is why this node does not."""

    reason: str = "never asked"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A request was sent at this moment and is not answered yet."""

    sent_at: Monotonic


@dataclass(frozen=True, slots=True)
class Leader:
    """This node leads under `epoch`, and may believe so until the deadline."""

    epoch: Epoch
    trusted_until: Monotonic


Election: TypeAlias = Follower | Candidate | Leader


def trust_until(sent_at: Monotonic, terms: LeaseTerms) -> Monotonic:
    """Until when an answer to a request that was sent at `sent_at` may be believed."""
    return Monotonic(sent_at + terms.ttl_s - terms.margin_s)


def sent_ago_s(state: Leader, now: Monotonic, terms: LeaseTerms) -> float:
    """How long ago this node sent the request whose answer it believes."""
    return max(now - state.trusted_until + terms.ttl_s - terms.margin_s, 0.0)


def campaign(state: Election, sent_at: Monotonic) -> Election:
    """Ask for the lease. A leader stays one: it renews instead."""
    return state if isinstance(state, Leader) else Candidate(sent_at)


def granted(state: Election, epoch: Epoch, terms: LeaseTerms) -> Election:
    """The lease store said yes to a campaign."""
    assert isinstance(state, Candidate), "granted without having asked"
    return Leader(epoch, trust_until(state.sent_at, terms))


def held(state: Election, by: str) -> Election:
    """The lease store named another holder."""
    assert isinstance(state, Candidate), "refused without having asked"
    return Follower(f"held by {by}")


def unanswered(state: Election) -> Election:
    """No answer came: a candidate becomes a follower, a leader stays one until its old deadline."""
    return Follower("no answer from the lease store") if isinstance(state, Candidate) else state


def renewed(state: Election, sent_at: Monotonic, terms: LeaseTerms) -> Election:
    """The lease store extended the lease by a renewal sent then; a deadline never moves back."""
    if not isinstance(state, Leader):
        return state
    return Leader(state.epoch, max(state.trusted_until, trust_until(sent_at, terms)))


def stepped_down(state: Election, reason: str) -> Election:
    """Refused by the lease store or the ledger, or resigned."""
    return Follower(reason)


def overdue(state: Election, now: Monotonic) -> bool:
    """Whether a leader's deadline has passed."""
    return isinstance(state, Leader) and now >= state.trusted_until
