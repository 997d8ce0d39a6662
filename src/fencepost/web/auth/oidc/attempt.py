"""One attempt to sign in, between leaving for the provider and coming back: a secret in a cookie.

The state, the nonce and the verifier of PKCE are each derived from it, so that none of them tells another.
The cookie is `Lax`: a browser shows it when it comes back from another site.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable

from fencepost.model.dataclasses import dataclass

COOKIE = "__Host-fencepost-oidc"
LASTS_S = 600
SECRET_BYTES = 32
ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax"
CLEARED = f"{COOKIE}=; Max-Age=0; {ATTRIBUTES}"
_VALUE = re.compile(r"([0-9a-f]{64})\.([A-Za-z0-9_-]*={0,2})")


@dataclass(frozen=True)
class Attempt:
    """The secret, and where to go afterwards."""

    secret: str
    there: str

    @property
    def state(self) -> str:
        return self._derived("state")

    @property
    def nonce(self) -> str:
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        """What only this server can show for the code."""
        return self._derived("verifier")

    @property
    def challenge(self) -> str:
        """What the provider is told of the verifier before: its digest (S256)."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    @property
    def cookie(self) -> str:
        there = base64.urlsafe_b64encode(self.there.encode()).decode()
        return f"{COOKIE}={self.secret}.{there}; Max-Age={LASTS_S}; {ATTRIBUTES}"

    def fits(self, state: str) -> bool:
        """Whether the state that came back is the one of this attempt."""
        return hmac.compare_digest(self.state.encode(), state.encode())

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def new_attempt(there: str, dice: Callable[[int], bytes]) -> Attempt:
    """An attempt that cannot be guessed."""
    return Attempt(dice(SECRET_BYTES).hex(), there)


def read_attempt(cookie: str | None) -> Attempt | None:
    """The attempt in a cookie; None where there is none."""
    found = _VALUE.fullmatch(cookie or "")
    if found is None:
        return None
    try:
        return Attempt(found[1], base64.urlsafe_b64decode(found[2]).decode())
    except (binascii.Error, UnicodeDecodeError):
        return None
