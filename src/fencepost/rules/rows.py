"""Rows of any store as values of the model.

A row is anything that gives a column by its name. Moments are aware datetimes in UTC and JSON is
text, so a store with another notion of time converts before it calls. The names of the columns are
those of the tables; what a query computes is named in the docstring of the function that reads it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from enum import Enum
from functools import lru_cache
from inspect import get_annotations
from operator import itemgetter
from typing import Any, Protocol, TypeVar

import msgspec

from fencepost.errors import InvalidSpec, UsageError
from fencepost.model.calendar import CalendarRecord
from fencepost.model.claiming import DueTick, GateFacts, Head, Outlook, ScheduleFacts, StartedRun
from fencepost.model.codec import job_from_text, limit_from_text, schedule_from_text
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject, canonical
from fencepost.model.limits import JobLimit
from fencepost.model.missed import MissedRange
from fencepost.model.plan import Cursor, Outlived
from fencepost.model.policies import AT_ONCE_MAX, CatchUp
from fencepost.model.rescue import Expired
from fencepost.model.run import Attempt, Claim, Hold, Origin, RunRecord, Ticket
from fencepost.model.run_log import LogChunk, LoggedChunk
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleVersion
from fencepost.model.status import QueueView
from fencepost.model.table import Table
from fencepost.triggers import stored_trigger

T = TypeVar("T")
SPECS_MAX = 1_024
_TURN, _IN_LINE = Hold.PARKED.value, (Hold.LIMITED | Hold.PACED).value
ORIGINS = {one.value: one for one in Origin}


class _Inherited(msgspec.Struct):
    """What a run has from the spec of its version."""

    payload: dict[str, Any] = msgspec.field(default_factory=dict)


_read_payload = msgspec.json.Decoder(dict[str, Any]).decode
_write_payload = msgspec.json.Encoder(order="deterministic").encode
_read_spec = msgspec.json.Decoder(_Inherited).decode


class Row(Protocol):
    """One row of an answer."""

    def __getitem__(self, column: str, /) -> Any: ...


def reader(made: type[T], **fields: Callable[[Row], Any]) -> Callable[[Row], T]:
    """A function that makes values of a class from rows. A field is the column of its name, as an enum or a
    truth where that is its type, or what `fields` says."""
    known = {"bool": bool, **vars(sys.modules[made.__module__])}
    kinds: dict[str, Any] = {name: known.get(kind) for name, kind in get_annotations(made).items()}
    columns = [name for name in kinds if name not in fields]
    pick = itemgetter(*columns)
    converted = [(place, kinds[name]) for place, name in enumerate(columns) if _is_converted(kinds[name])]
    given = [(place, fields[name]) for place, name in enumerate(kinds) if name in fields]

    def read(row: Row) -> T:
        values = list(pick(row))
        for place, kind in converted:
            values[place] = kind(values[place])
        for place, make in given:
            values.insert(place, make(row))
        return made(*values)

    return read


def _is_converted(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, (Enum, bool))


def columns_of(table: Table, value: object) -> dict[str, Any]:
    """The columns of a table that a value has fields for."""
    known = {name: getattr(value, name) for name in table.columns if hasattr(value, name)}
    return {name: one.value if isinstance(one, Enum) else one for name, one in known.items()}


_claimed = itemgetter(
    *("namespace", "run_key", "schedule_id", "job", "fire_time", "version", "attempt", "fence", "epoch"),
    *("run_at", "started_at", "first_started_at", "attempts_before_replay", "queue"),
)


def to_claim(row: Row, previous: Any = None) -> Claim:
    """A claimed run; `spec` is that of its version, `previous` its schedule's last success."""
    one = _claimed(row)
    return Claim(*(*one[:9], to_payload(row), *one[9:11], previous, *one[11:], ORIGINS[row["origin"]]))


def payload_text(payload: JsonObject) -> str:
    """A checked payload as the ledger keeps it; see `_payload`."""
    try:
        return _write_payload(payload).decode()
    except (UnicodeEncodeError, TypeError):
        return canonical(payload)


def to_payload(row: Row) -> JsonObject:
    """The run's own `payload`, else that of the `spec` of its version; empty where dropped.

    Of the spec nothing else is read: a retry does not depend on what newer code wrote beside it.
    """
    if row["payload"] is not None:
        return _payload(row["payload"])
    return {} if row["spec"] is None else _inherited(row["spec"])


def _shown_payload(row: Row) -> JsonObject:
    """The same for a run that is only shown: a list has many runs of few versions."""
    if row["payload"] is not None or row["spec"] is None:
        return to_payload(row)
    return dict(_known_payload(row["spec"]))


def _inherited(spec_text: str) -> JsonObject:
    try:
        return _read_spec(spec_text).payload
    except msgspec.MsgspecError:
        payload: JsonObject = json.loads(spec_text).get("payload") or {}
        return payload


def _payload(text: str) -> JsonObject:
    """The standard library reads what msgspec refuses: half of a surrogate pair, as in the name of a file."""
    try:
        return _read_payload(text)
    except msgspec.MsgspecError:
        payload: JsonObject = json.loads(text)
        return payload


_known_payload = lru_cache(SPECS_MAX)(_inherited)

to_run_record = reader(RunRecord, payload=_shown_payload)
"""A run; `state` is the one to show, `spec` that of the run's version, if it has a schedule."""
to_attempt = reader(Attempt)
to_started_run = reader(StartedRun)
to_schedule_version = reader(ScheduleVersion, spec=lambda row: schedule_from_text(row["spec"]))
to_calendar_record = reader(CalendarRecord, definition=lambda row: json.loads(row["definition"]))
to_missed_range = reader(
    MissedRange, first=itemgetter("first_at"), last=itemgetter("last_at"), count=itemgetter("ticks")
)


def to_ticket(row: Row) -> Ticket:
    """The ticket of an attempt."""
    return Ticket(row["namespace"], row["run_key"], row["attempt"], row["fence"])


def to_expired(rows: Iterable[Row]) -> list[Expired]:
    """Running runs that show no life; `silent_for_s` and `job_spec` are computed by the query.

    One whose job this release cannot read is left to a release that can: how often it may run is not known.
    """
    found = []
    for row in rows:
        with suppress(InvalidSpec):
            found.append(_to_expired(row))
    return found


_to_expired = reader(
    Expired,
    ticket=to_ticket,
    silent_for_s=lambda row: float(row["silent_for_s"]),
    job=lambda row: None if row["job_spec"] is None else job_from_text(row["job_spec"]),
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


to_queue_view = reader(QueueView)


def to_facts(
    row: Row, due: Sequence[Row], unfinished: Sequence[Row], finished: Sequence[Row], gate: GateFacts
) -> ScheduleFacts:
    """What is known of one schedule.

    The row has `namespace`, `schedule_id`, `newest_due`, `previous` and `unplanned`: moments at which cursors
    go on, the newest first, each with the spec of its version, which may not fire then
    (`Plan.next_fire_at`). Each due row has `run_key`, `fire_time`, `run_at`, `origin`, `held`, `at_once_max`
    (of its backfill, if it has one), `is_new` (it has no reason) and the `spec` of its version; live ticks
    first, each group ascending by fire time. Started rows have `run_key`, `fire_time`, `finished_at`,
    `origin`, `cancel_requested` and `first_started_at`. A due tick whose spec this release cannot read is
    left out: it waits for a worker that can.
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
    known = (moment for moment, spec in row["unplanned"] if _fires(spec, row["schedule_id"], moment))
    return next(known, None)


@lru_cache(SPECS_MAX)
def _fires(spec_text: str, schedule_id: str, moment: datetime) -> bool:
    """Whether it fires at exactly that moment, as far as this release can read it."""
    spec = _known_spec(spec_text)
    try:
        return spec is not None and moment in stored_trigger(spec, schedule_id)
    except UsageError:
        return False


to_schedule = reader(
    Schedule,
    spec=lambda row: (
        row["spec"] if isinstance(row["spec"], ScheduleSpec) else _spec_of(row["schedule_id"], row["spec"])
    ),
    code_spec=lambda row: row["code_spec"] and _spec_of(row["schedule_id"], row["code_spec"]),
)
"""A schedule, with the `planned_through` of its cursor, and its spec as text or as it was read."""


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


def to_logged_chunk(row: Row) -> LoggedChunk:
    """Some lines of a run's log."""
    chunk = LogChunk(row["number"], row["first_line"], row["lines"], row["text"])
    return LoggedChunk(row["attempt"], chunk, row["at"])


def _to_due_tick(row: Row) -> DueTick | None:
    spec = _known_spec(row["spec"])
    if spec is None:
        return None
    overlap, catch_up = spec.overlap, spec.catch_up
    origin = ORIGINS[row["origin"]]
    return DueTick(
        run_key=row["run_key"],
        fire_time=row["fire_time"],
        run_at=row["run_at"],
        overlap=overlap,
        catch_up=catch_up,
        origin=origin,
        at_once_max=at_once_max(origin, catch_up, row["at_once_max"]),
        parked=bool(row["held"] & _TURN),
        job=spec.job,
        payload=spec.payload,
        limited=bool(row["held"] & _IN_LINE),
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
def job_if_readable(text: str) -> JobSpec | None:
    """The spec of a job; None where only a newer release can read it."""
    try:
        return job_from_text(text)
    except InvalidSpec:
        return None


def limit_if_readable(text: str) -> JobLimit | None:
    """The limits of a job; None where only a newer release can read them."""
    try:
        return limit_from_text(text)
    except InvalidSpec:
        return None


@lru_cache(SPECS_MAX)
def _known_spec(text: str) -> ScheduleSpec | None:
    try:
        return schedule_from_text(text)
    except InvalidSpec:
        return None


def _spec_of(schedule_id: str, text: str) -> ScheduleSpec:
    try:
        return schedule_from_text(text)
    except InvalidSpec as error:
        raise InvalidSpec(f"schedule {schedule_id}: {error}") from error
