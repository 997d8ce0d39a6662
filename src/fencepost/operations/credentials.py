"""What can be done with credentials.

Whoever came with a credential of one namespace sees and makes only those of that namespace; one that is good
everywhere, and whoever sits at the store itself, sees all. The secret of what is made is in the answer and
nowhere else: it cannot be asked for again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from fencepost.core.access import (
    SessionTerms,
    is_good,
    lifetime_s,
    may_act_in,
    may_grant,
    reserved_name,
    taken_name,
)
from fencepost.errors import InvalidSpec, NotAllowed, UnknownToken, UsageError
from fencepost.model.access import (
    EVERYWHERE,
    CredentialKind,
    NewLink,
    NewToken,
    Role,
    SessionRecord,
    TokenRecord,
    mint,
)
from fencepost.model.identifiers import NAME_LENGTH_MAX, Namespace, checked_name
from fencepost.operations.control import Control
from fencepost.operations.responses.access import MintedLink, MintedToken

PAGE = 100
LINK_LASTS_S = 600.0
LINK_LASTS_MAX_S = 24 * 3600.0
OVERLAP_MAX_S = 30 * 24 * 3600.0
LIFETIME_MAX_S = 10 * 366 * 24 * 3600.0


async def create(
    control: Control, name: str, role: Role, namespace: str | None = None, lasts_s: float | None = None
) -> MintedToken:
    """Make a token, for this namespace unless another is named, or `*` for all."""
    place = _granted(control, namespace)
    if lasts_s is not None:
        _check_span("expires", lasts_s, LIFETIME_MAX_S)
    await _check_free(control, _checked_label(name), place)
    made = mint(CredentialKind.TOKEN, secrets.token_bytes)
    new = NewToken(made.credential_id, made.digest, name, role, place, lasts_s)
    record = await control.store.access.create_token(new, author=control.author, asked_in=control.namespace)
    return MintedToken(record, made)


async def tokens(
    control: Control, namespace: str | None = None, before_number: int | None = None, limit: int = PAGE
) -> Sequence[TokenRecord]:
    """Tokens that are to be seen, newest first: of one namespace, or of all."""
    seen = _seen(control)
    if namespace is not None and seen not in (None, namespace):
        return []
    place = seen if namespace is None else Namespace(namespace)
    return await control.store.access.tokens(place, before_number=before_number, limit=limit)


async def token(control: Control, token_id: str) -> TokenRecord:
    """One token."""
    found = await control.store.access.find_token(token_id)
    if found is None or not _sees(control, found.record.namespace):
        raise _unknown("token", token_id)
    return found.record


async def rotate(control: Control, token_id: str, overlap_s: float = 0.0) -> MintedToken:
    """Put a new secret in the place of a token's, which stays good for the overlap. The new one has the
    old one's name, role, namespace and length of life, and an id of its own."""
    old = await token(control, token_id)
    if overlap_s:
        _check_span("overlap", overlap_s, OVERLAP_MAX_S)
    made = mint(CredentialKind.TOKEN, secrets.token_bytes)
    about = old.name, old.role, old.namespace, lifetime_s(old)
    record = await control.store.access.rotate_token(
        token_id,
        NewToken(made.credential_id, made.digest, *about),
        overlap_s,
        author=control.author,
        asked_in=control.namespace,
    )
    if record is None:
        remedy = "create another; see: fencepost token list"
        raise UsageError(f"token {token_id}: it is revoked, has expired or was rotated already; {remedy}")
    return MintedToken(record, made)


async def revoke(control: Control, token_id: str) -> TokenRecord:
    """End a token, and with it the sessions and the sign-in links that rest on it."""
    await token(control, token_id)
    record = await control.store.access.revoke_token(
        token_id, author=control.author, asked_in=control.namespace
    )
    if record is None:
        raise _unknown("token", token_id)
    return record


async def open_link(
    control: Control,
    role: Role = Role.ADMIN,
    namespace: str | None = None,
    lasts_s: float = LINK_LASTS_S,
    name: str | None = None,
) -> MintedLink:
    """Make a sign-in link that can be used once, for the author unless another is named. It ends with the
    token that the author came with; what is made at the store itself rests on none."""
    if role is Role.WORKER:
        raise InvalidSpec("role worker: it is for programs, and signs nobody in; make a token instead")
    place = _granted(control, namespace)
    _check_span("expires", lasts_s, LINK_LASTS_MAX_S)
    made = mint(CredentialKind.LINK, secrets.token_bytes)
    label = _checked_label(control.author.name if name is None else name)
    rests_on = None if control.principal is None else control.principal.rests_on
    new = NewLink(made.credential_id, made.digest, label, role, place, lasts_s, rests_on)
    record = await control.store.access.open_link(new, author=control.author, asked_in=control.namespace)
    return MintedLink(record, made)


async def sessions(
    control: Control, terms: SessionTerms, before_number: int | None = None, limit: int = PAGE
) -> Sequence[SessionRecord]:
    """Who is signed in, newest first; those who did nothing for too long are left out, and do not count
    among the `limit`."""
    now, good, place = await control.store.now(), list[SessionRecord](), before_number
    while len(good) < limit:
        found = await control.store.access.sessions(_seen(control), before_number=place, limit=limit)
        good += [one for one in found if is_good(one, now, terms)]
        if len(found) < limit:
            break
        place = found[-1].number
    return good[:limit]


async def end_session(control: Control, session_id: str) -> SessionRecord:
    """Sign somebody out."""
    found = await control.store.access.find_session(session_id)
    if found is None or not _sees(control, found.record.namespace):
        raise _unknown("session", session_id)
    ended = await control.store.access.end_session(
        session_id, author=control.author, asked_in=control.namespace
    )
    return found.record if ended is None else ended


async def end_sessions(control: Control, token_id: str | None = None) -> int:
    """Sign out everybody who is to be seen, or whose session rests on that token; how many there were."""
    return await control.store.access.end_sessions(
        _seen(control), rests_on=token_id, author=control.author, asked_in=control.namespace
    )


async def _check_free(control: Control, name: str, place: Namespace) -> None:
    """Refuse a name that would pass for another's in the audit log of that namespace."""
    if refusal := reserved_name(name):
        raise InvalidSpec(f"name {name!r}: {refusal}; choose another")
    now = await control.store.now()
    for where in (None,) if place == EVERYWHERE else (place, EVERYWHERE):
        before: int | None = None
        while page := await control.store.access.tokens(where, before_number=before, limit=PAGE):
            if taken := taken_name(name, page, now):
                remedy = "choose another, or rotate that one"
                raise InvalidSpec(f"name {name!r}: token {taken.token_id} is called {taken.name}; {remedy}")
            before = page[-1].number


def _seen(control: Control) -> Namespace | None:
    """Whose credentials are listed; None for all."""
    everything = control.principal is None or control.principal.namespace == EVERYWHERE
    return None if everything else control.namespace


def _sees(control: Control, namespace: Namespace) -> bool:
    return control.principal is None or may_act_in(control.principal, namespace)


def _granted(control: Control, namespace: str | None) -> Namespace:
    place = control.namespace if namespace is None else Namespace(namespace)
    if place != EVERYWHERE:
        checked_name("namespace", place)
    if not may_grant(control.principal, place):
        raise NotAllowed(f"namespace {place}: this credential is good in {control.namespace} only")
    return place


def _unknown(kind: str, credential_id: str) -> UnknownToken:
    return UnknownToken(f"{kind} {credential_id[:NAME_LENGTH_MAX]!r}: there is none of that id")


def _checked_label(name: str) -> str:
    """A name that people read."""
    if 1 <= len(name) <= NAME_LENGTH_MAX and name.isprintable() and name.strip() == name:
        return name
    raise InvalidSpec(
        f"name {name[:NAME_LENGTH_MAX]!r}: expected 1 to {NAME_LENGTH_MAX} printable characters"
    )


def _check_span(what: str, seconds: float, most_s: float) -> None:
    if not 0 < seconds <= most_s:
        raise UsageError(f"{what} {seconds:g} s: expected more than 0 and at most {most_s:g} s")
