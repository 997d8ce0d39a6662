"""The provider, asked over HTTP: what it says of itself, its keys, and a token for a code.

Only addresses that the operator named, or that the document at the operator's address names, are asked; no
redirect is followed, and an answer is read up to a size and within a time. Addresses are `https`; `http` is
for a provider on this very host.

What it says of itself, and its keys, are kept for some minutes: a key that it has taken back is soon not
believed any more. Keys are asked for earlier when a token is signed by one that is not known, and no more
often than every few seconds.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote_plus, urlsplit

import aiohttp
import msgspec

from fencepost.clock import Clock
from fencepost.config import Settings
from fencepost.errors import RetryableFailure
from fencepost.model.claim_roles import claim_values
from fencepost.model.clocks import Monotonic, elapsed_s
from fencepost.model.dataclasses import dataclass
from fencepost.model.sign_in_provider import is_https_or_here
from fencepost.telemetry.secret_source import Source
from fencepost.telemetry.secrets import remember
from fencepost.web.auth.oidc.attempt import Attempt
from fencepost.web.auth.oidc.tokens import Expected, TokenRefused, UnknownKey, verified

WELL_KNOWN = "/.well-known/openid-configuration"
WITHIN_S = 5.0
BODY_BYTES_MAX = 512 * 1024
KNOWN_FOR_S = 600.0
KEYS_AGAIN_S = 10.0
KEYS_MAX = 100
TOLD_MAX = 200


class ProviderTrouble(Exception):
    """The provider cannot be reached, or is not set up as it has to be; the text has the remedy."""


class Metadata(msgspec.Struct, frozen=True):
    """What of the discovery document is used."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    code_challenge_methods_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool = False


class KeySet(msgspec.Struct, frozen=True):
    """What the provider signs with."""

    keys: tuple[dict[str, Any], ...]


class Tokens(msgspec.Struct, frozen=True):
    """What came for a code."""

    id_token: str
    access_token: str = ""


@dataclass(frozen=True)
class Answer:
    """What the provider said."""

    status: int
    body: bytes


class Provider:
    """The one that the settings name."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.issuer = settings.oidc_issuer
        self.host = urlsplit(settings.oidc_issuer).netloc
        self._settings = settings
        self._clock = clock
        self._metadata: Metadata | None = None
        self._metadata_at = Monotonic(0.0)
        self._keys: Sequence[Mapping[str, Any]] = ()
        self._keys_at: Monotonic | None = None

    @property
    def known(self) -> Metadata | None:
        """What is known of it, without asking."""
        return self._metadata

    async def metadata(self) -> Metadata:
        """What it says of itself. Raises `ProviderTrouble`."""
        now = self._clock.monotonic()
        if self._metadata is None or elapsed_s(self._metadata_at, now) > KNOWN_FOR_S:
            found = await self._document(f"{self.issuer.rstrip('/')}{WELL_KNOWN}", Metadata, "oidc_issuer")
            self._check(found)
            self._metadata, self._metadata_at = found, now
        return self._metadata

    async def person(self, code: str, attempt: Attempt, redirect_uri: str) -> dict[str, Any]:
        """What it says of the person whom the code stands for. Raises `ProviderTrouble`, `TokenRefused`."""
        metadata = await self.metadata()
        tokens = await self._exchange(metadata, code, attempt, redirect_uri)
        expected = Expected(self.issuer, self._settings.oidc_client_id, attempt.nonce)
        claims = await self._verified(metadata, tokens.id_token, expected)
        has_claim = claim_values(claims, self._settings.oidc_claim) is not None
        if has_claim or metadata.userinfo_endpoint is None or not tokens.access_token:
            return claims
        about = await self._userinfo(metadata.userinfo_endpoint, tokens.access_token)
        if about.get("sub") != claims["sub"]:
            raise TokenRefused("the provider's userinfo is about another person")
        return {**about, **claims}

    async def _verified(self, metadata: Metadata, token: str, expected: Expected) -> dict[str, Any]:
        """The claims; with newer keys where those that are known do not have the right one."""
        if self._keys_are_older(KNOWN_FOR_S):
            await self._load_keys(metadata)
        try:
            return verified(token, self._keys, expected)
        except UnknownKey:
            if not self._keys_are_older(KEYS_AGAIN_S):
                raise
        await self._load_keys(metadata)
        return verified(token, self._keys, expected)

    def _keys_are_older(self, age_s: float) -> bool:
        return self._keys_at is None or elapsed_s(self._keys_at, self._clock.monotonic()) > age_s

    async def _load_keys(self, metadata: Metadata) -> None:
        found = await self._document(metadata.jwks_uri, KeySet, "its jwks_uri")
        self._keys, self._keys_at = found.keys[:KEYS_MAX], self._clock.monotonic()

    async def _exchange(self, metadata: Metadata, code: str, attempt: Attempt, redirect_uri: str) -> Tokens:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
            "client_id": self._settings.oidc_client_id,
        }
        headers = self._show_client(metadata, form)
        answer = await self._ask("POST", metadata.token_endpoint, headers, form)
        if answer.status != 200:
            raise ProviderTrouble(self._told_of_refusal(answer))
        try:
            tokens = msgspec.json.decode(answer.body, type=Tokens)
        except msgspec.MsgspecError:
            raise ProviderTrouble(
                f"{self.host} answered the code without an ID token; allow the scope openid for this client"
            ) from None
        return tokens

    def _show_client(self, metadata: Metadata, form: dict[str, str]) -> dict[str, str]:
        """Who asks: with a secret where there is one, else by PKCE alone."""
        reference = self._settings.oidc_client_secret
        if not reference:
            return {}
        try:
            secret = Source(reference).read("oidc_client_secret")
        except RetryableFailure as error:
            raise ProviderTrouble(f"this server has no client secret to show: {error}") from None
        remember(secret)
        methods = metadata.token_endpoint_auth_methods_supported
        if "client_secret_basic" not in methods and "client_secret_post" in methods:
            form["client_secret"] = secret
            return {}
        shown = f"{quote_plus(self._settings.oidc_client_id)}:{quote_plus(secret)}"
        return {"Authorization": f"Basic {base64.b64encode(shown.encode()).decode()}"}

    async def _userinfo(self, address: str, access_token: str) -> dict[str, Any]:
        answer = await self._ask("GET", address, {"Authorization": f"Bearer {access_token}"})
        try:
            found = msgspec.json.decode(answer.body, type=dict[str, Any]) if answer.status == 200 else None
        except msgspec.MsgspecError:
            found = None
        if found is None:
            told = f"answered {answer.status} to the question who signed in; allow this client its userinfo"
            raise ProviderTrouble(f"{self.host} {told}")
        return found

    async def _document(self, address: str, kind: type[Any], named: str) -> Any:
        answer = await self._ask("GET", address)
        try:
            if answer.status != 200:
                raise ValueError(f"status {answer.status}")
            return msgspec.json.decode(answer.body, type=kind)
        except (ValueError, msgspec.MsgspecError) as error:
            told = f"{address} is not what an OpenID provider has there ({str(error)[:TOLD_MAX]})"
            raise ProviderTrouble(f"{told}; check {named}") from None

    def _check(self, found: Metadata) -> None:
        if found.issuer != self.issuer:
            told = f"{self.host} calls itself {found.issuer[:TOLD_MAX]!r}"
            raise ProviderTrouble(f"{told}; set oidc_issuer to exactly that, if it is the provider you mean")
        used = (found.authorization_endpoint, found.token_endpoint, found.jwks_uri)
        for address in (*used, found.userinfo_endpoint, found.end_session_endpoint):
            if address is not None and not is_https_or_here(address):
                raise ProviderTrouble(
                    f"{self.host} names {address[:TOLD_MAX]!r}; it must name https addresses"
                )
        methods = found.code_challenge_methods_supported
        if methods is not None and "S256" not in methods:
            raise ProviderTrouble(f"{self.host} does not know PKCE with S256; allow it for this client")

    def _told_of_refusal(self, answer: Answer) -> str:
        """What the provider says of a code that it does not take."""
        try:
            said = msgspec.json.decode(answer.body, type=dict[str, Any])
        except msgspec.MsgspecError:
            said = {}
        error = str(said.get("error") or f"status {answer.status}")[:TOLD_MAX]
        remedies = {
            "invalid_client": "check oidc_client_id and oidc_client_secret",
            "unauthorized_client": "allow the authorization code flow for this client",
            "invalid_grant": "begin again",
        }
        return f"{self.host} refused the code: {error}; {remedies.get(error, 'see the log of the provider')}"

    async def _ask(
        self, method: str, address: str, headers: Mapping[str, str] | None = None, form: Any = None
    ) -> Answer:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(WITHIN_S)) as session,
                session.request(
                    method,
                    address,
                    data=form,
                    headers={"Accept": "application/json", **(headers or {})},
                    allow_redirects=False,
                ) as answer,
            ):
                body = bytearray()
                async for part in answer.content.iter_chunked(64 * 1024):
                    body += part
                    if len(body) > BODY_BYTES_MAX:
                        raise ProviderTrouble(f"{self.host} answered more than {BODY_BYTES_MAX} bytes")
                return Answer(answer.status, bytes(body))
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            why = str(error)[:TOLD_MAX] or f"no answer within {WITHIN_S:g} s"
            told = f"the sign-in provider {self.host} cannot be reached: {why}"
            raise ProviderTrouble(f"{told}; check oidc_issuer, and the network of this server") from None
