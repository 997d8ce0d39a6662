"""Dead letters: what gave up, what of it looks alike, and a second chance for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from fencepost.core.masking import masked_text
from fencepost.model.access import Role
from fencepost.model.dataclasses import dataclass
from fencepost.model.run import RunRecord, RunState
from fencepost.model.views import COUNTED_MAX, shown_error
from fencepost.operations import runs as run_operations
from fencepost.operations.dead import CHOSEN_MAX
from fencepost.web.dashboard.page import Shown, Visit, page
from fencepost.web.dashboard.run_query import DeadQuery, chosen, filter_of, following_url, url_of

PATH = "/dead"
LOOKED_AT = 100
"""The newest so many are put into groups: one statement, whatever there is."""
GROUPS_SHOWN = 12
PREVIEWED_MAX = 200
NAMED = 15
NO_ERROR = "no error was kept"
ERROR_ASKED_MAX = 120


@dataclass(frozen=True)
class Group:
    """Dead runs of one job with the same first line of their error."""

    job: str
    error: str
    count: int
    newest: datetime
    url: str


class ReplayQuery(DeadQuery, frozen=True, omit_defaults=True):
    """Which dead runs to send on their way again, and how fast."""

    every_s: Annotated[float, Meta(ge=0, le=86_400)] = 0.0
    first_in_s: Annotated[float, Meta(ge=0, le=86_400)] = 0.0


@page(PATH, Role.VIEWER, title="Dead letters", template="dead.html", section="dead", query=DeadQuery)
async def dead_page(visit: Visit[DeadQuery]) -> Shown:
    """A page of them, and before the first one what they have in common."""
    control, query = visit.control, visit.query
    most = query.limit + 1 if query.after else max(LOOKED_AT, query.limit) + 1
    wanted = filter_of(query, visit.now, most, state=RunState.DEAD)
    found, jobs = await asyncio.gather(run_operations.find_runs(control, wanted), control.jobs())
    shown = found[: query.limit]
    groups = [] if query.after else groups_of(found[:LOOKED_AT])
    return {
        "runs": shown,
        "kinds": groups[:GROUPS_SHOWN],
        "kinds_left": max(len(groups) - GROUPS_SHOWN, 0),
        "looked_at": LOOKED_AT if len(found) > LOOKED_AT else None,
        "total": _all_dead(visit, bool(chosen(query))),
        "query": query,
        "chosen": chosen(query),
        "jobs": sorted(jobs),
        "next_url": following_url(PATH, query, found),
        "first_url": url_of(PATH, query) if query.after else None,
        "here": url_of(PATH, query, query.after),
        "replay_url": url_of(f"{PATH}/replay", query),
    }


@page(
    "/dead/replay",
    Role.OPERATOR,
    title="Replay dead letters",
    template="dead_replay.html",
    section="dead",
    query=ReplayQuery,
)
async def replay_page(visit: Visit[ReplayQuery]) -> Shown:
    """What a replay by filter would send on its way; nothing is written."""
    query = visit.query
    narrowed = {name: value for name, value in chosen(query).items() if name not in ("every_s", "first_in_s")}
    wanted = filter_of(query, visit.now, PREVIEWED_MAX + 1, state=RunState.DEAD)
    found = await run_operations.find_runs(visit.control, wanted)
    total = _all_dead(visit, bool(narrowed))
    count = max(min(len(found), PREVIEWED_MAX), total)
    return {
        "query": query,
        "chosen": narrowed,
        "count": count,
        "more": len(found) > max(PREVIEWED_MAX, total)
        or total >= COUNTED_MAX
        or found.searched_to is not None,
        "kinds": groups_of(found[:PREVIEWED_MAX])[:GROUPS_SHOWN],
        "looked_at": PREVIEWED_MAX if len(found) > PREVIEWED_MAX else None,
        "named": found[:NAMED],
        "replayed_max": CHOSEN_MAX,
        "duration_s": max(count - 1, 0) * query.every_s,
        "fields": _fields(narrowed, query),
        "back": url_of(PATH, query, every_s=None, first_in_s=None),
    }


def _all_dead(visit: Visit[Any], narrowed: bool) -> int:
    """How many there are; nobody knows where a filter is given, for which there is no cheap count."""
    return 0 if narrowed else visit.attention.dead


def _fields(narrowed: dict[str, Any], query: ReplayQuery) -> dict[str, Any]:
    """What the form says: a choice, or everything where nothing is chosen."""
    which = {f"choice.{name}": value for name, value in narrowed.items()} or {"everything": "yes"}
    return {**which, "every_s": query.every_s, "first_in_s": query.first_in_s, "confirmed": "yes"}


def groups_of(runs: Sequence[RunRecord]) -> list[Group]:
    """The largest first."""
    found: dict[tuple[str, str], list[RunRecord]] = {}
    for one in runs:
        found.setdefault((one.job, shown_error(one.error) or NO_ERROR), []).append(one)
    groups = [
        Group(job, masked_text(error), len(alike), max(one.fire_time for one in alike), _url(job, error))
        for (job, error), alike in found.items()
    ]
    return sorted(groups, key=lambda one: (-one.count, one.job, one.error))


def _url(job: str, error: str) -> str:
    # An address is kept by browsers and proxies: no secret of an error gets into one.
    is_plain = error != NO_ERROR and masked_text(error) == error
    asked = error[:ERROR_ASKED_MAX].replace("\0", "") if is_plain else ""
    return url_of(PATH, DeadQuery(job=job, error=asked.strip()))
