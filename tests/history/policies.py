"""The numbers of the policies, written out a second time: what judges the code does not ask the code.

They are those of the guide to policies. Only what a person wrote in a schedule or a job is read from there.
"""

from __future__ import annotations

from datetime import timedelta

from fencepost.model.job import Retry
from fencepost.model.policies import CatchUp, CatchUpMode, Overlap, OverlapKind
from fencepost.model.run import Origin, RunRecord

ON_TIME = timedelta(seconds=10)
BUFFER_DEFAULT = 50


def at_once_max(overlap: Overlap) -> int | None:
    """How many runs of a schedule may be unfinished at a time; None where there is no limit."""
    return overlap.number if overlap.kind is OverlapKind.ALLOW else 1


def waiting_max(overlap: Overlap) -> int | None:
    """How many live ticks may wait for their turn; None where nothing is said of it. Under `skip` it is the
    one that goes next after what was caught up, filled in or replayed."""
    match overlap.kind:
        case OverlapKind.BUFFER_ALL:
            return BUFFER_DEFAULT if overlap.number is None else overlap.number
        case OverlapKind.SKIP | OverlapKind.BUFFER_ONE | OverlapKind.CANCEL_OTHER:
            return 1
        case _:
            return None


def is_excused(overlap: Overlap, tick: RunRecord, other: RunRecord, begun_by_then: bool) -> bool:
    """Whether a live tick is not late while that run of its schedule is unfinished; `begun_by_then` is
    whether the run had begun when the tick became due.

    The guide: with `buffer_one`, `buffer_all` and `cancel_other`, behind a run that had begun by then, or
    behind earlier ticks of the buffer; with `skip`, behind what is caught up, filled in or replayed.
    """
    live = other.origin in (Origin.LIVE, Origin.MANUAL)
    match overlap.kind:
        case OverlapKind.BUFFER_ONE | OverlapKind.BUFFER_ALL | OverlapKind.CANCEL_OTHER:
            return begun_by_then or (live and other.fire_time < tick.fire_time)
        case OverlapKind.SKIP:
            return begun_by_then and not live
        case _:
            return False


def live_lateness_max(catch_up: CatchUp) -> timedelta:
    """How late a tick may begin that does not catch up."""
    if catch_up.mode is CatchUpMode.NONE:
        return catch_up.max_lateness
    return min(ON_TIME, catch_up.max_lateness)


def catch_ups_max(catch_up: CatchUp) -> int | None:
    """How many catch-up runs of a schedule may be unfinished at a time; None where only overlap says."""
    match catch_up.mode:
        case CatchUpMode.SEQUENTIAL:
            return 1
        case CatchUpMode.PARALLEL:
            return catch_up.at_once
        case _:
            return None


def wait_max_s(policy: Retry, tries: int) -> float:
    """The longest wait after so many tries: the base, doubled after each further one, at most the cap."""
    longest_s = policy.base.total_seconds()
    for _ in range(tries - 1):
        longest_s *= 2
        if longest_s >= policy.cap.total_seconds():
            break
    return min(longest_s, policy.cap.total_seconds())
