"""What a PromQL expression speaks of: metrics with the labels that it asks them for."""

from __future__ import annotations

import re
from typing import NamedTuple

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"\{([^}]*)\}")
_RANGE = re.compile(r"\[[^\]]*\]")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_WORDS = frozenset({"and", "or", "unless", "by", "without", "on", "ignoring", "bool", "offset", "inf", "nan"})


class Spoken(NamedTuple):
    """The metrics of an expression, and every label that it matches or groups by."""

    metrics: frozenset[str]
    labels: frozenset[str]


def spoken(expression: str) -> Spoken:
    """Read one expression; names that are followed by a bracket are functions."""
    bare = _RANGE.sub("", _STRING.sub('""', expression))
    grouped = [label for inner in _GROUPING.findall(bare) for label in _NAME.findall(inner)]
    matched = [label for inner in _SELECTOR.findall(bare) for label in _NAME.findall(inner)]
    rest = _SELECTOR.sub("", _GROUPING.sub("", bare))
    names = {
        found.group()
        for found in _NAME.finditer(rest)
        if not rest[found.end() :].lstrip().startswith("(") and found.group().lower() not in _WORDS
    }
    return Spoken(frozenset(names), frozenset(grouped + matched))
