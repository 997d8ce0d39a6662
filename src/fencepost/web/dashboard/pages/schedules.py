"""Schedules: what there is, when each fires next, and how its last runs went."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from fencepost.model.access import Role
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.schedule import ScheduleFilter, ScheduleState
from fencepost.operations.paging import cut
from fencepost.web.dashboard import links
from fencepost.web.dashboard.page import Shown, Visit, page
from fencepost.web.dashboard.strips import STRIP_RUNS, strip_of
from fencepost.web.dashboard.tell import Tell
from fencepost.web.dashboard.upcoming import coming

LIMIT_DEFAULT, LIMIT_MAX = 50, 100
"""Each brings a strip of thirty runs."""
LABELS_MAX = 200
Short = Annotated[str, Meta(max_length=300)]


class ScheduleQuery(Struct, frozen=True, omit_defaults=True):
    """Which schedules."""

    text: Short = ""
    state: ScheduleState | None = None
    job: Short = ""
    label: Short = ""
    frozen: bool | None = None
    after: Short = ""
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = LIMIT_DEFAULT


@page(
    "/schedules",
    Role.VIEWER,
    title="Schedules",
    template="schedules.html",
    section="schedules",
    query=ScheduleQuery,
)
async def schedules_page(visit: Visit[ScheduleQuery]) -> Shown:
    """A page of them, by id."""
    store, namespace, query = visit.control.store, visit.control.namespace, visit.query
    wanted = _filter(query)
    found, total, labels, jobs = await asyncio.gather(
        store.schedules.find(namespace, replace(wanted, limit=query.limit + 1, after=_after(query))),
        store.schedules.count(namespace, wanted),
        store.schedules.labels(namespace, LABELS_MAX),
        store.jobs.all(namespace),
    )
    shown, last = cut(found, query.limit)
    ids = [one.schedule_id for one in shown]
    strips, ahead = await asyncio.gather(
        store.ledger.strips(namespace, ids, STRIP_RUNS), coming(shown, visit.now, visit.control.offload_short)
    )
    tell = Tell(visit.now, visit.zone)
    return {
        "rows": [
            (one, ahead[one.schedule_id], strip_of(strips.get(one.schedule_id, ()), tell, one.schedule_id))
            for one in shown
        ],
        "total": total,
        "labels": labels,
        "jobs": sorted(jobs),
        "query": query,
        "filtered": wanted != ScheduleFilter(),
        "next_url": None if last is None else _url(query, after=str(last.schedule_id)),
        "first_url": _url(query, after="") if query.after else None,
        "here": _url(query),
    }


def _filter(query: ScheduleQuery) -> ScheduleFilter:
    return ScheduleFilter(
        text=query.text.strip() or None,
        state=query.state,
        job=JobName(query.job) if query.job else None,
        label=query.label.strip() or None,
        frozen=query.frozen,
    )


def _after(query: ScheduleQuery) -> ScheduleId | None:
    return ScheduleId(query.after) if query.after else None


def _url(query: ScheduleQuery, **changed: Any) -> str:
    values = {**structs.asdict(query), **changed}
    if values["limit"] == LIMIT_DEFAULT:
        del values["limit"]
    if values["frozen"] is False:
        values["frozen"] = "false"
    return links.with_query("/schedules", values)
