"""Signing in at the provider: where a browser is sent, and who it is that comes back."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from math import ceil
from typing import Any
from urllib.parse import urlencode

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.core.access import reserved_name
from fencepost.model.claim_roles import claim_values, parse_claim_role, role_by_claim
from fencepost.telemetry.logs import Log
from fencepost.web.auth.limits import Limiter, network_of
from fencepost.web.auth.oidc.attempt import Attempt, new_attempt, read_attempt
from fencepost.web.auth.oidc.provider import Provider, ProviderTrouble
from fencepost.web.auth.oidc.tokens import TokenRefused
from fencepost.web.auth.people import Person, SignInRefused, SignInTrouble
from fencepost.web.lanes import without_turn

ASKED_AT_ONCE_MAX = 8
CODE_LENGTH_MAX = 4_096
CODES_PER_S = 1.0
CODES_BURST = 60.0
"""Of one address. The provider counts wrong codes as this server's."""
NAME_LENGTH_MAX = 200
NAME_CLAIMS = ("preferred_username", "email", "name")
NO_ATTEMPT = "this browser has begun no sign-in, or too long ago; begin again"


class Flow:
    """The way to the provider and back."""

    def __init__(
        self, settings: Settings, clock: Clock, dice: Callable[[int], bytes] = secrets.token_bytes
    ) -> None:
        self.provider = Provider(settings, clock)
        self._settings = settings
        self._rules = [parse_claim_role(one) for one in settings.oidc_roles]
        self._dice = dice
        self._codes = Limiter(clock, CODES_PER_S, CODES_BURST)
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE_MAX)
        self._log = Log("web.door")

    async def begin(self, there: str, redirect_uri: str) -> tuple[str, str]:
        """The address at the provider, and the cookie of the attempt. Raises `SignInTrouble`."""
        attempt = new_attempt(there, self._dice)
        async with self._asked():
            metadata = await self.provider.metadata()
        asked = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(self._settings.oidc_scopes),
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        mark = "&" if "?" in metadata.authorization_endpoint else "?"
        return f"{metadata.authorization_endpoint}{mark}{urlencode(asked)}", attempt.cookie

    async def end(
        self, asked: Mapping[str, str], cookie: str | None, redirect_uri: str, client: str
    ) -> Person:
        """Who came back, with where they want to go. Raises `SignInRefused`, `SignInTrouble`."""
        attempt = read_attempt(cookie)
        if attempt is None or not attempt.fits(asked.get("state", "")):
            raise SignInRefused(NO_ATTEMPT)
        if "error" in asked:
            told = " ".join(asked["error"].split())[:NAME_LENGTH_MAX]
            raise SignInRefused(f"{self.provider.host} did not sign you in: {told}")
        code = asked.get("code", "")
        if not 0 < len(code) <= CODE_LENGTH_MAX:
            raise SignInRefused(f"{self.provider.host} sent no code; begin again")
        wait_s = self._codes.take(network_of(client))
        if wait_s:
            told = f"too many have come back from {self.provider.host} to your address"
            raise SignInRefused(f"{told}; begin again in {ceil(wait_s)} s")
        async with self._asked():
            self._check_sender(await self.provider.metadata(), asked.get("iss"))
            claims = await self.provider.person(code, attempt, redirect_uri)
        return self._person(claims, attempt)

    def sign_out_address(self, back: str) -> str | None:
        """Where the session at the provider ends; None where it is not known to have such a page."""
        known = self.provider.known
        if known is None or known.end_session_endpoint is None:
            return None
        asked = {"client_id": self._settings.oidc_client_id, "post_logout_redirect_uri": back}
        mark = "&" if "?" in known.end_session_endpoint else "?"
        return f"{known.end_session_endpoint}{mark}{urlencode(asked)}"

    def _check_sender(self, metadata: Any, issuer: str | None) -> None:
        """Whether the provider that answers is the one that was asked (RFC 9207)."""
        is_told = metadata.authorization_response_iss_parameter_supported
        if (issuer is not None or is_told) and issuer != self.provider.issuer:
            raise SignInRefused("another provider has answered; begin again")

    def _person(self, claims: Mapping[str, Any], attempt: Attempt) -> Person:
        known_by = f"oidc:{claims['sub']}@{self.provider.host}"
        given = next((one for name in NAME_CLAIMS if isinstance(one := claims.get(name), str) and one), "")
        name = " ".join(given.split())[:NAME_LENGTH_MAX]
        label = name if name.isprintable() and name and reserved_name(name) is None else known_by
        claim = self._settings.oidc_claim
        values = claim_values(claims, claim)
        rule = role_by_claim(self._rules, values or ())
        if rule is None:
            why = f"has no claim {claim}" if values is None else f"has no value of {claim} with a role"
            self._log.warning("signed in at the provider, without a role", who=known_by, why=why)
            remedy = "ask an administrator for one of the groups in oidc_roles"
            raise SignInRefused(f"you signed in as {label}, who {why}; {remedy}")
        return Person(label, rule.role, rule.namespace, known_by, attempt.there)

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[None]:
        """While the provider is asked: others take the turn of this request meanwhile."""
        try:
            async with without_turn(), self._asking:
                yield
        except ProviderTrouble as error:
            self._log.warning("sign-in at the provider failed", error=str(error))
            raise SignInTrouble(str(error)) from None
        except TokenRefused as error:
            self._log.warning("an ID token was refused", error=str(error))
            raise SignInRefused(f"{error}; begin again") from None
