"""Credentials: roles, principals, and what the store keeps of credentials.

A credential looks like `fp_<id>_<random>`. The id says which one it is, and may be shown and logged; its
first letter says what it is: a token (`t`), a session (`s`) or a sign-in link (`l`). The rest is 256 random
bits; a client that has them has the credential. The store keeps a digest of the whole, from which the
credential cannot be computed. There are no other secrets: no passwords, and no default credentials.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import field
from enum import StrEnum
from typing import Generic, NoReturn, TypeGuard, TypeVar

from fencepost.model.clocks import StoreTime
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace
from fencepost.model.secret import MASK

EVERYWHERE = Namespace("*")
"""The namespace of a credential that is good in all of them; no tenant can have that name."""
ID_BYTES = 8
RANDOM_BYTES = 32
CREDENTIAL_LENGTH_MAX = 128
SETTING_ID = "FENCEPOST_TOKEN"
"""The name and the id, in the audit log, of the token that is a setting."""
PERSON = "oidc:"
_CREDENTIAL = re.compile(r"fp_([tsl][0-9a-f]{16})_([0-9a-f]{64})")


class Role(StrEnum):
    """What a credential may do. A worker may claim runs and report on those; it may not read anything. An
    operator may do what a worker and a viewer may, an admin everything."""

    WORKER = "worker"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Whether this role is enough where `needed` is asked for."""
        if self in (Role.WORKER, Role.VIEWER):
            return self is needed
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


class Came(StrEnum):
    """How a principal was recognised."""

    TOKEN = "token"
    SESSION = "session"
    SETTING = "setting"
    HOST = "host"
    """By the application that the web is mounted in."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller; `credential_id` is looked up to see whether the credential is still good."""

    name: str
    role: Role
    namespace: Namespace
    came: Came
    credential_id: str
    rests_on: str | None = field(default=None, repr=False)
    """What the caller's links end with: a token, or the mark of the setting; None: nothing."""

    @property
    def has_browser(self) -> bool:
        """Whether they came by a cookie, which a browser sends with requests that other sites make too."""
        return self.came in (Came.SESSION, Came.HOST)

    @property
    def asker(self) -> str:
        """Whose share of a server the caller uses: all sessions that one token opened share one."""
        return self.rests_on or self.credential_id

    @property
    def audit_id(self) -> str:
        """The credential that the audit log names: for a session the token, or the setting, that it rests on,
        and the session itself where it rests on nothing."""
        return accountable(self.credential_id, self.rests_on)


class CredentialKind(StrEnum):
    """What a credential is."""

    TOKEN = "t"
    SESSION = "s"
    LINK = "l"


class Credential:
    """A whole credential, as its maker or the server has it. Its `repr` does not show it."""

    __slots__ = ("_text", "credential_id")

    def __init__(self, credential_id: str, text: str) -> None:
        self.credential_id = credential_id
        self._text = text

    @property
    def kind(self) -> CredentialKind:
        return CredentialKind(self.credential_id[0])

    @property
    def digest(self) -> str:
        """The digest that the store keeps."""
        return digest_of(self._text)

    def fits(self, digest: str) -> bool:
        """Whether the digest is of this credential, compared in constant time."""
        return hmac.compare_digest(self.digest, digest)

    def derived(self, purpose: str) -> str:
        """Another secret, which can be computed only from this one."""
        return hmac.new(self._text.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def reveal(self) -> str:
        """The text itself, to be handed over once."""
        return self._text

    def __repr__(self) -> str:
        return f"Credential({self.credential_id!r}, {MASK})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a credential cannot be pickled")


def mint(kind: CredentialKind, dice: Callable[[int], bytes]) -> Credential:
    """A new credential; `dice` returns that number of bytes that cannot be guessed."""
    credential_id = f"{kind}{dice(ID_BYTES).hex()}"
    return Credential(credential_id, f"fp_{credential_id}_{dice(RANDOM_BYTES).hex()}")


def read_credential(text: str) -> Credential | None:
    """The credential behind a text; None where it cannot be one."""
    found = _CREDENTIAL.fullmatch(text) if len(text) <= CREDENTIAL_LENGTH_MAX else None
    return None if found is None else Credential(found[1], text)


def is_token_id(rests_on: str | None) -> TypeGuard[str]:
    """Whether a link or a session rests on a token, which the store itself keeps."""
    return rests_on is not None and rests_on.startswith(CredentialKind.TOKEN)


def is_person(rests_on: str | None) -> TypeGuard[str]:
    """Whether what a session rests on is a person who signed in at a provider: `oidc:SUBJECT@HOST`."""
    return rests_on is not None and rests_on.startswith(PERSON)


def accountable(credential_id: str, rests_on: str | None) -> str:
    """The id by which the audit log knows what rests on a token, a person, the setting, or nothing."""
    if is_token_id(rests_on) or is_person(rests_on):
        return rests_on
    return SETTING_ID if rests_on is not None and rests_on.startswith(Came.SETTING) else credential_id


def digest_of(text: str) -> str:
    """The digest that the store keeps of a secret."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be written; without `lasts_s` it does not expire."""

    token_id: str
    digest: str = field(repr=False)
    name: str
    role: Role
    namespace: Namespace
    lasts_s: float | None = None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token without its secret. `number` rises with each token that is made."""

    number: int
    token_id: str
    name: str
    role: Role
    namespace: Namespace
    created_at: StoreTime
    created_by: str
    expires_at: StoreTime | None = None
    last_used_at: StoreTime | None = None
    """Correct to about a minute."""
    revoked_at: StoreTime | None = None
    rotated_from: str | None = None
    """The token that this one replaced."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to be opened; `opened_with` is the id of the credential that was shown for it."""

    session_id: str
    digest: str = field(repr=False)
    name: str
    role: Role
    namespace: Namespace
    opened_with: str
    lasts_s: float


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A sign-in with a browser."""

    number: int
    session_id: str
    name: str
    role: Role
    namespace: Namespace
    created_at: StoreTime
    expires_at: StoreTime
    last_used_at: StoreTime
    """Correct to about a minute."""
    opened_with: str
    """The id of the token, or of the link, that was shown for it."""
    ended_at: StoreTime | None = None
    rests_on: str | None = field(default=None, repr=False)
    """The token that was shown for it, or on whose authority the link was made; see `Principal`."""


@dataclass(frozen=True, slots=True)
class NewLink:
    """A sign-in link to be written."""

    link_id: str
    digest: str = field(repr=False)
    name: str
    role: Role
    namespace: Namespace
    lasts_s: float
    rests_on: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A sign-in link that can be used once; `session_id` is the session that it became."""

    link_id: str
    name: str
    role: Role
    namespace: Namespace
    created_at: StoreTime
    created_by: str
    expires_at: StoreTime
    session_id: str | None = None
    rests_on: str | None = field(default=None, repr=False)
    """On whose authority it was made; it and its session end with that. See `Principal`."""


R = TypeVar("R", TokenRecord, SessionRecord, SignInLink)


@dataclass(frozen=True, slots=True)
class Found(Generic[R]):
    """What the store has under an id, and the store's time of the lookup."""

    record: R
    digest: str = field(repr=False)
    now: StoreTime
