"""Coroutines that never wait, driven to their end without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
U = TypeVar("U")


def finish_now(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that only makes blocking calls, and so never suspends."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise AssertionError("a coroutine over a driver that blocks must not suspend")


class Finished(Coroutine[Any, Any, T]):
    """The result of work that is done already; it may be awaited now, later or never."""

    def __init__(self, result: T) -> None:
        self.result = result

    def send(self, value: Any, /) -> NoReturn:
        raise StopIteration(self.result)

    def throw(self, *error: Any) -> NoReturn:
        raise error[0]

    def close(self) -> None:
        return None

    def __await__(self) -> Generator[Any, Any, T]:
        yield from ()
        return self.result


def then(work: Coroutine[Any, Any, T], make: Callable[[T], U]) -> Coroutine[Any, Any, U]:
    """The result, passed through `make`; done already where the work is."""
    return Finished(make(work.result)) if isinstance(work, Finished) else _then(work, make)


async def _then(work: Coroutine[Any, Any, T], make: Callable[[T], U]) -> U:
    return make(await work)
