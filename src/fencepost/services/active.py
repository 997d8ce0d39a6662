"""The runs in progress, shared between the worker's loop and the heartbeat's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import Enum, auto

from fencepost.model.identifiers import Fence
from fencepost.model.run import Claim, Ticket
from fencepost.ports.run import Run


class StopCause(Enum):
    """Why an attempt was told to stop."""

    REQUESTED = auto()
    LOST = auto()
    SHUTDOWN = auto()


class ActiveRun:
    """One attempt in progress. `stop` may be called from any thread; the first cause counts."""

    __slots__ = ("_beats_left", "_loop", "_task", "cause", "claim", "run", "ticket")

    def __init__(self, claim: Claim, beats_max: int | None = None) -> None:
        self.claim = claim
        self._beats_left = beats_max
        self.ticket: Ticket = claim.ticket
        """What every report of this attempt must show."""
        self.run = Run(claim)
        self.cause: StopCause | None = None
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None

    @property
    def task(self) -> asyncio.Task[None]:
        """The attempt itself."""
        assert self._task is not None, "attached before it is shared"
        return self._task

    def attach(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def use_beat(self) -> bool:
        """Take one of the heartbeats that this attempt may still have; without a timeout it has enough."""
        if self._beats_left is None:
            return True
        self._beats_left -= 1
        return self._beats_left >= 0

    def stop(self, cause: StopCause) -> None:
        self._loop.call_soon_threadsafe(self._stop, cause)

    def _stop(self, cause: StopCause) -> None:
        if self.cause is None and self._task is not None and not self._task.done():
            self.cause = cause
            self.run.ask_to_stop()
            self._task.cancel()


class ActiveRuns:
    """All of this worker's attempts whose end the ledger has not confirmed yet, by fence."""

    def __init__(self) -> None:
        self._by_fence: dict[Fence, ActiveRun] = {}

    def __len__(self) -> int:
        return len(self._by_fence)

    def __iter__(self) -> Iterator[ActiveRun]:
        return iter(list(self._by_fence.values()))

    def add(self, active: ActiveRun) -> None:
        self._by_fence[active.claim.fence] = active

    def remove(self, ticket: Ticket) -> None:
        self._by_fence.pop(ticket.fence, None)

    def fences(self) -> list[Fence]:
        return list(self._by_fence)
