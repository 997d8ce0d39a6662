"""Who may sign in, and in which namespaces they may act.

A token is good until it is revoked or expires. A session is good until it is ended, reaches its last day, or
has not been used for a while. All of this goes by the store's clock at the moment of the lookup. The store
itself decides whether a sign-in link is good, at the moment of its use.

Each operation states the role that it needs; this module holds only what is common to all of them.
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
    """How long a session lasts: at most, and without being used."""

    lasts_s: float
    idle_s: float


def is_good(record: TokenRecord | SessionRecord, now: StoreTime, terms: SessionTerms) -> bool:
    """Whether the credential is accepted at this moment."""
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
    """Whether the principal may see and change what is in that namespace."""
    return principal.namespace in (EVERYWHERE, namespace)


def acts_in(principal: Principal, asked: Namespace | None, otherwise: Namespace) -> Namespace | None:
    """The namespace in which the principal acts. One that may act everywhere acts where it asks to, or in
    `otherwise`. Any other acts in its own namespace. None where it asks for another than its own."""
    if asked is not None:
        return asked if may_act_in(principal, asked) else None
    return otherwise if principal.namespace == EVERYWHERE else principal.namespace


def kept_to(principal: Principal | None) -> Namespace | None:
    """The namespace whose part of the fleet the principal sees; None: all of it. A caller without a
    credential works on the store directly."""
    return None if principal is None or principal.namespace == EVERYWHERE else principal.namespace


def may_grant(principal: Principal | None, namespace: Namespace) -> bool:
    """Whether the principal may make a credential for that namespace, which may be all of them. A caller
    without a credential works on the store directly."""
    return principal is None or principal.namespace in (EVERYWHERE, namespace)


def lifetime_s(token: TokenRecord) -> float | None:
    """The lifetime with which a token was made; its successor gets the same."""
    return None if token.expires_at is None else (token.expires_at - token.created_at).total_seconds()


def reserved_name(name: str) -> str | None:
    """Why that name is refused: in the audit log it would look like another one. None where it is allowed."""
    if _plain(name) in {_plain(one) for one in RESERVED}:
        return "this name is reserved"
    if not name.isascii():
        return "letters of other alphabets look like those of another name; expected ASCII"
    return "this looks like the id of a credential" if _LIKE_AN_ID.fullmatch(name) else None


def taken_name(name: str, tokens: Iterable[TokenRecord], now: StoreTime) -> TokenRecord | None:
    """The live token that has this name, or one that reads the same. A token that has ended has no name."""
    good = (one for one in tokens if is_good(one, now, SessionTerms(0, 0)))
    return next((one for one in good if _plain(one.name) == _plain(name)), None)


def _plain(name: str) -> str:
    """What the eye compares: letters and digits, without case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold())) or name
