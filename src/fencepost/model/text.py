"""Text from outside, made fit to be stored anywhere."""

from __future__ import annotations

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str, length_max: int) -> str:
    """The end of a text, without what a store would refuse."""
    return cleaned(text[-length_max:])


def cleaned(text: str) -> str:
    """The text without NUL and without halves of surrogate pairs."""
    return text.replace("\0", REPLACEMENT).encode("utf-8", "replace").decode("utf-8")
