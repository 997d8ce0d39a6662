"""The runs in progress, shared between the worker's loop and the heartbeat's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from fencepost.model.identifiers import Fence
from fencepost.model.run import Claim, Ticket
from fencepost.ports.run import Run
from fencepost.services.run_context import LedgerRunContext, Settlement
from fencepost.services.run_log import RUN_LOG_MAX, RunLog
from fencepost.telemetry import traces

WAITING_BEATS_MAX = 3


class StopCause(Enum):
    """Why an attempt was told to stop."""

    REQUESTED = auto()
    LOST = auto()
    SHUTDOWN = auto()


class ActiveRun:
    """One attempt in progress. `stop` may be called from any thread; the first cause counts."""

    __slots__ = (
        *("_beats_left", "_loop", "_marks_seen", "_quiet_beats_left", "_quiet_beats_max", "_task"),
        *("_waiting_beats_left", "cause", "claim", "is_adopted", "is_given_back", "is_waiting"),
        *("is_under_way", "log", "run_context", "run", "ticket", "took_s", "trace"),
    )

    def __init__(
        self,
        claim: Claim,
        beats_max: int | None = None,
        quiet_beats_max: int | None = None,
        log_max: int = RUN_LOG_MAX,
        run_context: LedgerRunContext | None = None,
    ) -> None:
        self.claim = claim
        self._beats_left = beats_max
        self._quiet_beats_left = self._quiet_beats_max = quiet_beats_max
        self._marks_seen = 0
        self.ticket: Ticket = claim.ticket if run_context is None else run_context.ticket
        """What every report of this attempt must show."""
        self.log = RunLog(self.ticket, log_max)
        """The log of the attempt."""
        self.run_context = run_context
        self.run = Run(claim, run_context, keep=self.log.write)
        self.cause: StopCause | None = None
        self.is_waiting = False
        """Whether it is a claim that waits for room."""
        self._waiting_beats_left = WAITING_BEATS_MAX
        self.is_adopted = False
        """Whether it was found to be ours after the answer to its claim was lost."""
        self.is_given_back = False
        """Whether it was handed back to the ledger before it began."""
        self.is_under_way = False
        """Whether its task has made its first step. Before that a stop only leaves its cause: a task that is
        cancelled before its first step would never report how it ended."""
        self.took_s: float | None = None
        """How long the work took, once it has ended."""
        self.trace = traces.UNTRACED
        """The trace that it leaves for those who follow its run through the fleet."""
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None

    @property
    def task(self) -> asyncio.Task[None]:
        """The attempt itself."""
        assert self._task is not None, "it has begun"
        return self._task

    @property
    def has_begun(self) -> bool:
        """Whether it is more than a claim that waits for room."""
        return self._task is not None

    def attach(self, task: asyncio.Task[None]) -> None:
        self._task, self.is_waiting = task, False

    def begin(self) -> bool:
        """The first step of its task; False where a stop came before it."""
        self.is_under_way = self.cause is None
        return self.is_under_way

    @property
    def settlement(self) -> Settlement:
        """Whether the worker or a transaction decides that it succeeded."""
        return Settlement.OPEN if self.run_context is None else self.run_context.settlement

    @property
    def has_ended(self) -> bool:
        """Whether the work is over; its report may still be on its way."""
        return self.is_given_back if self._task is None else self._task.done()

    def use_beat(self) -> bool:
        """Take one of the heartbeats that this attempt may still have. Without a timeout and a progress
        deadline there is no limit. Work that waits for a child process uses none. A claim that waits for room
        has few: if they run out, the worker's loop stands still."""
        if self.is_waiting:
            self._waiting_beats_left -= 1
            return self._waiting_beats_left >= 0
        if not self.run.begun.is_set() and not self.has_ended:
            return True
        gets_on = self._use_quiet_beat()
        if self._beats_left is None:
            return gets_on
        self._beats_left -= 1
        return self._beats_left >= 0 and gets_on

    def _use_quiet_beat(self) -> bool:
        """Each sign of progress renews all of them; work that is over needs none."""
        if self._quiet_beats_left is None or self._quiet_beats_max is None or self.has_ended:
            return True
        if self.run.marks != self._marks_seen:
            self._marks_seen, self._quiet_beats_left = self.run.marks, self._quiet_beats_max
        self._quiet_beats_left -= 1
        return self._quiet_beats_left >= 0

    def stop(self, cause: StopCause) -> None:
        self._loop.call_soon_threadsafe(self._stop, cause)

    def _stop(self, cause: StopCause) -> None:
        if self.cause is None and not self.has_ended:
            self.cause = cause
            self.run.is_handed_on = cause is not StopCause.REQUESTED
            self.run.ask_to_stop()
            if self.is_under_way:
                self.task.cancel()


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

    def remove(self, ticket: Ticket) -> ActiveRun | None:
        """Take the attempt out; None where it is not here."""
        return self._by_fence.pop(ticket.fence, None)

    def of(self, tickets: Iterable[Ticket]) -> list[ActiveRun]:
        """The attempts of these tickets that are here."""
        found = (self._by_fence.get(one.fence) for one in tickets)
        return [one for one in found if one is not None]

    def fences(self) -> list[Fence]:
        return list(self._by_fence)
