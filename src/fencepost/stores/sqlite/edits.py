"""Edits of one schedule: each step of a change at one boundary, inside the caller's transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass

import apsw

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import calendar_revisions
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId, shard_of
from fencepost.model.json import canonical
from fencepost.model.run import Hold
from fencepost.model.schedule import Schedule, ScheduleSpec, ScheduleState
from fencepost.stores.desk_rows import logged_schedule
from fencepost.stores.queries import load_queries
from fencepost.stores.rows import to_schedule
from fencepost.stores.sqlite import freezes
from fencepost.stores.sqlite.audit_log import note
from fencepost.stores.sqlite.migrations import read_shards
from fencepost.stores.sqlite.moments import fetch, span_us, to_us

QUERIES = load_queries("fencepost.stores.sqlite", "schedules.sql")


@dataclass(frozen=True, slots=True)
class Subject:
    """The schedule that is being changed, and the transaction in which it is."""

    connection: apsw.Connection
    now: StoreTime
    namespace: Namespace
    schedule_id: ScheduleId

    def read(self) -> Schedule | None:
        """The schedule as it is at this point of the transaction."""
        rows = fetch(self.execute("get"))
        return to_schedule(rows[0]) if rows else None

    def note(self, author: Author | None, action: Action, before: Schedule | None) -> Schedule | None:
        """Leave an entry where the schedule has changed; the schedule as it is now."""
        after = self.read()
        said = logged_schedule(before), logged_schedule(after)
        if said[0] != said[1]:
            note(self.connection, self.now, self.namespace, author, action, self.schedule_id, *said)
        return after

    def execute(self, query: str, **terms: str | int | None) -> apsw.Cursor:
        """Run a query about this schedule."""
        name = {"namespace": self.namespace, "schedule_id": self.schedule_id}
        return self.connection.execute(QUERIES[query], {**name, **terms})


def put(subject: Subject, known: Schedule | None, spec: ScheduleSpec, tzdata: str) -> None:
    """Write the next version of the schedule, or its first."""
    if known is None:
        _write(subject, spec, 1, ScheduleState.ACTIVE, to_us(subject.now), tzdata)
        return
    paused = known.state is ScheduleState.PAUSED
    state = ScheduleState.PAUSED if paused else ScheduleState.ACTIVE
    _replace(subject, known, spec, state, tzdata)


def resume(subject: Subject, known: Schedule, tzdata: str | None, back_s: float) -> None:
    """Put the same spec in force again, as a version of its own, from so much earlier on."""
    (last_tzdata, _) = subject.execute("last_version").get
    tzdata = last_tzdata if tzdata is None else tzdata
    _replace(subject, known, known.spec, ScheduleState.ACTIVE, tzdata, back_s=back_s)


def renew(subject: Subject, known: Schedule, spec: ScheduleSpec, tzdata: str, reason: str) -> None:
    """Write the next version of an active schedule, whatever the one before it says."""
    _replace(subject, known, spec, ScheduleState.ACTIVE, tzdata, reason)


def stop(subject: Subject, known: Schedule, state: ScheduleState, reason: str) -> None:
    """Plan no more, and take back what has not come due."""
    boundary = _boundary(subject)
    _close(subject, known.version, boundary, reason)
    subject.execute("set_state", state=state, now=to_us(subject.now))
    if state is ScheduleState.REMOVED:
        subject.execute("forget_uses")


def record_code(subject: Subject, spec: ScheduleSpec, code_digest: str) -> None:
    """Record the spec as the one that an application applied."""
    subject.execute("record_code", spec=schedule_to_text(spec), code_digest=code_digest)


def _replace(
    subject: Subject,
    known: Schedule,
    spec: ScheduleSpec,
    state: ScheduleState,
    tzdata: str,
    reason: str | None = None,
    back_s: float = 0.0,
) -> None:
    boundary, version = _boundary(subject, back_s), known.version + 1
    _close(subject, known.version, boundary, reason or f"replaced by version {version}", Hold.OPERATOR)
    frozen = _write(subject, spec, version, state, boundary, tzdata)
    if frozen != known.frozen:
        freezes.mark(subject.connection, subject.namespace, [subject.schedule_id], frozen)


def _boundary(subject: Subject, back_s: float = 0.0) -> int:
    """The instant of the change, or so much earlier: never before the last one."""
    (_, not_before) = subject.execute("last_version").get
    return max(to_us(subject.now) - span_us(back_s), int(not_before))


def _close(subject: Subject, version: int, boundary: int, reason: str, spared: Hold = Hold.NONE) -> None:
    now = to_us(subject.now)
    subject.execute("spare", boundary=boundary, spared=int(spared))
    subject.execute("withdraw", boundary=boundary, reason=reason, now=now, spared=int(spared))
    subject.execute("close_version", version=version, boundary=boundary)
    subject.execute("close_cursor", version=version, boundary=boundary)


def _write(
    subject: Subject,
    spec: ScheduleSpec,
    version: int,
    state: ScheduleState,
    boundary: int,
    tzdata: str,
) -> bool:
    """Write a version, the schedule and a cursor; whether a freeze covers it."""
    text = schedule_to_text(spec)
    frozen = freezes.is_frozen(subject.connection, subject.namespace, subject.schedule_id, spec.labels)
    subject.execute(
        "put_version",
        version=version,
        spec=text,
        job=spec.job,
        state=state,
        boundary=boundary,
        tzdata=tzdata,
    )
    subject.execute(
        "put_schedule",
        shard=_shard(subject),
        version=version,
        state=state,
        spec=text,
        job=spec.job,
        queue=spec.queue,
        priority=spec.priority,
        labels=canonical(dict(spec.labels)),
        now=to_us(subject.now),
        frozen=int(frozen),
    )
    subject.execute(
        "put_cursor",
        shard=_shard(subject),
        version=version,
        state=state,
        boundary=boundary,
        tzdata=tzdata,
        frozen=int(frozen),
    )
    subject.execute("forget_uses")
    subject.execute("record_uses", uses=json.dumps(calendar_revisions(spec)))
    return frozen


def _shard(subject: Subject) -> int:
    return shard_of(subject.namespace, subject.schedule_id, read_shards(subject.connection))
