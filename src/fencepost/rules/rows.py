"""Rows of any store as values of the model.

A row is anything that gives a column by its name. Moments are aware datetimes in UTC and JSON is
text, so a store with another notion of time converts before it calls. The names of the columns are
those of the tables; what a query computes is named in the docstring of the function that reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol

import msgspec

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.calendar import CalendarRecord
from fencepost.model.claiming import DueTick, GateFacts, Head, Outlook, ScheduleFacts, StartedRun
from fencepost.model.codec import job_from_text, limit_from_text, schedule_from_text
from fencepost.model.identifiers import Fence
from fencepost.model.json import JsonObject
from fencepost.model.limits import JobLimit
from fencepost.model.missed import MissedRange
from fencepost.model.plan import Cursor, Outlived
from fencepost.model.policies import AT_ONCE_MAX, CatchUp
from fencepost.model.rescue import Expired
from fencepost.model.run import Attempt, Claim, Hold, Origin, RunRecord, RunState, Ticket
from fencepost.model.run_log import LogChunk, LoggedChunk
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState, ScheduleVersion
from fencepost.model.status import QueueDepth, QueueView
from fencepost.triggers import stored_trigger

SPECS_MAX = 1_024
_payload = msgspec.json.Decoder(dict[str, Any]).decode
ORIGINS = {one.value: one for one in Origin}


class Row(Protocol):
    """One row of an answer."""

    def __getitem__(self, column: str, /) -> Any: ...


def to_run_record(row: Row) -> RunRecord:
    """A run; `state` is the one to show, `spec` that of the run's version, if it has a schedule."""
    return RunRecord(
        namespace=row["namespace"],
        run_key=row["run_key"],
        schedule_id=row["schedule_id"],
        job=row["job"],
        fire_time=row["fire_time"],
        version=row["version"],
        state=RunState(row["state"]),
        reason=row["reason"],
        attempt=row["attempt"],
        fence=row["fence"],
        epoch=row["epoch"],
        run_at=row["run_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        worker=row["worker"],
        error=row["error"],
        queue=row["queue"],
        priority=row["priority"],
        payload=_shown_payload(row),
        progress=row["progress"],
        cancel_requested=bool(row["cancel_requested"]),
        origin=Origin(row["origin"]),
        held=Hold(row["held"]),
        met=row["met"],
        begun_at=row["begun_at"],
        spent=row["spent"],
        backfill_id=row["backfill_id"],
        alive_until=row["alive_until"],
        note=row["note"],
        progress_at=row["progress_at"],
    )


def to_claim(row: Row, previous: Any = None) -> Claim:
    """A claimed run; `spec` is that of its version, `previous` its schedule's last success."""
    return Claim(
        namespace=row["namespace"],
        run_key=row["run_key"],
        schedule_id=row["schedule_id"],
        job=row["job"],
        fire_time=row["fire_time"],
        version=row["version"],
        attempt=row["attempt"],
        fence=row["fence"],
        epoch=row["epoch"],
        payload=to_payload(row),
        run_at=row["run_at"],
        started_at=row["started_at"],
        previous=previous,
        begun_at=row["begun_at"],
        spent=row["spent"],
        queue=row["queue"],
        origin=ORIGINS[row["origin"]],
    )


def to_payload(row: Row) -> JsonObject:
    """The run's own `payload`, else that of the `spec` of its version; empty where dropped.

    Of the spec nothing else is read: a retry does not depend on what newer code wrote beside it.
    """
    if row["payload"] is not None:
        return _payload(row["payload"])
    return {} if row["spec"] is None else _inherited(row["spec"])


def _shown_payload(row: Row) -> JsonObject:
    """The same for a run that is only looked at: a list has many runs of few versions."""
    if row["payload"] is not None or row["spec"] is None:
        return to_payload(row)
    return dict(_known_payload(row["spec"]))


def _inherited(spec_text: str) -> JsonObject:
    payload: JsonObject = json.loads(spec_text).get("payload", {})
    return payload


def to_ticket(row: Row) -> Ticket:
    """What an attempt must show."""
    return Ticket(row["namespace"], row["run_key"], row["attempt"], row["fence"])


def to_attempt(row: Row) -> Attempt:
    """An attempt that was kept by itself."""
    return Attempt(
        attempt=row["attempt"],
        fence=Fence(row["fence"]),
        worker=row["worker"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outcome=row["outcome"],
        error=row["error"],
        detail=row["detail"],
        output=row["output"],
    )


def to_expired(rows: Iterable[Row]) -> list[Expired]:
    """Running runs that show no life; `silent_for_s` and `job_spec` are computed by the query.

    One whose job this release cannot read is left to a release that can: how often it may run is not known.
    """
    found = []
    for row in rows:
        with suppress(InvalidSpec):
            found.append(_to_expired(row))
    return found


def _to_expired(row: Row) -> Expired:
    spec = row["job_spec"]
    return Expired(
        ticket=to_ticket(row),
        worker=row["worker"],
        silent_for_s=float(row["silent_for_s"]),
        cancel_requested=bool(row["cancel_requested"]),
        spent=row["spent"],
        job=None if spec is None else job_from_text(spec),
    )


def to_outlook(row: Row) -> Outlook:
    """`now`, `next_due_at`, and the heads of each kind as rows of priority, `run_at` and queue; of lines
    with the limits of their jobs. A line whose limits only a newer release can read has nothing for us."""
    return Outlook(
        now=row["now"],
        directs=tuple(Head(*one) for one in row["directs"]),
        ticks=tuple(Head(*one) for one in row["ticks"]),
        lined=tuple(Head(*one) for *one, terms in row["lined"] if limit_if_readable(terms) is not None),
        next_due_at=row["next_due_at"],
    )


def to_depth(row: Row) -> QueueDepth:
    """Counts of `ready`, `running` and `waiting`, and `oldest_ready_s` and `oldest_waiting_s`."""
    ready_s, waiting_s = (
        None if row[name] is None else float(row[name]) for name in ("oldest_ready_s", "oldest_waiting_s")
    )
    return QueueDepth(row["ready"], row["running"], ready_s, row["waiting"], waiting_s)


def to_queue_view(row: Row) -> QueueView:
    """Counts of `ready`, `waiting` and `running` in a `queue`, and `oldest_s`."""
    oldest_s = row["oldest_s"]
    counts = row["ready"], row["waiting"], row["running"]
    return QueueView(row["queue"], *counts, None if oldest_s is None else float(oldest_s))


def to_facts(
    row: Row, due: Sequence[Row], unfinished: Sequence[Row], finished: Sequence[Row], gate: GateFacts
) -> ScheduleFacts:
    """What is known of one schedule.

    The row has `namespace`, `schedule_id`, `newest_due`, `previous`, `unplanned` and, where that is known,
    `unplanned_spec`: the latest version's, which may not fire then (`Plan.next_fire_at`). Each due row has
    `run_key`, `fire_time`, `run_at`, `origin`, `held`, `at_once_max` (of its backfill, if it has one),
    `is_new` (it has no reason) and the `spec` of its version; live ticks first, each group ascending by fire
    time. Started rows have `run_key`, `fire_time`, `finished_at`, `origin`, `cancel_requested` and
    `begun_at`. A due tick whose spec this release cannot read is left out: it waits for a worker that can.
    """
    return ScheduleFacts(
        namespace=row["namespace"],
        schedule_id=row["schedule_id"],
        due=tuple(tick for tick in map(_to_due_tick, due) if tick is not None),
        newest_due=row["newest_due"],
        unfinished=tuple(map(to_started_run, unfinished)),
        finished=tuple(map(to_started_run, finished)),
        previous=row["previous"],
        gate=gate,
        unplanned=_unplanned(row),
    )


def _unplanned(row: Row) -> datetime | None:
    moment = row["unplanned"]
    known = moment is not None and _fires(row["unplanned_spec"], row["schedule_id"], moment)
    return moment if known else None


@lru_cache(SPECS_MAX)
def _fires(spec_text: str, schedule_id: str, moment: datetime) -> bool:
    """Whether it fires at exactly that moment, as far as this release can read it."""
    spec = _known_spec(spec_text)
    try:
        return spec is not None and moment in stored_trigger(spec, schedule_id)
    except UsageError:
        return False


def to_started_run(row: Row) -> StartedRun:
    """A run that some worker has begun."""
    return StartedRun(
        run_key=row["run_key"],
        fire_time=row["fire_time"],
        finished_at=row["finished_at"],
        origin=Origin(row["origin"]),
        cancel_requested=bool(row["cancel_requested"]),
        begun_at=row["begun_at"],
    )


def to_schedule(row: Row) -> Schedule:
    """A schedule, with the `planned_through` of its cursor."""
    code_spec = row["code_spec"]
    return Schedule(
        namespace=row["namespace"],
        schedule_id=row["schedule_id"],
        shard=row["shard"],
        version=row["version"],
        state=ScheduleState(row["state"]),
        spec=_spec_of(row["schedule_id"], row["spec"]),
        planned_through=row["planned_through"],
        updated_at=row["updated_at"],
        code_spec=None if code_spec is None else _spec_of(row["schedule_id"], code_spec),
        code_digest=row["code_digest"],
        frozen=bool(row["frozen"]),
    )


def to_schedule_version(row: Row) -> ScheduleVersion:
    """One entry of a schedule's history."""
    return ScheduleVersion(
        version=row["version"],
        spec=schedule_from_text(row["spec"]),
        in_force_from=row["in_force_from"],
        tzdata=row["tzdata"],
        in_force_until=row["in_force_until"],
    )


def to_cursor(row: Row) -> Cursor:
    """A cursor; `queue` and `priority` of the row are those of the version's job, or the defaults.

    One whose spec this release cannot read has none, so that it does not hide the others of its window.
    """
    spec = _known_spec(row["spec"])
    return Cursor(
        namespace=row["namespace"],
        schedule_id=row["schedule_id"],
        shard=row["shard"],
        version=row["version"],
        planned_through=row["planned_through"],
        spec=spec,
        queue=(spec and spec.queue) or row["queue"],
        priority=(spec and spec.priority) or row["priority"],
        until=row["until"],
        tzdata=row["tzdata"],
        touched=row["touched"],
    )


def to_outlived(row: Row) -> Outlived:
    """A cursor that older rules left behind, with `planned`, the fire times that they put ahead of it."""
    return Outlived(to_cursor(row), row["next_fire_at"], tuple(row["planned"]))


def to_calendar_record(row: Row) -> CalendarRecord:
    """A calendar that was not removed."""
    return CalendarRecord(
        namespace=row["namespace"],
        name=row["name"],
        revision=row["revision"],
        definition=json.loads(row["definition"]),
        updated_at=row["updated_at"],
    )


def to_missed_range(row: Row) -> MissedRange:
    """A range of missed ticks."""
    return MissedRange(
        namespace=row["namespace"],
        schedule_id=row["schedule_id"],
        version=row["version"],
        first=row["first_at"],
        last=row["last_at"],
        count=row["ticks"],
        reason=row["reason"],
    )


def to_logged_chunk(row: Row) -> LoggedChunk:
    """Some lines of a run's log."""
    chunk = LogChunk(row["number"], row["first_line"], row["lines"], row["text"])
    return LoggedChunk(row["attempt"], chunk, row["at"])


def _to_due_tick(row: Row) -> DueTick | None:
    spec = _known_spec(row["spec"])
    if spec is None:
        return None
    overlap, catch_up = spec.overlap, spec.catch_up
    origin = Origin(row["origin"])
    return DueTick(
        run_key=row["run_key"],
        fire_time=row["fire_time"],
        run_at=row["run_at"],
        overlap=overlap,
        catch_up=catch_up,
        origin=origin,
        at_once_max=at_once_max(origin, catch_up, row["at_once_max"]),
        parked=bool(row["held"] & Hold.PARKED),
        job=spec.job,
        payload=spec.payload,
        limited=bool(row["held"] & (Hold.LIMITED | Hold.PACED)),
        is_new=bool(row["is_new"]),
    )


def at_once_max(origin: Origin, catch_up: CatchUp, of_backfill: int | None) -> int:
    """How many runs of that origin a schedule may have unfinished, whatever its overlap says."""
    match origin:
        case Origin.CATCH_UP:
            return catch_up.at_once
        case Origin.BACKFILL:
            return of_backfill or 1
        case _:
            return AT_ONCE_MAX


@lru_cache(SPECS_MAX)
def _known_payload(spec_text: str) -> JsonObject:
    return _inherited(spec_text)


@lru_cache(SPECS_MAX)
def _known_spec(spec_text: str) -> ScheduleSpec | None:
    return _spec_if_readable(spec_text)


@lru_cache(SPECS_MAX)
def limit_if_readable(text: str) -> JobLimit | None:
    """The limits of a job; None where only a newer release can read them."""
    try:
        return limit_from_text(text)
    except InvalidSpec:
        return None


def _spec_if_readable(text: str) -> ScheduleSpec | None:
    try:
        return schedule_from_text(text)
    except InvalidSpec:
        return None


def _spec_of(schedule_id: str, text: str) -> ScheduleSpec:
    try:
        return schedule_from_text(text)
    except InvalidSpec as error:
        raise InvalidSpec(f"schedule {schedule_id}: {error}") from error
