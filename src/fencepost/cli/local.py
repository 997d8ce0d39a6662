"""Operations, carried out in this process, in the store that a command was pointed at."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from fencepost.cli.authors import this_author
from fencepost.cli.leases import leases_elsewhere
from fencepost.cli.options import Place
from fencepost.operations.control import Control
from fencepost.operations.operation import Operation
from fencepost.wiring import open_existing_store

Q = TypeVar("Q", bound=Struct)
A = TypeVar("A", bound=Struct)
T = TypeVar("T")


def ask(place: Place, question: Callable[[Control], Awaitable[T]]) -> T:
    """Open the store, ask one question, close it again. A store that is not there is not made."""
    return asyncio.run(_ask(place, question))


async def _ask(place: Place, question: Callable[[Control], Awaitable[T]]) -> T:
    control = await open_control(place)
    try:
        return await question(control)
    finally:
        await control.store.close()


class LocalCaller:
    """In this process, with the store opened for as long as it is needed."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._runner = asyncio.Runner()
        self._control: Control | None = None

    def call(self, operation: Operation[Any, Q, A], request: Q) -> A:
        """As `Caller`."""
        return self._runner.run(self._carry_out(operation, request))

    def close(self) -> None:
        """As `Caller`."""
        if self._control is not None:
            self._runner.run(self._control.store.close())
        self._runner.close()

    async def _carry_out(self, operation: Operation[Any, Q, A], request: Q) -> A:
        if self._control is None:
            self._control = await open_control(self._place)
        return await operation.carry_out(self._control, request)


async def open_control(place: Place) -> Control:
    """The verbs of the store that a command was pointed at; one that is not there is not made."""
    settings = place.settings()
    store = await open_existing_store(settings)
    try:
        leases = leases_elsewhere(settings, store)
    except BaseException:
        await store.close()
        raise
    return Control(store, settings.namespace, this_author(place.reason), leases, settings)
