"""Search: schedules, jobs, runs, workers and pages by a part of their name."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.access import Role
from fencepost.operations.words import PLAIN_PATTERN
from fencepost.web.dashboard.page import Shown, Visit, page
from fencepost.web.dashboard.search import search


class SearchQuery(Struct, frozen=True):
    """What is looked for; `glance` says that the reader still types."""

    text: Annotated[str, Meta(max_length=200, pattern=PLAIN_PATTERN)] = ""
    glance: bool = False


@page("/search", Role.VIEWER, title="Search", template="search.html", section="", query=SearchQuery)
async def search_page(visit: Visit[SearchQuery]) -> Shown:
    """A few of each kind."""
    query = visit.query
    kinds = await search(visit.control, visit.principal.role, query.text, glance=query.glance)
    return {"query": query, "kinds": kinds}
