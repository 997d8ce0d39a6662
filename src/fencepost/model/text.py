"""Text from outside, made fit to be stored anywhere."""

from __future__ import annotations

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
RESULT_LENGTH_MAX = 60_000
"""At most this number of characters of a result is kept, and a note about the rest; the ledger has room for
more."""


def beginning(text: str, length_max: int = RESULT_LENGTH_MAX) -> str:
    """The whole text, or the part of its beginning that is kept, with a note."""
    if len(text) <= length_max:
        return text
    return f"{text[:length_max]}… ({len(text)} characters; the rest is not kept)"


def storable(text: str, length_max: int) -> str:
    """The end of a text, without characters that a store would refuse."""
    return cleaned(text[-length_max:])


def cleaned(text: str) -> str:
    """The text without NUL and without halves of surrogate pairs."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", REPLACEMENT).encode("utf-8", "replace").decode("utf-8")
