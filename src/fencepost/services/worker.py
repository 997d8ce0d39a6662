"""The worker: claims due runs and does them.

A pass looks at what waits, claims the more urgent kind first (runs that need no judgement, or ticks), up to
the room that is left, and starts each claim as a task. It then rests until the next run is due, a hint comes,
or the poll says that it has slept long enough. Room is given back when a run's work has ended; its report
goes through the clerk, so the next claim and the last report travel at the same time.
"""

from __future__ import annotations

import asyncio
import math
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress

from fencepost.config import Settings
from fencepost.core.judgement import judge
from fencepost.core.retry import misses_deadline
from fencepost.core.retry_after import asked_wait_s
from fencepost.core.retry_budget import RetryBudget
from fencepost.core.settling import (
    Ending,
    Failed,
    Interrupted,
    Overdue,
    Round,
    Stopped,
    Succeeded,
    settle,
)
from fencepost.errors import (
    PermanentFailure,
    RetryableFailure,
    RunFailure,
    StoreUnavailable,
    TimedOut,
)
from fencepost.model.claiming import Appetite, Outlook
from fencepost.model.clocks import Monotonic, elapsed_s, since
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.job import error_names
from fencepost.model.run import Claim
from fencepost.model.text import storable
from fencepost.ports.executor import Job
from fencepost.ports.store import Store
from fencepost.services.active import ActiveRun, ActiveRuns, StopCause
from fencepost.services.clerk import Clerk
from fencepost.services.service import Service

DETAIL_LENGTH_MAX = 16_384
OUTPUT_LENGTH_MAX = 65_536
ERROR_LENGTH_MAX = 2_000
REST_MIN_S = 0.001
INTERRUPT_S = 5.0
"""How long interrupted work may take to end: a command gets its SIGTERM and then its SIGKILL."""
LOCKED_REST_S = 0.02
"""What is due and was not ours to claim is locked by another worker, for a moment."""


class Worker(Service):
    """One process's hands."""

    name = "worker"

    def __init__(
        self,
        store: Store,
        jobs: Mapping[JobName, Job],
        active: ActiveRuns,
        clerk: Clerk,
        settings: Settings,
        node_id: NodeId,
        dice: Callable[[], float],
    ) -> None:
        super().__init__()
        self._store = store
        self._jobs = jobs
        self._active = active
        self._clerk = clerk
        self._settings = settings
        self._dice = dice
        self._appetite = Appetite(
            worker=node_id,
            queues=settings.queues,
            jobs=tuple(sorted(jobs)),
            alive_for_s=settings.heartbeat_timeout_s,
            namespace=settings.namespace,
        )
        self._budgets = {
            name: RetryBudget(job.spec.retry.budget)
            for name, job in jobs.items()
            if job.spec.retry.budget is not None
        }
        self._tasks: set[asyncio.Task[None]] = set()
        self._claiming = asyncio.Lock()
        self._answer_lost = False
        self._stopping = False
        self._draining = False
        self._bug: BaseException | None = None

    @property
    def room(self) -> int:
        """How many more runs may begin; reports that the store does not take count against it."""
        overdue = max(0, self._clerk.backlog - self._settings.finish_batch_max)
        return self._settings.concurrency - len(self._tasks) - overdue

    @property
    def busy(self) -> int:
        """How many runs are this worker's, with those of a claim that is under way counted as one."""
        return len(self._tasks) + self._claiming.locked()

    async def run_once(self) -> float:
        """Claim and start what there is room for."""
        if self._bug is not None:
            raise AssertionError("an attempt must not raise") from self._bug
        if self._stopping or self._draining or self.room <= 0:
            return self._settings.poll_s
        try:
            async with self._claiming:
                if self._answer_lost:
                    await self._adopt()
                return await self._claim()
        except StoreUnavailable:
            self._answer_lost = True
            raise

    def drain(self, draining: bool) -> None:
        """Claim no more, or go on; what runs is let finish."""
        self._draining = draining
        self.wakeup.wake()

    async def stop(self, grace_s: float) -> None:
        """Claim no more; let what runs finish within the grace, then interrupt it.

        A claim on its way is waited for first: its runs are ours already, and silence would cost them an
        attempt."""
        self._stopping = True
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                await self._idle()
        self.interrupt()
        stopping = [one.task for one in self._active if one.task in self._tasks and self._stoppable(one)]
        if stopping:
            await asyncio.wait(stopping, timeout=INTERRUPT_S)

    async def _idle(self) -> None:
        async with self._claiming:
            pass
        if self._tasks:
            await asyncio.wait(self._tasks)

    def interrupt(self) -> None:
        """Stop what runs at once; what cannot be stopped is left to be rescued for its silence."""
        self._stopping = True
        for one in self._active:
            if self._stoppable(one):
                one.stop(StopCause.SHUTDOWN)
            else:
                self.log.run_warning(one.claim.run_key, "cannot be stopped; left to be rescued")

    def _stoppable(self, one: ActiveRun) -> bool:
        return self._jobs[one.claim.job].executor.stoppable

    async def _claim(self) -> float:
        outlook = await self._store.ledger.outlook(self._appetite)
        begun = 0
        for kind in _kinds_by_urgency(outlook):
            if self.room > 0:
                claims = await self._claim_kind(kind)
                self._begin(claims)
                begun += len(claims)
        return self._rest_s(outlook, begun)

    async def _claim_kind(self, kind: str) -> list[Claim]:
        ledger = self._store.ledger
        if kind == "tick":
            return list(await ledger.claim_ticks(self._appetite, self.room, judge))
        return list(await ledger.claim_direct(self._appetite, self.room))

    def _rest_s(self, outlook: Outlook, begun: int) -> float:
        """Until the next run is due; hardly while something due may be left; else until the poll."""
        if outlook.direct is not None or outlook.tick is not None:
            if self.room <= 0:
                return self._settings.poll_s
            return 0.0 if begun else LOCKED_REST_S
        if outlook.next_due_at is None:
            return self._settings.poll_s
        due_in_s = -since(outlook.next_due_at, outlook.now).total_seconds()
        return min(max(due_in_s, REST_MIN_S), self._settings.poll_s)

    async def _adopt(self) -> None:
        """A claim whose answer was lost may have been granted: those runs are ours to do."""
        for claim in await self._store.ledger.adopt(self._appetite.worker, self._active.fences()):
            self.log.run(claim.run_key, "adopted after a lost answer", fence=claim.fence)
            self._begin([claim])
        self._answer_lost = False

    def _begin(self, claims: list[Claim]) -> None:
        for claim in claims:
            if claim.attempt - claim.spent == 1 and claim.job in self._budgets:
                self._budgets[claim.job].earn()
            active = ActiveRun(claim, self._beats_of(claim))
            task = asyncio.create_task(self._attempt(active))
            active.attach(task)
            self._active.add(active)
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _beats_of(self, claim: Claim) -> int | None:
        """Heartbeats for as long as the timeout, and for the time in which a stop should have worked."""
        timeout = self._jobs[claim.job].spec.timeout
        if timeout is None:
            return None
        alive_s = timeout.total_seconds() + self._settings.heartbeat_timeout_s
        return math.ceil(alive_s / self._settings.heartbeat_every_s)

    def _ended(self, task: asyncio.Task[None]) -> None:
        full = self.room <= 0
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()
        if full or self._bug:
            self.wakeup.wake()

    async def _attempt(self, active: ActiveRun) -> None:
        job, begun = self._jobs[active.claim.job], _now()
        ending = await self._ending_of(active, job)
        if active.cause is StopCause.LOST:
            self._active.remove(active.ticket)
            return
        so_far = Round(active.claim.spent, _waited_s(active.claim) + elapsed_s(begun, _now()))
        budget = self._budgets.get(active.claim.job)
        self._clerk.file(settle(active.ticket, job.spec, ending, self._dice(), so_far, budget))

    async def _ending_of(self, active: ActiveRun, job: Job) -> Ending:
        """Whatever user code does ends up here, as a value."""
        if misses_deadline(job.spec.retry, _waited_s(active.claim)):
            return Overdue()
        try:
            if job.spec.timeout is None:
                return Succeeded(_kept(await job.executor.execute(active.run)))
            return Succeeded(_kept(await _within(job.spec.timeout.total_seconds(), job, active)))
        except asyncio.CancelledError as error:
            if active.cause is StopCause.REQUESTED:
                return Stopped()
            return Interrupted() if _is_cancelled() else _failed(error)
        except BaseException as error:
            return _failed(error)


def _now() -> Monotonic:
    """The loop's own time, by which the timeout of an attempt is measured too."""
    return Monotonic(asyncio.get_running_loop().time())


def _waited_s(claim: Claim) -> float:
    """How long before this attempt the run's first one began, by the store's clock."""
    if claim.begun_at is None:
        return 0.0
    return max(since(claim.begun_at, claim.started_at).total_seconds(), 0.0)


async def _within(limit_s: float, job: Job, active: ActiveRun) -> str | None:
    """The work, for so long. Work that does not heed its cancellation is left to itself: its fence is old."""
    work = asyncio.create_task(job.executor.execute(active.run))
    try:
        done, _ = await asyncio.wait({work}, timeout=limit_s)
    except asyncio.CancelledError:
        await _abandon(work)
        raise
    if done:
        return work.result()
    active.run.ask_to_stop()
    await _abandon(work)
    late = TimedOut(f"longer than {limit_s:g}s")
    late.output = active.run.left_output
    raise late


async def _abandon(work: asyncio.Task[str | None]) -> None:
    work.cancel()
    await asyncio.wait({work}, timeout=INTERRUPT_S)
    if work.done() and not work.cancelled():
        work.exception()


def _is_cancelled() -> bool:
    """Whether this attempt was told to stop; user code may raise `CancelledError` of its own accord."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _kinds_by_urgency(outlook: Outlook) -> list[str]:
    heads = [("direct", outlook.direct), ("tick", outlook.tick)]
    due = [(head.priority, head.run_at, kind) for kind, head in heads if head is not None]
    return [kind for _, _, kind in sorted(due)]


def _failed(error: BaseException) -> Failed:
    """An error as text: nothing of the user's types crosses into the ledger."""
    text = _words(error)
    return Failed(
        error=storable(text[:ERROR_LENGTH_MAX], ERROR_LENGTH_MAX),
        detail=storable(_traceback(error), DETAIL_LENGTH_MAX),
        output=_kept(error.output) if isinstance(error, RunFailure) else None,
        permanent=isinstance(error, PermanentFailure),
        kinds=error_names(type(error)),
        wait_s=asked_wait_s(error.retry_after) if isinstance(error, RetryableFailure) else 0.0,
    )


def _words(error: BaseException) -> str:
    name = type(error).__name__
    try:
        said = str(error)
    except BaseException:
        return f"{name}: (its text cannot be had)"
    return f"{name}: {said}" if said else name


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except BaseException:
        return "(its traceback cannot be had)"


def _kept(output: str | None) -> str | None:
    return None if output is None else storable(output, OUTPUT_LENGTH_MAX)
