"""Backfilling a schedule: what it would run, at an address, before anybody starts it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.backfill import FillMode
from fencepost.model.policies import AT_ONCE_MAX
from fencepost.operations.backfills import EstimateBackfillRequest, estimate_backfill
from fencepost.web.dashboard.page import Rendered, Shown, Visit, page

Text = Annotated[str, Meta(max_length=64)]
MODES = {
    FillMode.MISSING: "what nothing accounts for",
    FillMode.MISSED: "that, and what was missed or skipped",
    FillMode.ALL: "everything once more, also what succeeded",
}


class BackfillQuery(Struct, frozen=True):
    """Which fire times, and how."""

    since: Text = ""
    until: Text = ""
    mode: FillMode = FillMode.MISSING
    at_once_max: Annotated[int, Meta(ge=1, le=AT_ONCE_MAX)] = 1
    every_s: Annotated[float, Meta(ge=0, le=86_400)] = 0.0


@page(
    "/schedules/{schedule_id}/backfill",
    Role.OPERATOR,
    title="Backfill",
    template="schedule_backfill.html",
    section="schedules",
    query=BackfillQuery,
)
async def backfill_page(visit: Visit[BackfillQuery]) -> Shown:
    """The range, an estimate of it, and the button that starts it."""
    schedule = await visit.control.schedule(visit.path["schedule_id"])
    query, estimate, refused = visit.query, None, None
    if query.since and query.until:
        try:
            request = EstimateBackfillRequest(
                schedule_id=schedule.schedule_id,
                since=query.since,
                until=query.until,
                mode=query.mode,
                at_once_max=query.at_once_max,
                every_s=query.every_s,
            )
            estimate = await estimate_backfill.carry_out(visit.control, request)
        except UsageError as error:
            refused = str(error)
    values: dict[str, Any] = {
        "schedule": schedule,
        "since": query.since
        or _local(visit, (visit.now - timedelta(days=1)).replace(minute=0, second=0, microsecond=0)),
        "until": query.until or _local(visit, visit.now.replace(second=0, microsecond=0)),
        "query": query,
        "modes": MODES,
        "at_once_max": AT_ONCE_MAX,
        "estimate": estimate,
        "refused": refused,
    }
    return Rendered(values, title=f"Backfill {schedule.schedule_id}")


def _local(visit: Visit[BackfillQuery], moment: datetime) -> str:
    """A moment as the reader's clocks show it, with its offset."""
    return moment.astimezone(visit.zone).isoformat()
