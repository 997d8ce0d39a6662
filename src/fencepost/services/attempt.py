"""One attempt from its grant to its report: the work is done within its bounds, and every outcome is a value.

User code may raise anything, hang, or ignore its cancellation; none of that leaves this file. The ledger is
told text: no object of the user's types reaches it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from fencepost.core.outcome import (
    Ending,
    Failed,
    Interrupted,
    NotBegun,
    Overdue,
    Round,
    Stopped,
    Succeeded,
    settle,
)
from fencepost.core.retry import misses_deadline
from fencepost.core.retry_after import asked_wait_s
from fencepost.core.retry_budget import RetryBudget
from fencepost.errors import (
    NoProgress,
    PermanentFailure,
    RemoteFailure,
    RetryableFailure,
    RunFailure,
    Snooze,
    TimedOut,
)
from fencepost.model.clocks import Monotonic, elapsed_s, since
from fencepost.model.durations import format_duration
from fencepost.model.faults import traceback_of, words_of
from fencepost.model.identifiers import JobName, NodeId
from fencepost.model.job import JobSpec, error_names
from fencepost.model.quoting import quoted
from fencepost.model.run import Claim, Outcome
from fencepost.model.text import storable
from fencepost.ports.executor import Job
from fencepost.ports.run import Run
from fencepost.services.active import ActiveRun, ActiveRuns, StopCause
from fencepost.services.progress import until_stuck
from fencepost.services.reporter import Reporter
from fencepost.services.run_context import Settlement
from fencepost.telemetry import traces
from fencepost.telemetry.logs import keep_stderr
from fencepost.telemetry.run_lines import KEEP
from fencepost.telemetry.secrets import mask

DETAIL_LENGTH_MAX = 16_384
OUTPUT_LENGTH_MAX = 65_536
ERROR_LENGTH_MAX = 2_000
INTERRUPT_S = 5.0
"""How long interrupted work may take to end: a command gets its SIGTERM and then its SIGKILL."""


NOT_COMMITTED = Failed(
    "NotCommitted: the function returned, and the transaction that was to complete the run was not committed "
    "(or complete_in was not awaited)"
)


class Attempts:
    """Carries out attempts and files their outcomes."""

    def __init__(
        self,
        jobs: Mapping[JobName, Job],
        active: ActiveRuns,
        reporter: Reporter,
        dice: Callable[[], float],
        worker: NodeId,
    ) -> None:
        self._jobs = jobs
        self._worker = worker
        self._active = active
        self._reporter = reporter
        self._dice = dice
        self._budgets = {
            name: RetryBudget(job.spec.retry.budget)
            for name, job in jobs.items()
            if job.spec.retry.budget is not None
        }

    def count(self, claim: Claim) -> None:
        """A first attempt earns its job some budget for retries."""
        if claim.attempt - claim.attempts_before_replay == 1 and claim.job in self._budgets:
            self._budgets[claim.job].earn()

    async def do(self, active: ActiveRun) -> None:
        """The whole attempt; its outcome is with the reporter when this returns, unless the run was lost."""
        if not active.begin():
            self.hand_back(active)
            return
        job, begun = self._jobs[active.claim.job], _now()
        KEEP.set(active.log.write)
        active.trace = traces.begin(active.claim, self._worker)
        active.run.trace_context = active.trace.carried
        if job.queues:
            active.run.queue()
        ending = await self._ending_of(active, job)
        keep_stderr()
        active.took_s = elapsed_s(begun, _now())
        if active.run_context is not None:
            active.run_context.abandon()
        if active.settlement is Settlement.COMMITTED:
            self._note_committed(active, ending)
            return
        if active.cause is StopCause.LOST:
            self._active.remove(active.ticket)
            active.trace.lost(active.took_s)
            return
        in_doubt = active.run_context is not None and active.run_context.is_in_doubt
        if active.settlement is Settlement.HANDED_OVER and isinstance(ending, Succeeded):
            ending = NOT_COMMITTED
        self._reporter.file(self._settled(active, job.spec, ending, in_doubt), in_doubt=in_doubt)

    def _settled(self, active: ActiveRun, job: JobSpec, ending: Ending, in_doubt: bool) -> Outcome:
        if isinstance(ending, Succeeded):
            return settle(active.ticket, job, ending, 0.0)
        so_far = Round(active.claim.attempts_before_replay, _waited_s(active.claim) + (active.took_s or 0.0))
        # A run that may have succeeded after all must not use up the retry budget.
        budget = None if in_doubt else self._budgets.get(active.claim.job)
        outcome = settle(active.ticket, job, ending, self._dice(), so_far, budget)
        if outcome.snoozed and outcome.reason is not None:
            active.log.write(outcome.reason)
        return outcome

    def hand_back(self, active: ActiveRun) -> None:
        """End an attempt that has not begun, unless another attempt has its run by now."""
        active.is_given_back, active.is_waiting = True, False
        if active.cause is StopCause.LOST:
            self._active.remove(active.ticket)
            return
        ending = Stopped() if active.cause is StopCause.REQUESTED else NotBegun()
        self._reporter.file(settle(active.ticket, self._jobs[active.claim.job].spec, ending, 0.0))

    def _note_committed(self, active: ActiveRun, ending: Ending) -> None:
        """The run has succeeded by its own transaction; an error of its function after that is only
        logged."""
        self._active.remove(active.ticket)
        self._reporter.note_committed(active, ending.error if isinstance(ending, Failed) else None)
        self._reporter.keep_log(active)

    async def _ending_of(self, active: ActiveRun, job: Job) -> Ending:
        """Every outcome of user code, as a value."""
        retry = job.spec.retry
        if retry.deadline is not None and misses_deadline(retry, _waited_s(active.claim)):
            return Overdue()
        try:
            if job.spec.timeout is None and job.spec.progress_deadline is None:
                return Succeeded(_kept(await job.executor.execute(active.run)))
            return Succeeded(_kept(await _within_bounds(job, active)))
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
    if claim.first_started_at is None:
        return 0.0
    return max(since(claim.first_started_at, claim.started_at).total_seconds(), 0.0)


async def _within_bounds(job: Job, active: ActiveRun) -> str | None:
    """Do the work, bounded by its timeout from its beginning and by its progress deadline. Work that ignores
    its cancellation is left to itself: its fence is old."""
    limit_s = None if job.spec.timeout is None else job.spec.timeout.total_seconds()
    work = asyncio.create_task(job.executor.execute(active.run))
    watches: list[asyncio.Task[None]] = []
    try:
        await _until_begun(active.run, work)
        watches = _watches(job, active)
        done, _ = await asyncio.wait({work, *watches}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _abandon(work)
        raise
    finally:
        for one in watches:
            one.cancel()
    if work in done:
        return work.result()
    active.run.ask_to_stop()
    await _abandon(work)
    late = _late(job.spec, stuck=bool(done))
    late.output = active.run.left_output
    raise late


async def _until_begun(run: Run, work: asyncio.Task[str | None]) -> None:
    """Return when the work begins, or ends without having begun."""
    if run.begun.is_set():
        return
    beginning = asyncio.create_task(run.begun.wait())
    try:
        await asyncio.wait({work, beginning}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        beginning.cancel()


def _watches(job: Job, active: ActiveRun) -> list[asyncio.Task[None]]:
    deadline = job.spec.progress_deadline
    if deadline is None:
        return []
    return [asyncio.create_task(until_stuck(active.run, deadline.total_seconds()))]


def _late(spec: JobSpec, *, stuck: bool) -> RunFailure:
    if stuck:
        assert spec.progress_deadline is not None
        return NoProgress(f"no progress for {format_duration(spec.progress_deadline)}")
    assert spec.timeout is not None
    return TimedOut(f"longer than {spec.timeout.total_seconds():g}s")


async def _abandon(work: asyncio.Task[str | None]) -> None:
    work.cancel()
    await asyncio.wait({work}, timeout=INTERRUPT_S)
    if work.done() and not work.cancelled():
        work.exception()


def _is_cancelled() -> bool:
    """Whether this attempt was told to stop; user code may raise `CancelledError` of its own accord."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(error: BaseException) -> Failed:
    """An error as text: nothing of the user's types crosses into the ledger."""
    if isinstance(error, RemoteFailure):
        return _failed_elsewhere(error)
    text = words_of(error)
    wait_s = asked_wait_s(error.retry_after) if isinstance(error, RetryableFailure) else 0.0
    if isinstance(error, Snooze) and not wait_s:
        text += f'; its wait {quoted(error.retry_after)} is no length of time, such as "10m"'
    return Failed(
        error=storable(mask(text)[:ERROR_LENGTH_MAX], ERROR_LENGTH_MAX),
        detail=storable(mask(traceback_of(error)), DETAIL_LENGTH_MAX) or None,
        output=_kept(error.output) if isinstance(error, RunFailure) else None,
        permanent=isinstance(error, PermanentFailure),
        kinds=error_names(type(error)),
        wait_s=wait_s,
    )


def _failed_elsewhere(error: RemoteFailure) -> Failed:
    """An error that another process reported."""
    return Failed(
        error=storable(mask(str(error))[:ERROR_LENGTH_MAX], ERROR_LENGTH_MAX),
        detail=None if error.detail is None else storable(mask(error.detail), DETAIL_LENGTH_MAX),
        output=_kept(error.output),
        permanent=error.permanent,
        kinds=error.kinds,
        wait_s=asked_wait_s(error.retry_after),
    )


def _kept(output: str | None) -> str | None:
    return None if output is None else storable(mask(output), OUTPUT_LENGTH_MAX)
