"""Tokens, sign-in links and sessions: who can come in, and the way to end that."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.access import EVERYWHERE, Role
from fencepost.operations.access import ListSessionsRequest, ListTokensRequest, list_sessions, list_tokens
from fencepost.operations.paging import CURSOR_LENGTH_MAX
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Shown, Visit, page

LIMIT = 50
DAY_S = 86_400
LIFETIMES = ((DAY_S, "a day"), (30 * DAY_S, "30 days"), (90 * DAY_S, "90 days"), (365 * DAY_S, "a year"))
LINK_LIFETIMES = ((600, "10 minutes"), (3_600, "an hour"), (DAY_S, "a day"))
OVERLAPS = ((0, "at once"), (3_600, "in an hour"), (DAY_S, "in a day"), (7 * DAY_S, "in a week"))
ROLES_OF_PEOPLE = tuple(one for one in Role if one is not Role.WORKER)
Place = Annotated[str, Meta(max_length=CURSOR_LENGTH_MAX)]


class TokenQuery(Struct, frozen=True):
    """Which parts of the two lists."""

    after: Place = ""
    sessions: Place = ""


@page("/tokens", Role.ADMIN, title="Tokens", template="tokens.html", section="tokens", query=TokenQuery)
async def tokens_page(visit: Visit[TokenQuery]) -> Shown:
    """Tokens and sessions that this principal may see, the newest first."""
    query, control = visit.query, visit.control
    tokens, sessions = await asyncio.gather(
        list_tokens.carry_out(control, ListTokensRequest(limit=LIMIT, after=query.after or None)),
        list_sessions.carry_out(control, ListSessionsRequest(limit=LIMIT, after=query.sessions or None)),
    )
    return {
        "tokens": tokens.items,
        "sessions": sessions.items,
        "roles": [*ROLES_OF_PEOPLE, Role.WORKER],
        "roles_of_people": ROLES_OF_PEOPLE,
        "lifetimes": LIFETIMES,
        "link_lifetimes": LINK_LIFETIMES,
        "overlaps": OVERLAPS,
        "everywhere": visit.principal.namespace == EVERYWHERE,
        "mine": visit.principal.credential_id,
        "next_url": _url(tokens.next, query.sessions) if tokens.next else None,
        "next_sessions_url": _url(query.after, sessions.next) if sessions.next else None,
        "first_url": "/tokens" if query.after or query.sessions else None,
    }


def _url(after: str | None, sessions: str | None) -> str:
    return links.with_query("/tokens", {"after": after, "sessions": sessions})
