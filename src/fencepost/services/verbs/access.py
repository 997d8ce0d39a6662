"""What can be done with credentials.

Whoever came with a credential of one namespace sees and makes only those of that namespace; one that is good
everywhere, and whoever sits at the store itself, sees all. The secret of what is made is in the answer and
nowhere else: it cannot be asked for again.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

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
    Credential,
    CredentialKind,
    NewLink,
    NewToken,
    Principal,
    Role,
    SessionRecord,
    SignInLink,
    TokenRecord,
    mint,
)
from fencepost.model.audit import Author
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import NAME_LENGTH_MAX, Namespace, checked_name
from fencepost.ports.store import Store
from fencepost.services.verbs.verbs import PROGRAM, Verbs

PAGE = 100
LINK_LASTS_S = 600.0
LINK_LASTS_MAX_S = 24 * 3600.0
OVERLAP_MAX_S = 30 * 24 * 3600.0
LIFETIME_MAX_S = 10 * 366 * 24 * 3600.0


@dataclass(frozen=True)
class MintedToken:
    """A token and its secret, which is shown once."""

    record: TokenRecord
    credential: Credential


@dataclass(frozen=True)
class MintedLink:
    """A sign-in link and its secret, which is shown once."""

    record: SignInLink
    credential: Credential


class AccessVerbs(Verbs):
    """Credentials, as far as the principal may see them."""

    def __init__(
        self,
        store: Store,
        namespace: Namespace,
        author: Author = PROGRAM,
        principal: Principal | None = None,
        dice: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        super().__init__(store, namespace, author)
        self._principal = principal
        self._dice = dice

    async def create(
        self, name: str, role: Role, namespace: str | None = None, lasts_s: float | None = None
    ) -> MintedToken:
        """Make a token, for this namespace unless another is named, or `*` for all."""
        place = self._granted(namespace)
        if lasts_s is not None:
            _check_span("expires", lasts_s, LIFETIME_MAX_S)
        await self._check_free(_checked_label(name), place)
        made = mint(CredentialKind.TOKEN, self._dice)
        new = NewToken(made.credential_id, made.digest, name, role, place, lasts_s)
        record = await self._store.access.create_token(new, author=self._author, asked_in=self._namespace)
        return MintedToken(record, made)

    async def tokens(
        self, namespace: str | None = None, before_number: int | None = None, limit: int = PAGE
    ) -> Sequence[TokenRecord]:
        """Tokens that are to be seen, newest first: of one namespace, or of all."""
        seen = self._seen()
        if namespace is not None and seen not in (None, namespace):
            return []
        place = seen if namespace is None else Namespace(namespace)
        return await self._store.access.tokens(place, before_number=before_number, limit=limit)

    async def token(self, token_id: str) -> TokenRecord:
        """One token."""
        found = await self._store.access.find_token(token_id)
        if found is None or not self._sees(found.record.namespace):
            raise _unknown("token", token_id)
        return found.record

    async def rotate(self, token_id: str, overlap_s: float = 0.0) -> MintedToken:
        """Put a new secret in the place of a token's, which stays good for the overlap. The new one has the
        old one's name, role, namespace and length of life, and an id of its own."""
        old = await self.token(token_id)
        if overlap_s:
            _check_span("overlap", overlap_s, OVERLAP_MAX_S)
        made = mint(CredentialKind.TOKEN, self._dice)
        about = old.name, old.role, old.namespace, lifetime_s(old)
        record = await self._store.access.rotate_token(
            token_id,
            NewToken(made.credential_id, made.digest, *about),
            overlap_s,
            author=self._author,
            asked_in=self._namespace,
        )
        if record is None:
            remedy = "create another; see: fencepost token list"
            raise UsageError(f"token {token_id}: it is revoked, has expired or was rotated already; {remedy}")
        return MintedToken(record, made)

    async def revoke(self, token_id: str) -> TokenRecord:
        """End a token, and with it the sessions and the sign-in links that rest on it."""
        await self.token(token_id)
        record = await self._store.access.revoke_token(
            token_id, author=self._author, asked_in=self._namespace
        )
        if record is None:
            raise _unknown("token", token_id)
        return record

    async def open_link(
        self,
        role: Role = Role.ADMIN,
        namespace: str | None = None,
        lasts_s: float = LINK_LASTS_S,
        name: str | None = None,
    ) -> MintedLink:
        """Make a sign-in link that can be used once, for the author unless another is named. It ends with the
        token that the author came with; what is made at the store itself rests on none."""
        if role is Role.WORKER:
            raise InvalidSpec("role worker: it is for programs, and signs nobody in; make a token instead")
        place = self._granted(namespace)
        _check_span("expires", lasts_s, LINK_LASTS_MAX_S)
        made = mint(CredentialKind.LINK, self._dice)
        label = _checked_label(self._author.name if name is None else name)
        rests_on = None if self._principal is None else self._principal.rests_on
        new = NewLink(made.credential_id, made.digest, label, role, place, lasts_s, rests_on)
        record = await self._store.access.open_link(new, author=self._author, asked_in=self._namespace)
        return MintedLink(record, made)

    async def sessions(
        self, terms: SessionTerms, before_number: int | None = None, limit: int = PAGE
    ) -> Sequence[SessionRecord]:
        """Who is signed in, newest first; those who did nothing for too long are left out, and do not count
        among the `limit`."""
        now, good, place = await self._store.now(), list[SessionRecord](), before_number
        while len(good) < limit:
            found = await self._store.access.sessions(self._seen(), before_number=place, limit=limit)
            good += [one for one in found if is_good(one, now, terms)]
            if len(found) < limit:
                break
            place = found[-1].number
        return good[:limit]

    async def end_session(self, session_id: str) -> SessionRecord:
        """Sign somebody out."""
        found = await self._store.access.find_session(session_id)
        if found is None or not self._sees(found.record.namespace):
            raise _unknown("session", session_id)
        ended = await self._store.access.end_session(
            session_id, author=self._author, asked_in=self._namespace
        )
        return found.record if ended is None else ended

    async def end_sessions(self, token_id: str | None = None) -> int:
        """Sign out everybody who is to be seen, or whose session rests on that token; how many there were."""
        return await self._store.access.end_sessions(
            self._seen(), rests_on=token_id, author=self._author, asked_in=self._namespace
        )

    async def _check_free(self, name: str, place: Namespace) -> None:
        """Refuse a name that would pass for another's in the audit log of that namespace."""
        if refusal := reserved_name(name):
            raise InvalidSpec(f"name {name!r}: {refusal}; choose another")
        now = await self._store.now()
        for where in (None,) if place == EVERYWHERE else (place, EVERYWHERE):
            before: int | None = None
            while page := await self._store.access.tokens(where, before_number=before, limit=PAGE):
                if taken := taken_name(name, page, now):
                    remedy = "choose another, or rotate that one"
                    raise InvalidSpec(
                        f"name {name!r}: token {taken.token_id} is called {taken.name}; {remedy}"
                    )
                before = page[-1].number

    def _seen(self) -> Namespace | None:
        """Whose credentials are listed; None for all."""
        everything = self._principal is None or self._principal.namespace == EVERYWHERE
        return None if everything else self._namespace

    def _sees(self, namespace: Namespace) -> bool:
        return self._principal is None or may_act_in(self._principal, namespace)

    def _granted(self, namespace: str | None) -> Namespace:
        place = self._namespace if namespace is None else Namespace(namespace)
        if place != EVERYWHERE:
            checked_name("namespace", place)
        if not may_grant(self._principal, place):
            raise NotAllowed(f"namespace {place}: this credential is good in {self._namespace} only")
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
