"""Who may come in, and where they may act.

A token is good until it is revoked or expires. A session is good until it is ended, until its last day
comes, or until nobody has used it for a while. All of it by the store's clock, as it was when the store
looked. Whether a sign-in link is good the store says itself, in the moment in which it is used.

Which role an operation needs stands with the operation; here is only what holds for all of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import assert_never

from fencepost.model.access import EVERYWHERE, SETTING_ID, Principal, SessionRecord, TokenRecord
from fencepost.model.clocks import StoreTime, later
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace

NOTED_EVERY_S = 60.0
"""That a credential was used is written down no more often than this."""

RESERVED = frozenset(
    {SETTING_ID, "fencepost", "system", "application", "deploy", "cli", "setting", "program"}
)
"""What Fencepost, programs, deploys and the setting act under, and what reads like it."""
_LIKE_AN_ID = re.compile(r"(os|host|oidc):.*|[tsl][0-9a-f]{16}", re.IGNORECASE | re.DOTALL)


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


def kept_to(principal: Principal | None) -> Namespace | None:
    """The namespace whose part of the fleet they see; None: all of it. Who came by no credential sits at the
    store itself."""
    return None if principal is None or principal.namespace == EVERYWHERE else principal.namespace


def may_grant(principal: Principal | None, namespace: Namespace) -> bool:
    """Whether they may make a credential for that namespace, which may be all of them. Who came by no
    credential sits at the store itself."""
    return principal is None or principal.namespace in (EVERYWHERE, namespace)


def lifetime_s(token: TokenRecord) -> float | None:
    """For how long a token was made, which its successor is made for too."""
    return None if token.expires_at is None else (token.expires_at - token.created_at).total_seconds()


def reserved_name(name: str) -> str | None:
    """Why nobody may choose that name: in the audit log it would pass for another; None where they may."""
    if _plain(name) in {_plain(one) for one in RESERVED}:
        return "this name is reserved"
    if not name.isascii():
        return "letters of other alphabets look like those of another name; expected ASCII"
    return "this looks like the id of a credential" if _LIKE_AN_ID.fullmatch(name) else None


def taken_name(name: str, tokens: Iterable[TokenRecord], now: StoreTime) -> TokenRecord | None:
    """The token that has the name already, or one that reads the same; one that has ended has none."""
    good = (one for one in tokens if is_good(one, now, SessionTerms(0, 0)))
    return next((one for one in good if _plain(one.name) == _plain(name)), None)


def _plain(name: str) -> str:
    """What the eye compares: letters and digits, without case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold())) or name
