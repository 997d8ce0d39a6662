"""Who is there, as the host says it.

The host is asked at each request. Its answer is good for that request, and for a live stream as long as the
stream lasts. Programs may show tokens of the store here too; a token is judged by itself, whatever the host
says of the request.

A browser sends the host's cookie with requests that other sites make too. So forms carry a secret that is
made of a cookie of our own, `fencepost_forms`, which no script can read. It is good for one user, and
nothing is kept of it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

from litestar.types import HTTPScope, Scope

from fencepost.core.access import reserved_name
from fencepost.errors import UsageError
from fencepost.model.access import EVERYWHERE, Came, Principal, Role, digest_of, read_credential
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import Namespace, checked_name
from fencepost.web.auth.doorkeeper import Admitted, Doorkeeper, Refused
from fencepost.web.auth.reading import bearer, cookie_value, headers

VISITOR = "visitor"
FORMS_COOKIE = "fencepost_forms"
FORMS_VALUE = re.compile(r"[0-9a-f]{64}")
NAME_LENGTH_MAX = 200
ROLES = (Role.VIEWER, Role.OPERATOR, Role.ADMIN)


@dataclass(frozen=True)
class User:
    """A user of the host: what the audit log calls them, and what they may do. Without a role they see
    nothing."""

    name: str
    role: str | None
    """`viewer`, `operator`, `admin` or None."""
    namespace: str = EVERYWHERE
    """Where they may act; `*`: everywhere."""

    def __post_init__(self) -> None:
        if self.role is not None and self.role not in ROLES:
            raise UsageError(f"User: role {self.role!r}: expected one of {', '.join(ROLES)}, or None")
        if self.namespace != EVERYWHERE:
            checked_name("namespace", self.namespace)
        if not self.name.strip() or not self.name.isprintable() or len(self.name) > NAME_LENGTH_MAX:
            told = f"expected up to {NAME_LENGTH_MAX} characters that can be printed"
            raise UsageError(f"User: name {self.name[:NAME_LENGTH_MAX]!r}: {told}")

    def principal(self) -> Principal:
        """The same for the parts inside."""
        assert self.role is not None, "who has no role is sent away before"
        known_by = f"{Came.HOST}:{self.name}"
        label = self.name if reserved_name(self.name) is None else known_by
        return Principal(label, Role(self.role), Namespace(self.namespace), Came.HOST, known_by)


Authorize: TypeAlias = Callable[[Any], User | Awaitable[User | None] | None]
"""What the host says of a request, by its ASGI scope; None where it knows no user."""


@dataclass(frozen=True)
class Visitor:
    """A user, with what their forms carry and the cookie that it is made of."""

    user: User
    csrf: str
    new_cookie: str | None
    """The cookie to be set where the browser had none."""


async def visitor_of(authorize: Authorize, scope: HTTPScope, root: str) -> Visitor | None:
    """Ask the host. What it raises is its own to answer."""
    said = authorize(scope)
    user = await said if isawaitable(said) else said
    if user is None:
        return None
    if not isinstance(user, User):
        raise UsageError(f"authorize answered {type(user).__name__}: expected User(name, role) or None")
    value, cookie = cookie_value(scope, FORMS_COOKIE) or "", None
    if not FORMS_VALUE.fullmatch(value):
        value = secrets.token_hex(32)
        secure = "; Secure" if scope["scheme"] == "https" else ""
        cookie = f"{FORMS_COOKIE}={value}; Path={root or '/'}; HttpOnly; SameSite=Lax{secure}"
    csrf = hmac.new(value.encode(), user.name.encode(), hashlib.sha256).hexdigest()
    return Visitor(user, csrf, cookie)


def shows_token(scope: Scope, setting: str) -> bool:
    """Whether the request shows a token of ours, and not one that is meant for the host."""
    shown = bearer(scope)
    is_setting = bool(setting) and hmac.compare_digest(digest_of(shown), digest_of(setting))
    return is_setting or read_credential(shown) is not None


class HostDoorkeeper(Doorkeeper):
    """Lets in whom the host has named, and programs with a token."""

    signs_in = False

    async def admit(self, scope: Scope) -> Admitted | Refused:
        """Judge a request by what it shows."""
        visitor = scope["state"].get(VISITOR)
        if isinstance(visitor, Visitor):
            return Admitted(visitor.user.principal(), visitor.csrf)
        return await super().admit(scope) if headers(scope, b"authorization") else Refused()

    async def still_good(self, principal: Principal) -> bool:
        """A user of the host may stay as long as the stream lasts."""
        return principal.came is Came.HOST or await super().still_good(principal)

    async def still_good_of(self, principals: Sequence[Principal]) -> frozenset[str]:
        """The same of many."""
        guests = frozenset(one.credential_id for one in principals if one.came is Came.HOST)
        others = [one for one in principals if one.came is not Came.HOST]
        return guests | await super().still_good_of(others)
