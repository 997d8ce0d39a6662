"""Who may come in, and where they may act.

A token is good until it is revoked or expires. A session is good until it is ended, until its last day
comes, or until nobody has used it for a while. All of it by the store's clock, as it was when the store
looked. Whether a sign-in link is good the store says itself, in the moment in which it is used.

Which role an operation needs stands with the operation; here is only what holds for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from fencepost.model.access import EVERYWHERE, Principal, SessionRecord, TokenRecord
from fencepost.model.clocks import StoreTime, later
from fencepost.model.identifiers import Namespace

NOTED_EVERY_S = 60.0
"""That a credential was used is written down no more often than this."""


@dataclass(frozen=True)
class SessionTerms:
    """How long somebody stays signed in: at most, and without doing anything."""

    lasts_s: float
    idle_s: float


def is_good(record: TokenRecord | SessionRecord, now: StoreTime, terms: SessionTerms) -> bool:
    """Whether it lets somebody in at this moment."""
    match record:
        case TokenRecord():
            return record.revoked_at is None and (record.expires_at is None or now < record.expires_at)
        case SessionRecord():
            return record.ended_at is None and now < ends_at(record, terms)
        case other:
            assert_never(other)


def ends_at(session: SessionRecord, terms: SessionTerms) -> StoreTime:
    """When a session is over, unless it is used before."""
    return min(session.expires_at, later(session.last_used_at, terms.idle_s))


def is_worth_noting(last_used_at: StoreTime | None, now: StoreTime) -> bool:
    """Whether a use is to be written down: a write for every request would cost more than it tells."""
    return last_used_at is None or now >= later(last_used_at, NOTED_EVERY_S)


def may_act_in(principal: Principal, namespace: Namespace) -> bool:
    """Whether what is in that namespace is there for them."""
    return principal.namespace in (EVERYWHERE, namespace)


def acts_in(principal: Principal, asked: Namespace | None, otherwise: Namespace) -> Namespace | None:
    """Where they act: one that is good everywhere where it asks to, or else where it says nothing; any other
    in its own namespace. None where it asks for another: nothing of that is there for it."""
    if asked is not None:
        return asked if may_act_in(principal, asked) else None
    return otherwise if principal.namespace == EVERYWHERE else principal.namespace


def may_grant(principal: Principal | None, namespace: Namespace) -> bool:
    """Whether they may make a credential for that namespace, which may be all of them. Who came by no
    credential sits at the store itself."""
    return principal is None or principal.namespace in (EVERYWHERE, namespace)


def lifetime_s(token: TokenRecord) -> float | None:
    """For how long a token was made, which its successor is made for too."""
    return None if token.expires_at is None else (token.expires_at - token.created_at).total_seconds()
