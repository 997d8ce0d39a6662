"""Overlap: whether a tick may start beside what its schedule is doing already."""

from __future__ import annotations

from datetime import datetime

from fencepost.model.claiming import DueTick, StartedRun
from fencepost.model.identifiers import RunKey
from fencepost.model.schedule import Overlap


def obstacle(
    tick: DueTick,
    on_time: bool,
    unfinished: tuple[StartedRun, ...],
    last_finished: StartedRun | None,
) -> RunKey | None:
    """The run that keeps this tick from starting, or None.

    A tick that is on time also overlaps with a run that was unfinished when it became due and has ended
    since: whether it is judged a moment earlier or later must not change the answer.
    """
    if tick.overlap is Overlap.ALLOW:
        return None
    if unfinished:
        return unfinished[0].run_key
    if on_time and last_finished is not None and _ended_after(last_finished, tick.run_at):
        return last_finished.run_key
    return None


def _ended_after(run: StartedRun, moment: datetime) -> bool:
    return run.finished_at is not None and run.finished_at > moment
