"""A lane: how many requests of one kind are worked on at once, and in which order.

A request waits for its turn, works, and gives it back. While it waits for a search for fire times
(`services/offload.py`) it gives its turn to others (`off_turn`), and comes back before those that wait.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TypeVar

from fencepost.services.offload import Offload

T = TypeVar("T")

WAITING_MAX = 200
"""The limit of each lane."""


class Turn:
    """The place of one request: it waits, is at work, is away for a while, or is over. `come` is done once it
    is its turn."""

    def __init__(self, lane: Lane, who: str) -> None:
        self.come: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.who = who
        self._lane = lane
        self._has_place = True
        self._away = 0
        self._is_over = False

    def end(self) -> None:
        """Give the turn back, or the place in the queue; may be called more than once."""
        self._is_over = True
        self._release()

    def leave(self) -> None:
        """Give the turn to others, until as many have come `back` as left."""
        self._away += 1
        if self.come.done():
            self._release()

    async def back(self) -> None:
        """Take the turn again, before all that wait."""
        self._away -= 1
        if self._away or self._is_over:
            return
        if not self._has_place:
            self.come = asyncio.get_running_loop().create_future()
            self._has_place = True
            self._lane.enter_first(self)
        await asyncio.wait({self.come})

    def _release(self) -> None:
        if self._has_place:
            self._has_place = False
            self._lane.let_go(self)


current_turn: ContextVar[Turn | None] = ContextVar("fencepost_turn", default=None)


def off_turn(offload: Offload) -> Offload:
    """The same search, but the request that waits for it holds no turn meanwhile. A cancelled request is
    over, and waits for nothing."""

    async def waiting(work: Callable[[], T]) -> T:
        turn = current_turn.get()
        if turn is None:
            return await offload(work)
        turn.leave()
        try:
            found = await offload(work)
        except Exception:
            await turn.back()
            raise
        await turn.back()
        return found

    return waiting


@asynccontextmanager
async def without_turn() -> AsyncIterator[None]:
    """While another server is waited for: the request holds no turn, and takes it again afterwards."""
    turn = current_turn.get()
    if turn is None:
        yield
        return
    turn.leave()
    try:
        yield
    finally:
        await turn.back()


class Lane:
    """A limit of requests at work and one of those that wait, in order, and of both a limit for each
    caller."""

    def __init__(
        self,
        at_once_max: int,
        waiting_max: int = WAITING_MAX,
        each_max: int = WAITING_MAX,
        at_once_each_max: int | None = None,
    ) -> None:
        self._free = at_once_max
        self._waiting_max = waiting_max
        self._each_max = each_max
        self._at_once_each_max = at_once_each_max or at_once_max
        self._at_work_of: Counter[str] = Counter()
        self._waiting: deque[Turn] = deque()
        self._waiting_of: Counter[str] = Counter()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def join(self, who: str) -> Turn | None:
        """A turn, at once or later; None where too many wait already."""
        turn = Turn(self, who)
        if self._may_work(turn):
            self._begin(turn)
        elif len(self._waiting) < self._waiting_max and self._waiting_of[who] < self._each_max:
            self._waiting.append(turn)
            self._waiting_of[who] += 1
        else:
            return None
        return turn

    def enter_first(self, turn: Turn) -> None:
        """A request that was admitted before; it waits again where it must."""
        if self._may_work(turn):
            self._begin(turn)
        else:
            self._waiting.appendleft(turn)
            self._waiting_of[turn.who] += 1

    def let_go(self, turn: Turn) -> None:
        """Give the turn to the request that has waited longest and whose caller may have one more."""
        if not turn.come.done():
            self._waiting.remove(turn)
            _count_out(self._waiting_of, turn)
            return
        self._free += 1
        _count_out(self._at_work_of, turn)
        for longest in self._waiting:
            if self._may_work(longest):
                self._waiting.remove(longest)
                _count_out(self._waiting_of, longest)
                self._begin(longest)
                return

    def _may_work(self, turn: Turn) -> bool:
        return self._free > 0 and self._at_work_of[turn.who] < self._at_once_each_max

    def _begin(self, turn: Turn) -> None:
        self._free -= 1
        self._at_work_of[turn.who] += 1
        turn.come.set_result(None)


def _count_out(counts: Counter[str], turn: Turn) -> None:
    """Callers without a request are forgotten."""
    counts[turn.who] -= 1
    if not counts[turn.who]:
        del counts[turn.who]
