"""Points 6 and 7: replay and fencing, which should have happened once before they are needed.

Both leave traces in the ledger when they have happened. Without a trace the check-up cannot say that they
work in this installation, only how to try them. A stale write that was refused changes nothing, and so leaves
no trace. The trace of fencing is a run that was taken away under a larger fence, the reason for such a
refusal.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.core.checkup.facts import Facts
from fencepost.core.checkup.findings import Finding, Point, Severity
from fencepost.core.checkup.pauses import pauses
from fencepost.model.durations import format_duration
from fencepost.model.times import to_utc_text


def replay(facts: Facts) -> Iterator[Finding]:
    """Whether a dead run has ever been replayed."""
    ledger = facts.ledger
    if ledger is None:
        yield _unseen(facts, Point.REPLAY, "look again without --offline, once there is a store")
    elif ledger.replayed is not None:
        done = ledger.replayed
        told = f"{done.by} replayed {done.run_key} on {to_utc_text(done.at)}"
        yield Finding(Point.REPLAY, Severity.OK, told)
    elif ledger.dead is None:
        yield Finding(Point.REPLAY, Severity.OK, "the ledger holds no dead run that would need it")
    else:
        yield Finding(
            Point.REPLAY,
            Severity.WARN,
            f"{ledger.dead} is dead, and no run has ever been replayed here",
            f"find out why it died, then: fencepost runs replay {ledger.dead}",
        )


def fencing(facts: Facts) -> Iterator[Finding]:
    """Whether a worker that lost its run has been kept from writing; whether leases outlast pauses."""
    yield from pauses(facts)
    ledger = facts.ledger
    if ledger is None:
        yield _unseen(facts, Point.FENCING, _rehearsal(facts))
    elif ledger.fenced_off is not None:
        seen = ledger.fenced_off
        yield Finding(
            Point.FENCING,
            Severity.OK,
            f"an attempt of {seen.run_key} under fence {seen.fence} lost its run, whose fence is now "
            f"{seen.fence_now}: nothing that the attempt still writes counts",
        )
    else:
        told = "the ledger remembers no run that was taken from a silent worker"
        if not ledger.runs_read:
            told = "nothing has run here yet"
        yield Finding(Point.FENCING, Severity.UNKNOWN, told, _rehearsal(facts))


def _rehearsal(facts: Facts) -> str:
    wait = format_duration(facts.limits.rescue)
    return (
        "rehearse it: run two workers, enqueue a long job, kill -STOP the worker that has it, wait "
        f"{wait}, kill -CONT it; fencepost runs show KEY then has a lost attempt and a larger fence, "
        "and the first worker logs: lost to another attempt, or: late report refused"
    )


def _unseen(facts: Facts, point: Point, remedy: str) -> Finding:
    return Finding(point, Severity.UNKNOWN, f"{facts.unasked}: what has happened cannot be seen", remedy)
