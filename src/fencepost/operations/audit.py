"""What was expected against what is recorded.

Over HTTP an audit is bounded, because somebody waits for it. Whoever has the store may look at all of it, and
see how far it is: `report_of` is for them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from fencepost.core.accounts import Report
from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.identifiers import ScheduleId
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.responses.accounts import AuditResponse, report_response
from fencepost.operations.words import ScheduleIdText, When, read_when
from fencepost.services.accounting import Auditor, Bounds, Progress

BOUNDS = Bounds(schedules_max=1_000, ticks_max=100_000)
RUNS_MAX = 2 * BOUNDS.ticks_max
BACKWARDS = "until: expected a time that is not before since"

Since = Annotated[When, Meta(description="Fire times from then on; the last day unless given.")]
Until = Annotated[When, Meta(description="Up to this fire time; now unless given.")]


class AuditRequest(Request, frozen=True, kw_only=True):
    """What to audit."""

    schedule: Annotated[ScheduleIdText, Meta(description="One schedule, also a removed one.")] | None = None
    since: Since = "24h"
    until: Until = "0s"


class RepairRequest(ChangeRequest, frozen=True, kw_only=True):
    """What to audit and repair."""

    schedule: Annotated[ScheduleIdText, Meta(description="One schedule, also a removed one.")] | None = None
    since: Since = "24h"
    until: Until = "0s"


@operation("audit.report", "GET /audit", Role.VIEWER)
async def audit(control: Control, request: AuditRequest) -> AuditResponse:
    """Compare the ticks that a schedule's history asks for with what the ledger records, of one or of all.

    A tick is missing, doubled, unexpected, miscounted, uncertain (started, and its worker shows no life),
    overdue (too late, and nobody judged it), stale (it ran although it was too late) or differing (its
    attempts did not say the same to run.fingerprint). That one began late is only reported. A range with
    more ticks than can be looked at while you wait is refused."""
    return await report_of(control, request, bounded_progress, BOUNDS)


@operation(
    "audit.repair",
    "POST /audit/repair",
    Role.OPERATOR,
    example={"schedule": "invoices", "reason": "rows were lost"},
)
async def repair(control: Control, request: RepairRequest) -> AuditResponse:
    """Audit, and plan the ticks that are missing, by name.

    What is repaired is due at its own time: lateness and catch-up decide whether it still runs."""
    return await report_of(control, request, bounded_progress, BOUNDS)


async def report_of(
    control: Control, request: AuditRequest | RepairRequest, progress: Progress, bounds: Bounds | None = None
) -> AuditResponse:
    """The report that is asked for, after which what is missing is planned where that is asked for too."""
    now = await control.store.now()
    # People mean the first fire time too; the range itself is open at its beginning.
    first = read_when("since", request.since, now) - datetime.resolution
    last = read_when("until", request.until, now)
    if last <= first:
        raise UsageError(BACKWARDS)
    verbs = Auditor(control.store, control.namespace, control.offload, control.run_quota)
    report: Report = await verbs.audit(request.schedule, first, last, progress, bounds)
    repaired = await verbs.repair(report, control.author) if isinstance(request, RepairRequest) else ()
    return report_response(report, repaired)


def bounded_progress(schedule_id: ScheduleId, runs: int) -> None:
    """Runs that nobody expects are looked at too, and there is no end to how many they may be."""
    if runs > RUNS_MAX:
        raise UsageError(f"audit: {schedule_id} has more than {RUNS_MAX} runs; ask for a shorter range")
