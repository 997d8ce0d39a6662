"""The audit log: who did what, when, from where and why, and what it changed."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, structs

from fencepost.model.access import Role
from fencepost.model.audit import Action
from fencepost.operations.log import ListLogRequest, list_log
from fencepost.operations.paging import CURSOR_LENGTH_MAX
from fencepost.operations.responses.log import AuditEntryResponse
from fencepost.operations.words import PLAIN_PATTERN
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Shown, Visit, page

LIMIT_DEFAULT, LIMIT_MAX = 50, 200
Short = Annotated[str, Meta(max_length=1_000, pattern=PLAIN_PATTERN)]
CHANGES_SHOWN = 6


class LogQuery(Struct, frozen=True):
    """Which entries."""

    subject: Short = ""
    action: Action | None = None
    by: Short = ""
    since: Annotated[str, Meta(max_length=64)] = ""
    until: Annotated[str, Meta(max_length=64)] = ""
    after: Annotated[str, Meta(max_length=CURSOR_LENGTH_MAX)] = ""
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = LIMIT_DEFAULT


@page("/log", Role.VIEWER, title="Audit log", template="log.html", section="audit", query=LogQuery)
async def log_page(visit: Visit[LogQuery]) -> Shown:
    """A page of it, the newest first."""
    query = visit.query
    request = ListLogRequest(
        subject=query.subject.strip() or None,
        action=query.action,
        by=query.by.strip() or None,
        since=query.since or None,
        until=query.until or None,
        limit=query.limit,
        after=query.after or None,
    )
    found = await list_log.carry_out(visit.control, request)
    chosen = {
        name: value
        for name, value in structs.asdict(query).items()
        if value and name not in ("after", "limit")
    }
    return {
        "entries": [(one, subject_url(one)) for one in found.items],
        "changes_shown": CHANGES_SHOWN,
        "actions": list(Action),
        "query": query,
        "chosen": chosen,
        "next_url": None if not found.next else links.with_query("/log", {**chosen, "after": found.next}),
        "first_url": links.with_query("/log", chosen) if query.after else None,
    }


def subject_url(entry: AuditEntryResponse) -> str | None:
    """Where the subject of an entry is found; None where it has no page."""
    match entry.action.partition("."):
        case ("run", _, _):
            return links.run(entry.subject)
        case ("schedule" | "gate", _, _):
            return links.schedule(entry.subject)
        case ("backfill", _, _) if entry.subject.isascii() and entry.subject.isdigit():
            return links.with_query("/runs", {"backfill": entry.subject})
        case ("node", _, _):
            return "/workers"
        case ("token" | "session", _, _):
            return "/tokens"
    return None
