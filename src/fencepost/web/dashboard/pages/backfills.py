"""Backfills: how far each is, and how its runs stand."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.access import Role
from fencepost.model.times import from_utc_text
from fencepost.operations.backfills import ListBackfillsRequest, list_backfills
from fencepost.operations.paging import CURSOR_LENGTH_MAX
from fencepost.operations.responses.backfills import BackfillResponse
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Shown, Visit, page

LIMIT_DEFAULT, LIMIT_MAX = 25, 100


class BackfillsQuery(Struct, frozen=True):
    """Which part of the list."""

    after: Annotated[str, Meta(max_length=CURSOR_LENGTH_MAX)] = ""
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = LIMIT_DEFAULT


@page(
    "/backfills",
    Role.VIEWER,
    title="Backfills",
    template="backfills.html",
    section="backfills",
    query=BackfillsQuery,
)
async def backfills_page(visit: Visit[BackfillsQuery]) -> Shown:
    """The latest first."""
    query = visit.query
    request = ListBackfillsRequest(limit=query.limit, after=query.after or None)
    found = await list_backfills.carry_out(visit.control, request)
    return {
        "backfills": [(one, filled(one)) for one in found.items],
        "next_url": None if found.next is None else links.with_query("/backfills", {"after": found.next}),
        "first_url": "/backfills" if query.after else None,
    }


def filled(one: BackfillResponse) -> float:
    """The share of its range whose runs have been written."""
    since, until, through = (from_utc_text(text) for text in (one.since, one.until, one.filled_through))
    return 1.0 if one.over or until <= since else min(max((through - since) / (until - since), 0.0), 1.0)
