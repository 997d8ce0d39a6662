"""Notifications: who is told of what, and what is wrong at this moment."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from fencepost.model.access import Role
from fencepost.model.notification import Alarm, Event, TargetKind
from fencepost.operations.notify import ListTargetsRequest, list_targets
from fencepost.operations.paging import CURSOR_LENGTH_MAX
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Shown, Visit, page

LIMIT = 50
ALARMS_MAX = 100
KINDS = (TargetKind.WEBHOOK, TargetKind.SLACK, TargetKind.EMAIL)


class NotifyQuery(Struct, frozen=True):
    """From which target on."""

    after: Annotated[str, Meta(max_length=CURSOR_LENGTH_MAX)] = ""


@page(
    "/notifications",
    Role.VIEWER,
    title="Notifications",
    template="notifications.html",
    section="notifications",
    query=NotifyQuery,
)
async def notifications_page(visit: Visit[NotifyQuery]) -> Shown:
    """Targets by name, and the alarms that are open."""
    control = visit.control
    targets, alarms = await asyncio.gather(
        list_targets.carry_out(control, ListTargetsRequest(limit=LIMIT, after=visit.query.after or None)),
        control.store.notifications.alarms(control.namespace),
    )
    open_ = sorted((one for one in alarms if one.ended_at is None), key=lambda one: (one.since, one.subject))
    return {
        "targets": targets.items,
        "alarms": [(one, _link(one)) for one in open_[:ALARMS_MAX]],
        "total": len(open_),
        "kinds": KINDS,
        "events": tuple(Event),
        "next_url": links.with_query("/notifications", {"after": targets.next}) if targets.next else None,
        "first_url": "/notifications" if visit.query.after else None,
    }


def _link(alarm: Alarm) -> str:
    """The page of what an alarm is about."""
    match alarm.event:
        case Event.STUCK:
            return links.run(alarm.subject)
        case Event.INCOMPLETE:
            return links.job(alarm.subject)
        case _:
            return links.schedule(alarm.subject)
