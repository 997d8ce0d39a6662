"""Numbers as the long runs take them on their command lines: more than nothing, or one clear line."""

from __future__ import annotations

from argparse import ArgumentTypeError


def count(text: str) -> int:
    """A whole number, at least 1."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r}: expected a whole number, 1 or more")
    return number


def span(text: str) -> float:
    """A length of time, more than 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ArgumentTypeError(f"{text!r}: expected a number above 0")
    return number
