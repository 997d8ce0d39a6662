"""The token of the setting, for those who have no store tokens yet."""

from __future__ import annotations

import hashlib
import hmac
from itertools import pairwise

from fencepost.errors import InvalidSettings

TOKEN_LENGTH_MIN = 32
STEPS_MIN = 9
"""A repeated word and a row of the alphabet have few different steps from one character to the next:
`password` has 8. Of 200,000 random texts of 32 hexadecimal digits none had fewer than 11."""
MAKE_ONE = 'export FENCEPOST_TOKEN="$(openssl rand -hex 32)"'


def checked_token(token: str) -> str:
    """The token, which is never shown in a refusal."""
    if not token:
        raise InvalidSettings(f"the web is closed without a token; make one: {MAKE_ONE}")
    if len(token) < TOKEN_LENGTH_MIN or not token.isascii() or not token.isprintable() or " " in token:
        expected = f"expected at least {TOKEN_LENGTH_MIN} printable ASCII characters without spaces"
        raise InvalidSettings(f"FENCEPOST_TOKEN: {expected}; make one: {MAKE_ONE}")
    if len({ord(after) - ord(before) for before, after in pairwise(token)}) < STEPS_MIN:
        raise InvalidSettings(f"FENCEPOST_TOKEN: it can be guessed, it repeats itself; make one: {MAKE_ONE}")
    return token


def mark_of(token: str) -> str:
    """The mark by which a session knows whether the token with which it was opened is still in force. It is
    no part of the digest by which the token itself is known."""
    return hmac.new(token.encode(), b"session", hashlib.sha256).hexdigest()[:16]
