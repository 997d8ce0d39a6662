"""The matrix: all schedules over time, the outcome of every tick in one picture."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from fencepost.core.catchup import ON_TIME_MAX
from fencepost.model.access import Role
from fencepost.model.identifiers import ScheduleId
from fencepost.model.schedule import ScheduleFilter
from fencepost.model.views import ScheduleOutcomes
from fencepost.operations.paging import cut
from fencepost.operations.words import read_instant
from fencepost.web.dashboard import links
from fencepost.web.dashboard.charts.lane import axis, lane
from fencepost.web.dashboard.matrix import WORDS, WORST_FIRST, MatrixRow, cells_of, lane_of
from fencepost.web.dashboard.page import Shown, Visit, page
from fencepost.web.dashboard.stretches import COLUMNS, Width, edges_of, heads_of
from fencepost.web.dashboard.tell import Tell

PATH = "/matrix"
SHOWN_MAX = 30
"""How many schedules a page shows."""
LABELS_MAX = 200
Short = Annotated[str, Meta(max_length=300)]


class MatrixQuery(Struct, frozen=True, omit_defaults=True):
    """Which schedules, and which stretch of time."""

    text: Short = ""
    label: Short = ""
    span: Width = "24h"
    until: Annotated[str, Meta(max_length=64)] = ""
    after: Short = ""


@page(PATH, Role.VIEWER, title="Matrix", template="matrix.html", section="matrix", query=MatrixQuery)
async def matrix_page(visit: Visit[MatrixQuery]) -> Shown:
    """A page of schedules, by id."""
    store, namespace, query = visit.control.store, visit.control.namespace, visit.query
    wanted = ScheduleFilter(text=query.text.strip() or None, label=query.label.strip() or None)
    after = ScheduleId(query.after) if query.after else None
    found, total, labels = await asyncio.gather(
        store.schedules.find(namespace, replace(wanted, limit=SHOWN_MAX + 1, after=after)),
        store.schedules.count(namespace, wanted),
        store.schedules.labels(namespace, LABELS_MAX),
    )
    shown, last = cut(found, SHOWN_MAX)
    lanes = await _lanes(visit, [one.schedule_id for one in shown])
    edges, tell = _edges(visit), Tell(visit.now, visit.zone)
    columns = len(edges) - 1
    counts = Counter(one.mark for one in cells_of(lanes))
    return {
        "lanes": [
            (one.schedule_id, lane(one.cells, columns, one.label, one.unknown, one.why)) for one in lanes
        ],
        "axis": axis(heads_of(query.span, edges, visit.zone), columns),
        "counts": [(mark, WORDS[mark], counts[mark]) for mark in WORST_FIRST if counts[mark]],
        "unknown": any(one.unknown for one in lanes),
        "since": tell.time(edges[0], "full"),
        "until": tell.time(edges[-1], "full"),
        "total": total,
        "labels": labels,
        "query": query,
        "filtered": wanted != ScheduleFilter(),
        "choices": [(name, _url(query, span=name), name == query.span) for name in COLUMNS],
        "older": _url(query, until=edges[0]),
        "newer": _newer(visit),
        "next_url": None if last is None else _url(query, after=str(last.schedule_id)),
        "first_url": _url(query, after="") if query.after else None,
    }


async def _lanes(visit: Visit[MatrixQuery], ids: list[ScheduleId]) -> list[MatrixRow]:
    """One reading for all of them."""
    edges, columns = _edges(visit), COLUMNS[visit.query.span]
    found = await visit.control.store.ledger.outcomes(
        visit.control.namespace, ids, edges, columns.runs_max, ON_TIME_MAX.total_seconds()
    )
    tell = Tell(visit.now, visit.zone)
    return [lane_of(one, found.get(one, ScheduleOutcomes()), edges, tell) for one in ids]


def _edges(visit: Visit[MatrixQuery]) -> list[Any]:
    until = read_instant("until", visit.query.until) if visit.query.until else visit.now
    behind = timedelta(microseconds=1) if visit.query.until else timedelta()
    return edges_of(visit.query.span, min(until, visit.now) - behind, visit.zone)


def _newer(visit: Visit[MatrixQuery]) -> str | None:
    edges = _edges(visit)
    if edges[-1] > visit.now:
        return None
    later = edges[-1] + (edges[-1] - edges[0])
    return _url(visit.query, until=later if later < visit.now else "")


def _url(query: MatrixQuery, **changed: Any) -> str:
    values = {**structs.asdict(query), **changed}
    if values["span"] == "24h":
        values["span"] = ""
    return links.with_query(PATH, values)
