"""Columns of a batch as parameters: what says nothing is not sent.

The driver looks at every element of an array, which costs more than the server's work on it. A short array is
padded with NULL by `unnest`, so a column of nulls is sent as an empty array, and one whose values are all
alike as an array of one, which the statement reads by `coalesce(given.column, $n[1])`. Keys and JSON
never hold a raw control character: they are sent as one text, which the statement reads by `{split($n)}`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")
SEPARATOR = "\x1e"
"""As in `parts.sql`."""


def sparse(values: list[T | None]) -> list[T | None]:
    """The values; nothing where all of them are None."""
    return values if any(one is not None for one in values) else []


def joined(texts: Iterable[str]) -> str:
    """Keys, or payloads, as one text. A text with the separator in it is no key, and matches no run."""
    return SEPARATOR.join(one.replace(SEPARATOR, "\x1f") for one in texts)


def alike(values: list[T]) -> list[T]:
    """The values; only the first where all of them are equal to it."""
    return values if len(set(values)) > 1 else values[:1]
