"""The loop of a world: virtual time, many processes, one order drawn from the seed.

Every callback belongs to the process in whose context it was made. A frozen process runs none of its
callbacks, not even the timers that come due: they run late, when it is thawed, just as after a SIGSTOP. A
killed process is one that is never thawed, so not a single line of its clean-up runs while the world lasts.
Within one process callbacks keep their order, as asyncio promises; between processes the dice decide.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.virtual_loop import Deadlock, VirtualLoop

T = TypeVar("T")

RESOLUTION_S = 1e-6
"""No timer is sooner than that, so that whoever waits for less and less comes to an end of it."""


class Life:
    """One process from its start to its end, as the loop sees it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.frozen = False
        self.dead = False
        self.held: list[asyncio.Handle] = []


LIFE: contextvars.ContextVar[Life | None] = contextvars.ContextVar("LIFE", default=None)


def context_of(life: Life | None) -> contextvars.Context:
    """A context whose callbacks belong to that process; to nobody: to the world itself."""
    context = contextvars.copy_context()
    context.run(LIFE.set, life)
    return context


class WorldLoop(VirtualLoop):
    """See the module."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_made = 0
        self.steps = 0

    def freeze(self, life: Life) -> None:
        life.frozen = True

    def thaw(self, life: Life) -> None:
        """It goes on where it was. A real loop that wakes up late finds answers and timers at once, and may
        run a timer before whoever waits for the answer."""
        life.frozen = False
        if self._dice.random() < 0.5:
            life.held.sort(key=lambda one: not isinstance(one, asyncio.TimerHandle))
        self._ready.extend(life.held)
        life.held = []

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        when = max(when, self._now_s + RESOLUTION_S)
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers_made += 1
        heapq.heappush(self._timers, (when, self._timers_made, handle))
        return handle

    def _run_once(self) -> None:
        """One round: what is due, in an order of the dice, except for what is frozen."""
        ready: deque[Any] = self._ready  # type: ignore[has-type]
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        if not ready:
            if not timers:
                raise Deadlock("nothing is ready and no timer is set")
            self._now_s = max(timers[0][0], self._now_s)
        while timers and timers[0][0] <= self._now_s:
            ready.append(heapq.heappop(timers)[2])
        self._ready = deque[Any]()
        self.steps += len(ready)
        for handle in self._shuffled(ready) if len(ready) > 1 else ready:
            if not handle._cancelled:
                life = handle._context.get(LIFE)
                if life is not None and life.frozen:
                    life.held.append(handle)
                else:
                    handle._run()

    def _shuffled(self, batch: deque[Any]) -> list[Any]:
        """The callbacks of each process in their order, the processes in any."""
        queues: dict[Life | None, deque[Any]] = {}
        turns = [handle._context.get(LIFE) for handle in batch]
        for life, handle in zip(turns, batch, strict=True):
            queues.setdefault(life, deque()).append(handle)
        if len(queues) > 1:
            self._dice.shuffle(turns)
        return [queues[life].popleft() for life in turns]

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays where it is until its time has come; there are never many of them."""


def run_world(main: Coroutine[Any, Any, T], dice: random.Random) -> T:
    """Run a world to its end. Whoever is still about then is its own to bury; a world that fails buries
    nobody, and what it leaves is collected in silence, maybe inside the next world."""
    loop = WorldLoop(dice)
    try:
        return loop.run_until_complete(main)
    except BaseException:
        loop.set_exception_handler(lambda loop, context: None)
        raise
    finally:
        loop.close()


def the_loop() -> WorldLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WorldLoop)
    return loop
