"""Text from outside, made fit to be stored anywhere."""

from __future__ import annotations

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str, length_max: int) -> str:
    """The end of a text, without what a store would refuse: NUL and halves of surrogate pairs."""
    tail = text[-length_max:].replace("\0", REPLACEMENT)
    return tail.encode("utf-8", "replace").decode("utf-8")
