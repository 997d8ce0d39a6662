"""Operations, called: in the store that a command was pointed at, or by a server that has one.

Both ways give the same answers and the same refusals, so a command does not know which one it took.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from fencepost.cli.options import Place
from fencepost.operations.operation import Operation
from fencepost.operations.paging import LIMIT_MAX

Q = TypeVar("Q", bound=Struct)
A = TypeVar("A", bound=Struct)
P = TypeVar("P", bound=Struct)
T = TypeVar("T")
ALL = 1_000_000
EVERYWHERE = "*"
CALLERS = {False: "fencepost.cli.local:LocalCaller", True: "fencepost.cli.remote:RemoteCaller"}
"""Loaded when one is chosen: one brings the stores, the other HTTP."""


class Caller(Protocol):
    """Whoever carries operations out."""

    def call(self, operation: Operation[Any, Q, A], request: Q) -> A:
        """Ask, and wait for the answer."""
        ...

    def close(self) -> None:
        """Give back what was opened."""
        ...


def call(place: Place, operation: Operation[Any, Q, A], request: Q) -> A:
    """One operation."""
    place, request = _parted(place, request)
    with calling(place) as caller:
        return caller.call(operation, request)


@contextmanager
def calling(place: Place) -> Iterator[Caller]:
    """For several operations, one after the other."""
    module, _, name = CALLERS[bool(place.server)].partition(":")
    caller: Caller = getattr(import_module(module), name)(place)
    try:
        yield caller
    finally:
        caller.close()


def pages(place: Place, operation: Operation[Any, Q, A], request: Q, limit: int) -> list[Any]:
    """The first `limit` items of a list, however many pages they take."""
    place, request = _parted(place, request)
    with calling(place) as caller:
        return every(caller, operation, request, limit)


def every(caller: Caller, operation: Operation[Any, Q, A], request: Q, limit: int = ALL) -> list[Any]:
    """The same of a caller; the limit and the cursor of each page are put into what is asked."""
    found: list[Any] = []
    after: str | None = request.after  # type: ignore[attr-defined]
    while len(found) < limit:
        most = min(limit - len(found), LIMIT_MAX)
        page: Any = caller.call(operation, replace(request, limit=most, after=after))
        found += page.items
        after = page.next
        if after is None:
            break
    return found


def whole(caller: Caller, operation: Operation[Any, Any, A], request: Callable[..., Any]) -> A:
    """A list that is not long: its first page, with the items of all that follow."""
    first: Any = caller.call(operation, request(limit=LIMIT_MAX))
    if first.next is not None:
        first.items += every(caller, operation, request(after=first.next))
    return cast("A", first)


def _parted(place: Place, request: Q) -> tuple[Place, Q]:
    """Where to act, and what is asked about the namespace that was named: nothing acts in `*`."""
    if "namespace" not in request.__struct_fields__:
        return place, request
    acts = None if place.namespace == EVERYWHERE else place.namespace
    return dataclasses.replace(place, namespace=acts), replace(request, namespace=place.namespace)
