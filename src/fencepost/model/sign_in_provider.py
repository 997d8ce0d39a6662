"""What the settings say of the OpenID provider that people sign in at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from fencepost.errors import InvalidSpec
from fencepost.model.claim_roles import parse_claim_role
from fencepost.model.secret import is_reference

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def provider_faults(
    issuer: str, client_id: str, client_secret: str, scopes: Sequence[str], claim: str, roles: Sequence[str]
) -> Iterator[str]:
    """What is wrong with these settings, and what was expected."""
    if client_secret and not is_reference(client_secret):
        # What stands there instead may be the secret itself.
        yield "oidc_client_secret: expected where it is kept, env:NAME or file:/path, not the secret"
    for text in roles:
        try:
            parse_claim_role(text)
        except (ValueError, InvalidSpec) as error:
            yield f"oidc_roles {text!r}: {error}"
    if not issuer:
        return
    if not is_https_or_here(issuer):
        yield f"oidc_issuer {issuer!r}: expected an https address, as in https://login.example.org"
    given = {"client_id": client_id, "claim": claim, "roles": roles}
    examples = {"client_id": "fencepost", "claim": "groups", "roles": "admins=admin"}
    for name in (one for one, value in given.items() if not value):
        yield f"oidc_{name}: needed with oidc_issuer, as in {examples[name]}"
    if "openid" not in scopes:
        yield "oidc_scopes: openid must be among them"


def is_https_or_here(address: str) -> bool:
    """Whether what is sent to the address cannot be read on the way: it is an https address without
    credentials, or an http address of this very host."""
    try:
        parts = urlsplit(address)
        is_here = parts.scheme == "http" and parts.hostname in LOOPBACK
    except ValueError:
        return False
    return bool(parts.hostname) and (parts.scheme == "https" or is_here) and "@" not in parts.netloc
