"""Which runs a page asks for, by what stands in its address."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, structs

from fencepost.model.identifiers import JobName, NodeId, Queue, RunKey, ScheduleId
from fencepost.model.run import Origin, RunFilter, RunList, RunPlace, RunState
from fencepost.operations.paging import CURSOR_LENGTH_MAX, decode_cursor
from fencepost.operations.runs import run_cursor
from fencepost.operations.words import INTEGER_MAX, PLAIN_PATTERN, read_instant, read_when
from fencepost.web.dashboard import links

LIMIT_DEFAULT, LIMIT_MAX = 50, 200
Short: TypeAlias = Annotated[str, Meta(max_length=300, pattern=PLAIN_PATTERN)]
Place: TypeAlias = Annotated[str, Meta(max_length=CURSOR_LENGTH_MAX, pattern=PLAIN_PATTERN)]


class DeadQuery(Struct, frozen=True, omit_defaults=True):
    """Which runs; what is left empty is not asked for."""

    text: Short = ""
    schedule: Short = ""
    job: Short = ""
    queue: Short = ""
    error: Short = ""
    since: Annotated[str, Meta(max_length=64)] = ""
    until: Annotated[str, Meta(max_length=64)] = ""
    after: Place = ""
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = LIMIT_DEFAULT


class RunQuery(DeadQuery, frozen=True, omit_defaults=True):
    """The same in any state."""

    state: RunState | None = None
    worker: Short = ""
    origin: Origin | None = None
    backfill: Annotated[int, Meta(ge=1, le=INTEGER_MAX)] | None = None
    held: bool = False


def filter_of(query: DeadQuery, now: datetime, limit: int, **fields: Any) -> RunFilter:
    """The filter that is meant; lengths of time are read as before the store's time."""
    return RunFilter(
        schedule_id=ScheduleId(query.schedule.strip()) if query.schedule.strip() else None,
        job=JobName(query.job.strip()) if query.job.strip() else None,
        queue=Queue(query.queue.strip()) if query.queue.strip() else None,
        text=query.text.strip() or None,
        error=query.error.strip() or None,
        since=read_when("since", query.since, now) if query.since else None,
        until=read_when("until", query.until, now) if query.until else None,
        after=behind(query.after) if query.after else None,
        limit=limit,
        **fields,
    )


def runs_filter(query: RunQuery, now: datetime, limit: int) -> RunFilter:
    """The filter of the page of all runs. What is yet to fire is there where somebody asks for it: otherwise
    the next minute would stand before all that has happened."""
    found = filter_of(
        query,
        now,
        limit,
        state=query.state,
        worker=NodeId(query.worker.strip()) if query.worker.strip() else None,
        origin=query.origin,
        backfill_id=query.backfill,
        held=True if query.held else None,
    )
    asked_for = query.state or query.until or query.held or query.text
    return found if asked_for else replace(found, until=now)


def chosen(query: DeadQuery) -> dict[str, Any]:
    """What of it narrows the list: all but where it goes on and how long it is."""
    return {
        name: value
        for name, value in structs.asdict(query).items()
        if name not in ("after", "limit") and value not in ("", None, False)
    }


def url_of(path: str, query: DeadQuery, after: str = "", **changed: Any) -> str:
    """The address of the same list from another place on."""
    values = {**chosen(query), **changed, "after": after}
    if query.limit != LIMIT_DEFAULT:
        values["limit"] = query.limit
    return links.with_query(path, values)


def following_url(path: str, query: DeadQuery, found: RunList) -> str | None:
    """The address of the next page; None where there is none."""
    place = found.following(query.limit)
    return None if place is None else url_of(path, query, run_cursor(place))


def behind(cursor: str) -> RunPlace:
    """The place behind the last run of the page before."""
    fire_time, run_key = decode_cursor(cursor, tuple[str, str])
    return read_instant("after", fire_time), RunKey(run_key.replace("\0", ""))
