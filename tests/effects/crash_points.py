"""The named points at which a worker is killed, and what must come of each.

A point is a place in the way of a run: claim, start, effect, report. What the world sees of a run is how
often its function was started, how often its effect happened, and in which state the ledger left it. The
guide on effects tells the same to people (`crash_table`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Point(StrEnum):
    """Where `kill -9` comes."""

    BEFORE_CLAIM = "before-claim"
    """The worker is about to claim."""
    CLAIM_WRITTEN = "claim-written"
    """The claim is in the ledger, the worker has not seen the answer."""
    BEFORE_START = "before-start"
    AFTER_START = "after-start"
    """The function has begun, and has done nothing yet."""
    EFFECT_DONE = "effect-done"
    """The effect has happened, the function has not returned."""
    BEFORE_REPORT = "before-report"
    """The function has returned, the ledger has not heard of it."""
    REPORT_WRITTEN = "report-written"
    """The report is in the ledger, the worker has not seen the answer."""
    IN_TRANSACTION = "in-transaction"
    """The effect is written in the transaction, the marker is not."""
    BEFORE_COMMIT = "before-commit"
    """Effect and marker are written, the commit has not been sent."""
    AFTER_COMMIT = "after-commit"
    """The commit has happened, the worker has not seen the answer."""


class Kind(StrEnum):
    """How the work is done."""

    LOOP = "async function"
    THREAD = "function in a thread"
    PROCESS = "process"
    COMMAND = "command"
    HTTP = "HTTP"
    OUTSIDE = "external worker"
    GUARDED = "fenced guard"
    """A function whose effect is a row that it writes by a fenced upsert, beside the ledger."""
    TRANSACTION = "run.transaction()"
    OWN_TRANSACTION = "run.complete_in()"
    BLOCKING_TRANSACTION = "run.complete_in() over a driver that blocks"


class Delivery(StrEnum):
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


@dataclass(frozen=True)
class Outcome:
    """What the world and the ledger have to show for it."""

    starts: int
    effects: int
    state: str

    def __str__(self) -> str:
        return f"{self.starts} · {self.effects} · {self.state}"


PLAIN = tuple(Point)[:7]
"""The points of work whose effect is its own business."""
TRANSACTIONAL = (
    *(Point.BEFORE_CLAIM, Point.CLAIM_WRITTEN, Point.BEFORE_START, Point.AFTER_START),
    *(Point.IN_TRANSACTION, Point.BEFORE_COMMIT, Point.AFTER_COMMIT),
)
APART = (Kind.HTTP,)
"""Work that goes on when its worker dies: it is on another's machine."""
IN_TRANSACTIONS = (Kind.TRANSACTION, Kind.OWN_TRANSACTION, Kind.BLOCKING_TRANSACTION)

_ONCE = Outcome(1, 1, "succeeded")
_AGAIN = {
    Point.BEFORE_CLAIM: _ONCE,
    Point.CLAIM_WRITTEN: _ONCE,
    Point.BEFORE_START: _ONCE,
    Point.AFTER_START: Outcome(2, 1, "succeeded"),
    Point.EFFECT_DONE: Outcome(2, 2, "succeeded"),
    Point.BEFORE_REPORT: Outcome(2, 2, "succeeded"),
    Point.REPORT_WRITTEN: _ONCE,
    Point.IN_TRANSACTION: Outcome(2, 1, "succeeded"),
    Point.BEFORE_COMMIT: Outcome(2, 1, "succeeded"),
    Point.AFTER_COMMIT: _ONCE,
}
_NEVER_AGAIN = {
    Point.BEFORE_CLAIM: _ONCE,
    Point.CLAIM_WRITTEN: Outcome(0, 0, "dead"),
    Point.BEFORE_START: Outcome(0, 0, "dead"),
    Point.AFTER_START: Outcome(1, 0, "dead"),
    Point.EFFECT_DONE: Outcome(1, 1, "dead"),
    Point.BEFORE_REPORT: Outcome(1, 1, "dead"),
    Point.REPORT_WRITTEN: _ONCE,
    Point.IN_TRANSACTION: Outcome(1, 0, "dead"),
    Point.BEFORE_COMMIT: Outcome(1, 0, "dead"),
    Point.AFTER_COMMIT: _ONCE,
}


def points_of(kind: Kind) -> tuple[Point, ...]:
    return TRANSACTIONAL if kind in IN_TRANSACTIONS else PLAIN


def expected(kind: Kind, point: Point, delivery: Delivery) -> Outcome:
    """What must come of it. A guarded effect is one row, whoever wrote it."""
    outcome = (_AGAIN if delivery is Delivery.AT_LEAST_ONCE else _NEVER_AGAIN)[point]
    if point is Point.AFTER_START and kind in APART:
        return Outcome(outcome.starts, outcome.effects + 1, outcome.state)
    if kind is Kind.GUARDED:
        return Outcome(outcome.starts, min(outcome.effects, 1), outcome.state)
    return outcome
