"""One schedule: what became of its ticks, what is to come, what it says and has said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from msgspec import Meta, Struct

from fencepost.core.masking import masked
from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.schedule import Schedule
from fencepost.model.times import from_utc_text
from fencepost.operations.control import Control
from fencepost.operations.responses.schedules import VersionResponse, version_responses
from fencepost.operations.responses.triggers import described
from fencepost.operations.why import TickRequest, why_tick
from fencepost.operations.words import read_instant
from fencepost.web.dashboard import links
from fencepost.web.dashboard.charts.heat import heat
from fencepost.web.dashboard.grid import WORDS, Cell
from fencepost.web.dashboard.heat_rows import heads, heat_rows, title_of
from fencepost.web.dashboard.page import Rendered, Shown, Visit, page
from fencepost.web.dashboard.schedule_form import when_of
from fencepost.web.dashboard.schedule_reading import Seen, known, see
from fencepost.web.dashboard.shown_json import shown_json
from fencepost.web.dashboard.spans import SPANS_S, Span, cut_for, offered
from fencepost.web.dashboard.tell import Tell, count
from fencepost.web.dashboard.trends import Trend, durations_of, lateness_of

VERSIONS_SHOWN = 5
VERSIONS_MAX = 100
NOTABLE_SHOWN = 30
OPEN = ("unaccounted", "running", "ready", "held")
"""What has not ended."""
UNJUDGED = frozenset({"planned", "forgotten"})
ORDINARY = UNJUDGED | {"fine"}
RAN = ("fine", "late", "replayed")
When = Annotated[str, Meta(max_length=64)]


class GridQuery(Struct, frozen=True):
    """Which stretch of time, and how much of the history."""

    span: Span | None = None
    until: When = ""
    versions: Annotated[str, Meta(max_length=10)] = ""


class TickQuery(Struct, frozen=True):
    """Which tick."""

    at: When = ""


@page(
    "/schedules/{schedule_id}",
    Role.VIEWER,
    title="Schedule",
    template="schedule.html",
    section="schedules",
    query=GridQuery,
)
async def schedule_page(visit: Visit[GridQuery]) -> Shown:
    """All there is to see of it."""
    schedule_id, query = visit.path["schedule_id"], visit.query
    until = read_instant("until", query.until) if query.until else None
    seen = await see(visit.control, schedule_id, visit.now, query.span, until)
    tell = Tell(visit.now, visit.zone)
    when, tz = when_of(seen.schedule.spec.trigger)
    everything = query.versions == "all"
    versions = await _versions(visit.control, seen.schedule, VERSIONS_MAX if everything else VERSIONS_SHOWN)
    values = {
        "seen": seen,
        "schedule": seen.schedule,
        "spec": seen.schedule.spec,
        "when": when,
        "tz": tz,
        "fires": described(seen.schedule.spec, schedule_id),
        "payload": shown_json(masked(seen.schedule.spec.payload)),
        "counts": seen.grid.counts(),
        "words": WORDS,
        "share": _accounted(seen),
        "ran": _ran(seen),
        "heat": _heat(seen, tell),
        "trends": _trends(seen, tell),
        "notable": _notable(seen, tell),
        "choices": _choices(seen),
        "older": _here(seen, seen.since),
        "newer": _newer(seen, visit.now),
        "versions": versions,
        "versions_left": seen.schedule.version - len(versions),
        "all_versions": None if everything else _all_versions(schedule_id),
    }
    return Rendered(values, title=schedule_id)


@page(
    "/schedules/{schedule_id}/why",
    Role.VIEWER,
    title="Why?",
    template="why.html",
    section="schedules",
    query=TickQuery,
)
async def why_page(visit: Visit[TickQuery]) -> Shown:
    """The explanation of one tick, also of one that has no run."""
    schedule_id = visit.path["schedule_id"]
    if not visit.query.at:
        raise UsageError("at: say which tick, such as ?at=2026-03-01T00:00:00Z")
    await known(visit.control, schedule_id)
    explanation = await why_tick.carry_out(
        visit.control, TickRequest(schedule_id=schedule_id, fire_time=visit.query.at)
    )
    return {
        "explanation": explanation,
        "schedule_id": schedule_id,
        "fire_time": from_utc_text(explanation.fire_time),
    }


def _heat(seen: Seen, tell: Tell) -> Any:
    schedule_id = str(seen.schedule.schedule_id)

    def href(cell: Cell) -> str:
        return links.why(schedule_id, cell.fire_time) if cell.run_key is None else links.run(cell.run_key)

    cut = cut_for(seen.period_s)
    rows = heat_rows(seen.grid.cells, cut, tell, href)
    said = ", ".join(f"{count(number)} {WORDS[mark]}" for mark, number in seen.grid.counts().items())
    label = f"Ticks of {schedule_id}, {tell.words(seen.since)} to {tell.words(seen.until)}: {said or 'none'}"
    return heat(rows, label, heads(cut))


def _trends(seen: Seen, tell: Tell) -> list[tuple[str, str, Trend]]:
    """Duration and lateness over the time of the grid."""
    clock = tell.minute if seen.until - seen.since <= timedelta(days=1) else tell.day
    stretch = seen.runs, seen.since, seen.until, clock
    return [("duration", "Duration", durations_of(*stretch)), ("lateness", "Lateness", lateness_of(*stretch))]


def _notable(seen: Seen, tell: Tell) -> list[tuple[str, str, str]]:
    """The ticks that were not simply on time, newest first: mark, words, where to look."""
    schedule_id = seen.schedule.schedule_id
    found = [one for one in reversed(seen.grid.cells) if one.mark not in ORDINARY]
    return [
        (
            one.mark,
            title_of(one, tell),
            links.why(schedule_id, one.fire_time) if one.run_key is None else links.run(one.run_key),
        )
        for one in found[:NOTABLE_SHOWN]
    ]


def _accounted(seen: Seen) -> float | None:
    """The share of the ticks that are due that have ended."""
    counts = _judged(seen)
    return 1 - sum(counts.get(mark, 0) for mark in OPEN) / sum(counts.values()) if counts else None


def _ran(seen: Seen) -> str:
    """`0 of 47 ran`."""
    counts = _judged(seen)
    return f"{sum(counts.get(mark, 0) for mark in RAN)} of {sum(counts.values())} ran"


def _judged(seen: Seen) -> dict[str, int]:
    return {mark: number for mark, number in seen.grid.counts().items() if mark not in UNJUDGED}


def _choices(seen: Seen) -> list[tuple[str, str, bool]]:
    names = list(dict.fromkeys([*offered(seen.period_s), seen.span]))
    path = links.schedule(seen.schedule.schedule_id)
    return [
        (name, links.with_query(path, {"span": name}), name == seen.span)
        for name in sorted(names, key=lambda one: SPANS_S[one])
    ]


def _here(seen: Seen, until: datetime) -> str:
    path = links.schedule(seen.schedule.schedule_id)
    return links.with_query(path, {"span": seen.span, "until": until.replace(microsecond=0)})


def _newer(seen: Seen, now: datetime) -> str | None:
    if seen.until >= now - timedelta(seconds=1):
        return None
    later = seen.until + timedelta(seconds=SPANS_S[seen.span])
    path = links.schedule(seen.schedule.schedule_id)
    return _here(seen, later) if later < now else links.with_query(path, {"span": seen.span})


async def _versions(control: Control, schedule: Schedule, most: int) -> Sequence[VersionResponse]:
    """The latest first; one more is compared with than is shown."""
    before = max(schedule.version - most - 1, 0)
    kept = await control.versions(schedule.schedule_id, after=before, limit=most + 1)
    shapes = await control.offload_short(lambda: version_responses(schedule.schedule_id, kept))
    return shapes[::-1][:most]


def _all_versions(schedule_id: str) -> str:
    return links.with_query(links.schedule(schedule_id), {"versions": "all"}) + "#versions"
