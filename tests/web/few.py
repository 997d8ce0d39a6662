"""A server that has little time for searches for fire times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fencepost.services.aside import Thinkers

T = TypeVar("T")

FULL = "too many searches for fire times wait"


class Few(Thinkers):
    """A thinker for so many thoughts, and then none."""

    def __init__(self, thoughts: int) -> None:
        super().__init__(threads=1)
        self._full = Thinkers(threads=1, waiting_max=-1)
        self.left = thoughts

    async def __call__(self, work: Callable[[], T]) -> T:
        if not self.left:
            return await self._full(work)
        self.left -= 1
        return await super().__call__(work)
