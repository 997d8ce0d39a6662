"""Whether an ID token is to be believed (OpenID Connect Core, 3.1.3.7).

The key comes from the provider's own key set and the algorithm from a list of ours: a token says of itself
only which key and which of them. No algorithm is on the list that needs no key, or one that both sides know.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from typing import Any

import jwt

from fencepost.model.dataclasses import dataclass

ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
LEEWAY_S = 30
SUBJECT_LENGTH_MAX = 255
TOKEN_LENGTH_MAX = 64 * 1024


class TokenRefused(Exception):
    """The text says why."""


class UnknownKey(TokenRefused):
    """The key set that is known has no such key; a newer one may have it."""


@dataclass(frozen=True)
class Expected:
    """What a token has to say."""

    issuer: str
    client_id: str
    nonce: str


def verified(token: str, keys: Sequence[Mapping[str, Any]], expected: Expected) -> dict[str, Any]:
    """What the token says of a person. Raises `TokenRefused`."""
    if len(token) > TOKEN_LENGTH_MAX:
        raise TokenRefused("the ID token is too long")
    try:
        header = jwt.get_unverified_header(token)
        algorithm = str(header.get("alg"))
        if algorithm not in ALGORITHMS:
            raise TokenRefused(f"the ID token is signed by {algorithm[:20]!r}, which is not accepted")
        key = jwt.PyJWK(dict(_key(header.get("kid"), algorithm, keys)), algorithm)
        claims = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=expected.client_id,
            issuer=expected.issuer,
            leeway=LEEWAY_S,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except jwt.PyJWTError as error:
        raise TokenRefused(f"the ID token is not good: {error}") from None
    _check_claims(claims, expected)
    return dict(claims)


def _key(kid: object, algorithm: str, keys: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The one key that the token can be signed by."""
    signing = [
        one for one in keys if one.get("use", "sig") == "sig" and one.get("alg", algorithm) == algorithm
    ]
    kinds = {"R": "RSA", "P": "RSA", "E": "OKP" if algorithm == "EdDSA" else "EC"}
    fitting = [one for one in signing if one.get("kty") == kinds[algorithm[0]]]
    named = [one for one in fitting if kid is None or one.get("kid") == kid]
    if len(named) != 1:
        told = (
            "names no key, and there are several" if kid is None and named else "is signed by an unknown key"
        )
        raise UnknownKey(f"the ID token {told}")
    return named[0]


def _check_claims(claims: Mapping[str, Any], expected: Expected) -> None:
    audience = claims["aud"]
    is_shared = isinstance(audience, list) and len(audience) > 1
    if (is_shared or "azp" in claims) and claims.get("azp") != expected.client_id:
        raise TokenRefused("the ID token is meant for another client")
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode(), expected.nonce.encode()):
        raise TokenRefused("the ID token answers another attempt to sign in: its nonce is not ours")
    subject = claims["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_LENGTH_MAX or not subject.isascii():
        raise TokenRefused(f"the ID token has no subject of up to {SUBJECT_LENGTH_MAX} ASCII characters")
