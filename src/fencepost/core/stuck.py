"""Stuck: what is wrong with one run.

Each function returns the reason in words, or None. Only `why_stale` depends on what else the schedule did.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from fencepost.core.catchup import is_on_time, why_too_late
from fencepost.core.overlap import free_since
from fencepost.model.claiming import DueTick, StartedRun
from fencepost.model.clocks import StoreTime, since
from fencepost.model.durations import format_duration
from fencepost.model.identifiers import NodeId, is_deliverer, is_outside
from fencepost.model.run import LIVE_ORIGINS, Attempt, Hold, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.model.times import to_utc_text

SUCCEEDED = str(RunState.SUCCEEDED)
JUDGING_MAX = timedelta(seconds=10)
"""How long after its verdict a tick may begin: both are in one transaction, which may wait for locks."""
LIMITS = Hold.LIMITED | Hold.PACED
"""A tick that waits for these goes on getting later. A parked tick waits as its policy says."""


def begun(run: RunRecord) -> bool:
    """Whether any attempt of it was ever made."""
    return run.attempt > 0


def tried_again(run: RunRecord) -> bool:
    """Whether it had more than one attempt, a replay included."""
    return run.attempt > 1


def wants_attempts(run: RunRecord) -> bool:
    """Whether only its attempts can say if it began again after it had succeeded."""
    return run.attempt - run.attempts_before_replay > 1


def why_repeated(run: RunRecord, attempts: Sequence[Attempt]) -> str | None:
    """A later attempt began although an earlier one had succeeded, with no replay between the two."""
    for one in attempts:
        if one.outcome == SUCCEEDED and run.attempts_before_replay < one.attempt < run.attempt:
            return f"attempt {one.attempt} succeeded, and attempt {run.attempt} began without a replay"
    return None


def why_uncertain(run: RunRecord, workers: AbstractSet[NodeId], now: StoreTime) -> str | None:
    """It was started, has not ended, and its worker shows no life.

    A run that was started after `now` may have a worker that had not come when the workers were read.
    """
    if run.state is not RunState.RUNNING or run.started_at is None or run.started_at > now:
        return None
    if run.alive_until is not None and run.alive_until < now:
        silent = shown_span(since(run.alive_until, now))
        return f"worker {run.worker} has been silent past its deadline for {silent}"
    if run.worker not in workers and not _is_elsewhere(run.worker):
        return f"worker {run.worker} is not alive"
    return None


def _is_elsewhere(worker: NodeId | None) -> bool:
    """Whether the worker is on no list of nodes, so that only its signs of life tell of it."""
    return worker is not None and (is_outside(worker) or is_deliverer(worker))


def why_stuck(
    run: RunRecord,
    workers: AbstractSet[NodeId],
    now: StoreTime,
    older_than: timedelta | None,
    progress_deadline: timedelta | None = None,
) -> str | None:
    """It is uncertain, says nothing past its job's progress deadline, or has been running longer than that: a
    job that hangs may look alive for ever."""
    silent = why_uncertain(run, workers, now) or why_quiet(run, now, progress_deadline)
    if silent is not None or older_than is None or run.started_at is None:
        return silent
    age = since(run.started_at, now)
    return f"has been running for {shown_span(age)}" if age > older_than else None


def why_quiet(run: RunRecord, now: StoreTime, progress_deadline: timedelta | None) -> str | None:
    """The run has marked no progress for longer than its job's progress deadline. Marks of an earlier attempt
    do not count."""
    if progress_deadline is None or run.started_at is None:
        return None
    quiet = since(max(run.started_at, run.progress_at or run.started_at), now)
    if quiet <= progress_deadline:
        return None
    return f"no progress for {shown_span(quiet)}, its deadline is {format_duration(progress_deadline)}"


def why_overdue(run: RunRecord, spec: ScheduleSpec | None, now: StoreTime, margin: timedelta) -> str | None:
    """It has been due for so long that it should be missed, and it has not been judged."""
    waits = run.state in (RunState.PLANNED, RunState.READY) and not run.fence and not run.held & ~LIMITS
    if spec is None or not waits or run.origin not in LIVE_ORIGINS:
        return None
    if since(run.run_at, now) <= spec.catch_up.max_lateness + margin:
        return None
    most = format_duration(spec.catch_up.max_lateness)
    return f"due since {to_utc_text(run.run_at)}, max_lateness is {most}, and it has not been judged"


def why_late(run: RunRecord, spec: ScheduleSpec | None, due: datetime | None) -> str | None:
    """A live run began later than its schedule calls on time."""
    if spec is None or due is None or run.first_started_at is None or run.origin is not Origin.LIVE:
        return None
    if is_on_time(spec.catch_up, due, run.first_started_at):
        return None
    return f"began {shown_span(since(due, run.first_started_at))} after it was due"


def wants_ended(run: RunRecord, spec: ScheduleSpec | None) -> bool:
    """Whether only the runs that ended before it began can say if it began too late."""
    due = first_due(run)
    if spec is None or due is None or run.first_started_at is None or run.origin not in LIVE_ORIGINS:
        return False
    return not is_on_time(spec.catch_up, due + JUDGING_MAX, run.first_started_at)


def why_stale(run: RunRecord, spec: ScheduleSpec, ended: Sequence[RunRecord]) -> str | None:
    """It began as a live tick although it was too late for that, and no run that it stood behind excuses it.

    `ended` are the runs of its schedule that ended after it became due and before it began, the latest first.
    A run that was replayed since then does not show any more when it ran, so this cannot be decided.
    """
    due = first_due(run)
    if due is None or run.first_started_at is None or any(_was_sent_again(one, due) for one in ended):
        return None
    tick = DueTick(run.run_key, run.fire_time, due, spec.overlap, spec.catch_up, run.origin)
    free = free_since(tick, (), tuple(map(_started, ended)))
    if free is None or is_on_time(spec.catch_up, free + JUDGING_MAX, run.first_started_at):
        return None
    why = why_too_late(spec.catch_up, free, run.first_started_at) or "a tick that late is caught up"
    return f"began {shown_span(since(free, run.first_started_at))} after it was due and free to start; {why}"


def _was_sent_again(run: RunRecord, moment: datetime) -> bool:
    return run.attempts_before_replay > 0 and (run.first_started_at is None or run.first_started_at > moment)


def _started(run: RunRecord) -> StartedRun:
    return StartedRun(
        run.run_key, run.fire_time, run.finished_at, run.origin, run.cancel_requested, run.first_started_at
    )


def first_due(run: RunRecord) -> datetime | None:
    """When its first attempt was due; unknown where an earlier release has retried it."""
    if run.due_at is not None:
        return run.due_at
    was_moved = run.first_started_at is not None and (
        wants_attempts(run) or run.run_at > run.first_started_at
    )
    return None if was_moved else run.run_at


def shown_span(length: timedelta) -> str:
    """A length of time in whole seconds."""
    return format_duration(timedelta(seconds=round(max(length, timedelta()).total_seconds())))
