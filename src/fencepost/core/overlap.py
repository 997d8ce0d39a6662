"""Overlap: what a tick does while other runs of its schedule are unfinished.

The answer depends on the unfinished runs of the schedule. For a tick that is on time it also depends on what
was unfinished when the tick became due: a verdict a moment earlier or later must not change the answer.

Live ticks go before runs that are caught up, filled in or replayed. So under `skip` a live tick that meets
only such runs is not skipped for them: it waits for their end and goes next.

A tick that waits for its turn is not late meanwhile: behind a run that had begun when it became due, or
behind the earlier ticks of its buffer. Its lateness counts from the end of the last of those (`free_since`).
A run that began later excuses nothing: it may keep the tick from starting, and the tick's lateness goes on.
"""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias, assert_never

from fencepost.model.claiming import DueTick, StartedRun
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import RunKey
from fencepost.model.policies import OverlapKind
from fencepost.model.run import LIVE_ORIGINS

DISPLACING_KINDS = frozenset({OverlapKind.CANCEL_OTHER, OverlapKind.TERMINATE_OTHER})
SKIPPING_KINDS = frozenset({OverlapKind.SKIP, OverlapKind.ALLOW})
WAITING_KINDS = frozenset({OverlapKind.BUFFER_ONE, OverlapKind.BUFFER_ALL, OverlapKind.CANCEL_OTHER})


@dataclass(frozen=True, slots=True)
class Go:
    """It may start."""


@dataclass(frozen=True, slots=True)
class Skip:
    """It does not run; `blocked_by` is the run that it met."""

    blocked_by: RunKey
    reason: str


@dataclass(frozen=True, slots=True)
class Queue:
    """It waits; `ask` are runs that are asked to stop for it."""

    behind: RunKey
    ask: tuple[RunKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Displace:
    """It starts, and these runs are fenced off."""

    others: tuple[RunKey, ...]


Answer: TypeAlias = Go | Skip | Queue | Displace


def answer(
    tick: DueTick,
    on_time: bool,
    unfinished: tuple[StartedRun, ...],
    finished: tuple[StartedRun, ...],
    waiting: int,
) -> Answer:
    """What the tick does; `waiting` is how many ticks of its schedule wait before it."""
    policy = tick.overlap
    most = policy.at_once_max
    if most is None:
        return Go()
    if len(unfinished) < most:
        return _beside_none(tick, on_time, unfinished, finished, most)
    first = unfinished[0].run_key
    match policy.kind:
        case OverlapKind.SKIP:
            return _skip_or_wait(tick, unfinished, waiting)
        case OverlapKind.ALLOW:
            return Skip(first, f"overlap with {first}: {len(unfinished)} runs are unfinished, {most} may be")
        case OverlapKind.BUFFER_ONE | OverlapKind.BUFFER_ALL:
            if waiting >= policy.waiting_max:
                return Skip(first, f"overlap with {first}: the buffer is full, {waiting} wait already")
            return Queue(first)
        case OverlapKind.CANCEL_OTHER:
            return Queue(first, tuple(one.run_key for one in unfinished if not one.cancel_requested))
        case OverlapKind.TERMINATE_OTHER:
            return Displace(tuple(one.run_key for one in unfinished))
        case _ as never:
            assert_never(never)


def _skip_or_wait(tick: DueTick, unfinished: tuple[StartedRun, ...], waiting: int) -> Answer:
    first = unfinished[0].run_key
    if _goes_before(tick, unfinished) and not waiting:
        return Queue(first)
    return Skip(first, f"overlap with {first}")


def _beside_none(
    tick: DueTick,
    on_time: bool,
    unfinished: tuple[StartedRun, ...],
    finished: tuple[StartedRun, ...],
    most: int,
) -> Answer:
    """Nothing is in the tick's way now. A skipping tick on time also asks what was, when it became due."""
    if tick.overlap.kind not in SKIPPING_KINDS or not on_time:
        return Go()
    then = [one for one in finished if _was_in_the_way(tick, one)]
    if len(unfinished) + len(then) < most:
        return Go()
    return Skip(then[0].run_key, f"overlap with {then[0].run_key}")


def _was_in_the_way(tick: DueTick, run: StartedRun) -> bool:
    """Whether a run that has ended was unfinished when the tick became due. A run that is no live tick counts
    only if it had begun by then, and not for a live tick that goes before it."""
    if run.finished_at is None or run.finished_at <= tick.run_at:
        return False
    if run.origin in LIVE_ORIGINS:
        return run.fire_time < tick.fire_time or _had_begun(run, tick.run_at)
    return not _goes_before(tick, (run,)) and _had_begun(run, tick.run_at)


def _goes_before(tick: DueTick, runs: tuple[StartedRun, ...]) -> bool:
    """Whether the tick is live and none of the runs is."""
    return tick.origin in LIVE_ORIGINS and all(one.origin not in LIVE_ORIGINS for one in runs)


def _had_begun(run: StartedRun, moment: datetime) -> bool:
    return run.first_started_at is not None and run.first_started_at <= moment


def displaces(tick: DueTick) -> bool:
    """Whether the tick makes others stop, so that of several ticks only the newest is worth starting."""
    return tick.overlap.kind in DISPLACING_KINDS


def free_since(
    tick: DueTick, unfinished: tuple[StartedRun, ...], finished: tuple[StartedRun, ...]
) -> datetime | None:
    """From when the tick's lateness counts: the end of the last run that it stood behind, or when it became
    due if that is later. None while it stands behind one."""
    behind = [one for one in unfinished if _stands_behind(tick, one)]
    if behind and (tick.overlap.kind in WAITING_KINDS or _goes_before(tick, unfinished)):
        return None
    ends = [one.finished_at for one in finished if one.finished_at is not None and _stands_behind(tick, one)]
    return max([tick.run_at, *ends])


def _stands_behind(tick: DueTick, run: StartedRun) -> bool:
    """Whether the run was in the tick's way from the moment on which the tick became due: it had begun by
    then, or is an earlier tick of the same buffer. Under `skip` a tick waits only for what is not live."""
    if tick.overlap.kind is OverlapKind.SKIP:
        return _goes_before(tick, (run,)) and _had_begun(run, tick.run_at)
    if tick.overlap.kind not in WAITING_KINDS:
        return False
    earlier = run.origin in LIVE_ORIGINS and run.fire_time < tick.fire_time
    return earlier or _had_begun(run, tick.run_at)
