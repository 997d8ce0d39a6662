"""Statements of a job in `run.transaction()`, in one form for every store: `%s` and `%(name)s`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fencepost.errors import UsageError
from fencepost.ports.transactions import Parameters

_MARK = re.compile(r"%(?:\((?P<name>\w+)\)s|(?P<place>s)|(?P<literal>%)|(?P<other>.?))", re.DOTALL)
REMEMBERED_MAX = 512


def bound(statement: str, parameters: Parameters, mark: Callable[[int], str]) -> tuple[str, list[Any]]:
    """The statement with the store's own marks, `mark(1)` first, and the values in their order."""
    if not parameters:
        return statement, []
    by_name = isinstance(parameters, Mapping)
    text, names = _marked(statement, by_name, mark)
    if isinstance(parameters, Mapping):
        return text, [_named(parameters, name) for name in names]
    if len(names) != len(parameters):
        raise UsageError(f"statement: {len(names)} places for {len(parameters)} parameters")
    return text, list(parameters)


@lru_cache(REMEMBERED_MAX)
def _marked(statement: str, by_name: bool, mark: Callable[[int], str]) -> tuple[str, Sequence[str]]:
    names: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        if found["literal"]:
            return "%"
        name = found["name"] if by_name else found["place"]
        if name is None:
            raise UsageError(
                f"statement: {found[0]!r}: expected {'%(name)s' if by_name else '%s'}, or %% for a %"
            )
        names.append(name)
        return mark(len(names))

    return _MARK.sub(replaced, statement), tuple(names)


def _named(parameters: Mapping[str, Any], name: str) -> Any:
    if name not in parameters:
        raise UsageError(f"statement: no parameter {name!r} was given")
    return parameters[name]
