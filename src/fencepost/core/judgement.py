"""The verdict on due ticks: lateness first, then overlap.

A pure function of the schedule's runs in the ledger and the store's time, so that the same history gives
the same answer whoever asks. Ticks are judged in the order of their fire times; one that starts is, for
those after it, an unfinished run.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.core import catchup, overlap
from fencepost.model.claiming import DueTick, End, ScheduleFacts, Start, StartedRun, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.run import RunState


def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> Sequence[Verdict]:
    """Verdicts for the due ticks of one schedule; without room, none starts."""
    verdicts: list[Verdict] = []
    unfinished = facts.unfinished
    for tick in facts.due:
        verdict = _verdict(tick, facts, unfinished, now)
        if isinstance(verdict, Start):
            if room <= 0:
                break
            room -= 1
            unfinished = (StartedRun(tick.run_key, None), *unfinished)
        verdicts.append(verdict)
    return verdicts


def _verdict(
    tick: DueTick, facts: ScheduleFacts, unfinished: tuple[StartedRun, ...], now: StoreTime
) -> Verdict:
    missed = catchup.why_missed(tick, facts.newest_due, now)
    if missed is not None:
        return End(tick.run_key, RunState.MISSED, missed)
    on_time = catchup.is_on_time(tick, now)
    met = overlap.obstacle(tick, on_time, unfinished, facts.last_finished)
    if met is not None:
        return End(tick.run_key, RunState.SKIPPED, f"overlap with {met}")
    return Start(tick.run_key)
