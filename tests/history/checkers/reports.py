"""I5, as the workers see it: a report is taken only from the attempt that has the row."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.run import Receipt, RunState
from tests.history.findings import Kind, Looked, bounded
from tests.history.model import History, Report, Violation

NEEDS = frozenset({"reports"})
STOLEN_REPORT = Kind("I5", "a report of another attempt was accepted")
LOST_REPORT = Kind("I5", "a report of the owner was not accepted")
FALSE_REPEAT = Kind("I5", "a report of another attempt was called repeated")
KINDS = (STOLEN_REPORT, LOST_REPORT, FALSE_REPEAT)


@bounded
def check(history: History, looked: Looked) -> Iterator[Violation]:
    """See the module."""
    for report in history.reports:
        looked["reports"] += 1
        yield from _check_report(report)


def _check_report(report: Report) -> Iterator[Violation]:
    row, ticket = report.before, report.ticket
    same = row is not None and (row.attempt, row.fence) == (ticket.attempt, ticket.fence)
    owns = same and row is not None and row.state is RunState.RUNNING
    if report.receipt is Receipt.ACCEPTED:
        if not owns:
            yield STOLEN_REPORT.found(f"{ticket} ended {row}")
    elif owns:
        yield LOST_REPORT.found(f"{ticket} was {report.receipt}")
    elif report.receipt is Receipt.REPEATED and not same:
        yield FALSE_REPEAT.found(f"{ticket} met {row}")
