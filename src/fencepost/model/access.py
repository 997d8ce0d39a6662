"""Who may come in: roles, principals, and what the store keeps of credentials.

A credential looks like `fp_<id>_<random>`. The id says which one it is, and may be shown and logged; its
first letter says what it is: a token (`t`), a session (`s`) or a sign-in link (`l`). The rest is 256 bits of
chance, and whoever has them has the credential. The store keeps a digest of the whole, from which nobody gets
back. There is no other secret: no passwords, and none that is there from the beginning.
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
_CREDENTIAL = re.compile(r"fp_([tsl][0-9a-f]{16})_([0-9a-f]{64})")


class Role(StrEnum):
    """What a credential may do. A worker may claim runs and report on those; it may not look at anything. An
    operator may do what a worker and a viewer may, an admin everything."""

    WORKER = "worker"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def covers(self, needed: Role) -> bool:
        """Whether this is enough where that is asked for."""
        if self in (Role.WORKER, Role.VIEWER):
            return self is needed
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)


class Came(StrEnum):
    """By what somebody was recognised."""

    TOKEN = "token"
    SESSION = "session"
    SETTING = "setting"
    HOST = "host"
    """By the application that the web is mounted in."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who was let in; `credential_id` is what is looked up to see whether they still may stay."""

    name: str
    role: Role
    namespace: Namespace
    came: Came
    credential_id: str
    rests_on: str | None = field(default=None, repr=False)
    """What the links that they make end with: a token, or the mark of the setting; None: nothing."""

    @property
    def has_browser(self) -> bool:
        """Whether they came by a cookie, which a browser shows whoever made it ask."""
        return self.came in (Came.SESSION, Came.HOST)

    @property
    def asker(self) -> str:
        """Whose share of a server they use: all sessions that one token opened have one together."""
        return self.rests_on or self.credential_id

    @property
    def audit_id(self) -> str:
        """The credential that the audit log names: of a session the token, or the setting, that it rests on,
        and the session itself where it rests on nothing."""
        return accountable(self.credential_id, self.rests_on)


class CredentialKind(StrEnum):
    """What a credential is."""

    TOKEN = "t"
    SESSION = "s"
    LINK = "l"


class Credential:
    """A whole credential, in the hands of whoever made it or was shown it. It does not show itself."""

    __slots__ = ("_text", "credential_id")

    def __init__(self, credential_id: str, text: str) -> None:
        self.credential_id = credential_id
        self._text = text

    @property
    def kind(self) -> CredentialKind:
        return CredentialKind(self.credential_id[0])

    @property
    def digest(self) -> str:
        """What is kept of it."""
        return digest_of(self._text)

    def fits(self, digest: str) -> bool:
        """Whether it is the one that the digest is of, compared in constant time."""
        return hmac.compare_digest(self.digest, digest)

    def derived(self, purpose: str) -> str:
        """Another secret, which whoever has this one can make and nobody else."""
        return hmac.new(self._text.encode(), purpose.encode(), hashlib.sha256).hexdigest()

    def reveal(self) -> str:
        """The text itself, to be handed over once."""
        return self._text

    def __repr__(self) -> str:
        return f"Credential({self.credential_id!r}, {MASK})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a credential cannot be pickled")


def mint(kind: CredentialKind, dice: Callable[[int], bytes]) -> Credential:
    """A new credential; `dice` gives so many bytes that nobody can guess."""
    credential_id = f"{kind}{dice(ID_BYTES).hex()}"
    return Credential(credential_id, f"fp_{credential_id}_{dice(RANDOM_BYTES).hex()}")


def read_credential(text: str) -> Credential | None:
    """The credential behind a text; None where it cannot be one."""
    found = _CREDENTIAL.fullmatch(text) if len(text) <= CREDENTIAL_LENGTH_MAX else None
    return None if found is None else Credential(found[1], text)


def is_token_id(rests_on: str | None) -> TypeGuard[str]:
    """Whether what a link or a session rests on is a token, and so in the store's own keeping."""
    return rests_on is not None and rests_on.startswith(CredentialKind.TOKEN)


def accountable(credential_id: str, rests_on: str | None) -> str:
    """The id by which the audit log knows what rests on a token, on the setting, or on nothing."""
    if is_token_id(rests_on):
        return rests_on
    return SETTING_ID if rests_on is not None and rests_on.startswith(Came.SETTING) else credential_id


def digest_of(text: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be written down; without `lasts_s` it does not expire."""

    token_id: str
    digest: str = field(repr=False)
    name: str
    role: Role
    namespace: Namespace
    lasts_s: float | None = None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token, without what would let anybody in. `number` rises with each that is made."""

    number: int
    token_id: str
    name: str
    role: Role
    namespace: Namespace
    created_at: StoreTime
    created_by: str
    expires_at: StoreTime | None = None
    last_used_at: StoreTime | None = None
    """As of about a minute."""
    revoked_at: StoreTime | None = None
    rotated_from: str | None = None
    """The token in whose place this one came."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session to be opened; `opened_with` is the id of what was shown for it."""

    session_id: str
    digest: str = field(repr=False)
    name: str
    role: Role
    namespace: Namespace
    opened_with: str
    lasts_s: float


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Somebody who signed in with a browser."""

    number: int
    session_id: str
    name: str
    role: Role
    namespace: Namespace
    created_at: StoreTime
    expires_at: StoreTime
    last_used_at: StoreTime
    """As of about a minute."""
    opened_with: str
    """The id of the token, or of the link, that was shown for it."""
    ended_at: StoreTime | None = None
    rests_on: str | None = field(default=None, repr=False)
    """The token that was shown for it, or on whose authority the link was made; see `Principal`."""


@dataclass(frozen=True, slots=True)
class NewLink:
    """A sign-in link to be written down."""

    link_id: str
    digest: str = field(repr=False)
    name: str
    role: Role
    namespace: Namespace
    lasts_s: float
    rests_on: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A way in that can be used once; `session_id` is what became of it."""

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
    """What the store has under an id, and its time when it looked."""

    record: R
    digest: str = field(repr=False)
    now: StoreTime
