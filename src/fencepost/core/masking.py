"""Masking: what people are shown of a payload that may hold secrets.

The ledger keeps a payload as it was given, because the job needs it so. Readers see `***` in the place of
what looks like a secret (`model.masking`). The shape of the payload stays, so that two versions of it can
be compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.json import JsonObject, JsonValue
from fencepost.model.masking import looks_secret as looks_secret
from fencepost.model.masking import masked_text as masked_text
from fencepost.model.secret import MASK as MASK

SECRET = "s3cretS3cret9"
"""A value that `masked_text` hides wherever it would hide a secret."""


def masked(payload: JsonObject) -> JsonObject:
    """The payload as people may see it."""
    return {name: _masked(value, looks_secret(name)) for name, value in payload.items()}


def unmasked(shown: JsonObject, kept: JsonObject) -> JsonObject:
    """A payload that was shown and then changed, with the kept value in the place of each masked one."""
    return {name: _unmasked(value, kept.get(name), looks_secret(name)) for name, value in shown.items()}


def is_masked(value: JsonValue) -> bool:
    """Whether `***` stands where a secret would be hidden; stars that a person wrote hide nothing."""
    match value:
        case dict():
            return any(map(is_masked, value.values()))
        case list():
            return any(map(is_masked, value))
        case str():
            return value == MASK or any(masked_text(text) == value for text in _filled(value))
    return False


def _filled(text: str) -> Iterator[str]:
    """The text with a secret in the place of each `***` in turn."""
    place = text.find(MASK)
    while place >= 0:
        yield f"{text[:place]}{SECRET}{text[place + len(MASK) :]}"
        place = text.find(MASK, place + 1)


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


def _unmasked(shown: JsonValue, kept: JsonValue, secret: bool) -> JsonValue:
    match shown, kept:
        case dict(), dict():
            return {
                name: _unmasked(value, kept.get(name), secret or looks_secret(name))
                for name, value in shown.items()
            }
        case list(), list() if len(shown) == len(kept):
            return [_unmasked(one, was, secret) for one, was in zip(shown, kept, strict=True)]
        case str(), str() | int() | float() if MASK in shown and shown == _masked(kept, secret):
            return kept
    return shown
