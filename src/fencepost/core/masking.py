"""Masking: what people are shown of a payload that may hold secrets.

The ledger keeps a payload as it was given, because the job needs it so; whoever looks sees `***` in the place
of what looks like a secret. A value is one where its name says so, whatever the name's case and separators,
or where its text shows it: the password of an address, a secret in its query, a bearer token. The shape of
the payload stays, so that two versions of it can be compared. Rather too much is masked than too little.
"""

from __future__ import annotations

import re

from fencepost.model.json import JsonObject, JsonValue

MASK = "***"
SECRET_WORDS = (
    *("password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey", "privatekey"),
    *("authorization", "credential", "cookie", "session", "signature"),
)

_SEPARATORS = re.compile(r"[^a-z0-9]")
_USERINFO = re.compile(r"([a-z][a-z0-9+.-]*://[^\s/?#:@]*):[^\s/?#]*@", re.IGNORECASE)
_BEARER = re.compile(r"\b(bearer|basic)\s+[a-z0-9._~+/=-]+", re.IGNORECASE)
_QUERY = re.compile(r"([?&;])([^\s=&;#?]+)=([^\s&;#]*)")


def masked(payload: JsonObject) -> JsonObject:
    """The payload as people may see it."""
    return {name: _masked(value, looks_secret(name)) for name, value in payload.items()}


def masked_text(text: str) -> str:
    """The text without the secrets that can be told by their form."""
    text = _USERINFO.sub(rf"\1:{MASK}@", text)
    text = _BEARER.sub(rf"\1 {MASK}", text)
    return _QUERY.sub(_masked_pair, text)


def looks_secret(name: str) -> bool:
    """Whether a value of this name is better not shown."""
    plain = _SEPARATORS.sub("", name.lower())
    return any(word in plain for word in SECRET_WORDS)


def _masked(value: JsonValue, secret: bool) -> JsonValue:
    match value:
        case dict():
            return {name: _masked(inner, secret or looks_secret(name)) for name, inner in value.items()}
        case list():
            return [_masked(inner, secret) for inner in value]
        case None | bool():
            return value
        case str() if not secret:
            return masked_text(value)
    return MASK if secret else value


def _masked_pair(found: re.Match[str]) -> str:
    before, name, value = found.groups()
    return f"{before}{name}={MASK if looks_secret(name) else value}"
