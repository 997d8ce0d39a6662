"""Who did what, when, from where and why."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fencepost.model.access import Role
from fencepost.model.audit import Action, LogFilter
from fencepost.operations.control import Control
from fencepost.operations.operation import Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, Cursor, Limit, cut, encode_cursor, number_behind
from fencepost.operations.responses.log import EntryPage, entry_response
from fencepost.operations.words import Text, When, read_when


class ListLogRequest(Request, frozen=True, kw_only=True):
    """Which entries to list."""

    subject: Annotated[Text, Meta(description="Only of this schedule, run, calendar or backfill.")] | None = (
        None
    )
    action: (
        Annotated[Action, Meta(description="Only this, such as `schedule.pause` or `run.replay`.")] | None
    ) = None
    by: Annotated[Text, Meta(description="Only by this name, or by this credential.")] | None = None
    since: Annotated[When, Meta(description="From then on.")] | None = None
    until: Annotated[When, Meta(description="Up to then.")] | None = None
    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


@operation("log.list", "GET /log", Role.VIEWER)
async def list_log(control: Control, request: ListLogRequest) -> EntryPage:
    """Show what people changed, the newest first, with what it was before and after."""
    now = await control.store.now()
    wanted = LogFilter(
        subject=request.subject,
        action=request.action,
        author=request.by,
        since=None if request.since is None else read_when("since", request.since, now),
        until=None if request.until is None else read_when("until", request.until, now),
        before_number=number_behind(request.after),
        limit=request.limit + 1,
    )
    page, last = cut(await control.log(wanted), request.limit)
    return EntryPage(
        items=[entry_response(one) for one in page], next=None if last is None else encode_cursor(last.number)
    )
