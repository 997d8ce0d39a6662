"""Runs that were started and do not get on.

No run's key is `stuck`: every key has a `#` in it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.operations.control import Control
from fencepost.operations.operation import Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, sliced
from fencepost.operations.responses.accounts import StuckPage, stuck_response
from fencepost.operations.words import Seconds
from fencepost.services.accounting import Auditor, StuckRun

OLDER_THAN_MAX_S = 10 * 366 * 86_400.0
LAST = "~"
"""Behind every time."""


class ListStuckRequest(Request, frozen=True, kw_only=True):
    """Which runs count as stuck."""

    older_than_s: (
        Annotated[
            Seconds,
            Meta(ge=0, le=OLDER_THAN_MAX_S, description="Also whatever has been running longer than that."),
        ]
        | None
    ) = None
    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


@operation("runs.stuck", "GET /runs/stuck", Role.VIEWER)
async def find_stuck(control: Control, request: ListStuckRequest) -> StuckPage:
    """List runs that were started and whose worker shows no life, by job, the oldest first.

    Also those that say nothing past their job's progress deadline."""
    found = await Auditor(control.store, control.namespace).stuck(request.older_than_s)
    page, after = sliced(found, _place, tuple[str, str, str], request.limit, request.after)
    return StuckPage(items=[stuck_response(one) for one in page], next=after)


def _place(stuck: StuckRun) -> tuple[str, str, str]:
    """Its place in the list, which does not move while it runs."""
    started = stuck.run.started_at
    since = LAST if started is None else started.isoformat(timespec="microseconds")
    return stuck.run.job, since, stuck.run.run_key
