"""Operations, called: in the store that a command was pointed at, or by a server that has one.

Both ways give the same answers and the same refusals, so a command does not know which one it took.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from msgspec import Struct

if TYPE_CHECKING:
    from fencepost.cli.options import Place
    from fencepost.operations.operation import Operation
    from fencepost.services.control import Control

Q = TypeVar("Q", bound=Struct)
A = TypeVar("A", bound=Struct)
P = TypeVar("P", bound=Struct)
T = TypeVar("T")


class Caller(Protocol):
    """Whoever carries operations out."""

    def call(self, operation: Operation[Any, Q, A], asked: Q) -> A:
        """Ask, and wait for the answer."""
        ...

    def close(self) -> None:
        """Give back what was opened."""
        ...


def call(place: Place, operation: Operation[Any, Q, A], asked: Q) -> A:
    """One operation."""
    with calling(place) as caller:
        return caller.call(operation, asked)


def ask(place: Place, question: Callable[[Control], Awaitable[T]]) -> T:
    """Open the store, ask one question, close it again. A store that is not there is not made."""
    import asyncio

    return asyncio.run(_ask(place, question))


async def _ask(place: Place, question: Callable[[Control], Awaitable[T]]) -> T:
    control = await open_control(place)
    try:
        return await question(control)
    finally:
        await control.store.close()


@contextmanager
def calling(place: Place) -> Iterator[Caller]:
    """For several operations, one after the other."""
    caller: Caller
    if place.server:
        from fencepost.cli.remote import RemoteCaller

        caller = RemoteCaller(place)
    else:
        caller = LocalCaller(place)
    try:
        yield caller
    finally:
        caller.close()


def pages(place: Place, operation: Operation[Any, Q, A], asked: Q, limit: int) -> list[Any]:
    """The first `limit` items of a list, however many pages they take; the limit and the cursor of each are
    put into what is asked."""
    from msgspec.structs import replace

    from fencepost.operations.paging import LIMIT_MAX

    found: list[Any] = []
    after: str | None = None
    with calling(place) as caller:
        while len(found) < limit:
            most = min(limit - len(found), LIMIT_MAX)
            page: Any = caller.call(operation, replace(asked, limit=most, after=after))
            found += page.items
            after = page.next
            if after is None:
                break
    return found


def whole(caller: Caller, operation: Operation[Any, Any, A], asked: Callable[..., Any]) -> A:
    """A list that is not long: its first page, with the items of all that follow."""
    from fencepost.operations.paging import LIMIT_MAX

    first: Any = caller.call(operation, asked(limit=LIMIT_MAX))
    after = first.next
    while after is not None:
        page: Any = caller.call(operation, asked(limit=LIMIT_MAX, after=after))
        first.items += page.items
        after = page.next
    return cast("A", first)


class LocalCaller:
    """In this process, with the store opened for as long as it is needed."""

    def __init__(self, place: Place) -> None:
        import asyncio

        self._place = place
        self._runner = asyncio.Runner()
        self._control: Control | None = None

    def call(self, operation: Operation[Any, Q, A], asked: Q) -> A:
        """As `Caller`."""
        return self._runner.run(self._carry_out(operation, asked))

    def close(self) -> None:
        """As `Caller`."""
        if self._control is not None:
            self._runner.run(self._control.store.close())
        self._runner.close()

    async def _carry_out(self, operation: Operation[Any, Q, A], asked: Q) -> A:
        if self._control is None:
            self._control = await open_control(self._place)
        return await operation.carry_out(self._control, asked)


async def open_control(place: Place) -> Control:
    """The verbs of the store that a command was pointed at; one that is not there is not made."""
    from fencepost.cli.authors import this_author
    from fencepost.cli.leases import leases_elsewhere
    from fencepost.services.control import Control
    from fencepost.wiring import open_existing_store

    settings = place.settings()
    store = await open_existing_store(settings)
    try:
        leases = leases_elsewhere(settings, store)
    except BaseException:
        await store.close()
        raise
    return Control(store, settings.namespace, this_author(place.reason), leases, settings)
