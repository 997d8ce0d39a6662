"""Schedules and their versions in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from fencepost.model.audit import Action, Author
from fencepost.model.calendar import calendar_revisions
from fencepost.model.clocks import StoreTime, later
from fencepost.model.codec import schedule_to_text
from fencepost.model.identifiers import Namespace, ScheduleId, shard_of
from fencepost.model.run import Hold, Origin, RunState
from fencepost.model.schedule import Schedule, ScheduleFilter, ScheduleSpec, ScheduleState, ScheduleVersion
from fencepost.model.views import COUNTED_MAX
from fencepost.ports.signals import Topic
from fencepost.stores.desk_rows import logged_schedule
from fencepost.stores.memory.freezes import mark_frozen
from fencepost.stores.memory.lanes import withdrawable
from fencepost.stores.memory.part import MemoryPart
from fencepost.stores.memory.tables import CursorRow, ScheduleRow
from fencepost.stores.specs import applied_by_code


class MemorySchedules(MemoryPart):
    """See `ports.schedules`."""

    async def put(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        spec: ScheduleSpec,
        *,
        tzdata: str,
        expected_version: int | None,
        code_digest: str | None = None,
        code_spec: ScheduleSpec | None = None,
        author: Author | None = None,
        admit: Callable[[int], None] | None = None,
    ) -> Schedule | None:
        row = self._tables.schedules.get((namespace, schedule_id))
        if expected_version is not None and expected_version != _visible_version(row):
            return None
        before = None if row is None else row.shown()
        if admit is not None and not _visible_version(row):
            admit(len(self._wanted(namespace, ScheduleFilter())))
        if row is None:
            row = self._create(namespace, schedule_id, spec, tzdata)
        elif row.schedule.state is ScheduleState.REMOVED or not _same(row.schedule.spec, spec):
            self._edit(row, spec, tzdata)
        applied = applied_by_code(spec, code_spec, code_digest)
        if applied is not None:
            row.schedule = replace(row.schedule, code_spec=applied, code_digest=code_digest)
        self._log(author, Action.SCHEDULE_PUT, before, row)
        self._signals.hint(Topic.SCHEDULES)
        return row.shown()

    async def pause(
        self, namespace: Namespace, schedule_id: ScheduleId, reason: str, *, author: Author | None = None
    ) -> bool:
        row = self._tables.schedules.get((namespace, schedule_id))
        if row is None or row.schedule.state is not ScheduleState.ACTIVE:
            return False
        before = row.shown()
        self._stop(row, ScheduleState.PAUSED, reason)
        self._log(author, Action.SCHEDULE_PAUSE, before, row)
        return True

    async def resume(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        tzdata: str | None = None,
        back_s: float = 0.0,
        author: Author | None = None,
    ) -> bool:
        row = self._tables.schedules.get((namespace, schedule_id))
        if row is None or row.schedule.state is not ScheduleState.PAUSED:
            return False
        before = row.shown()
        row.schedule = replace(row.schedule, state=ScheduleState.ACTIVE)
        rules = row.versions[-1].tzdata if tzdata is None else tzdata
        self._edit(row, row.schedule.spec, rules, back_s=back_s)
        self._log(author, Action.SCHEDULE_RESUME, before, row)
        self._signals.hint(Topic.SCHEDULES)
        return True

    async def renew(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        spec: ScheduleSpec,
        *,
        tzdata: str,
        expected_version: int,
        reason: str,
    ) -> Schedule | None:
        row = self._tables.schedules.get((namespace, schedule_id))
        if row is None or row.schedule.state is not ScheduleState.ACTIVE:
            return None
        if row.schedule.version != expected_version:
            return None
        self._edit(row, spec, tzdata, reason)
        self._signals.hint(Topic.SCHEDULES)
        return row.shown()

    async def remove(
        self, namespace: Namespace, schedule_id: ScheduleId, *, author: Author | None = None
    ) -> bool:
        row = self._tables.schedules.get((namespace, schedule_id))
        if row is None or row.schedule.state is ScheduleState.REMOVED:
            return False
        before = row.shown()
        self._stop(row, ScheduleState.REMOVED, "the schedule was removed")
        row.uses = {}
        self._log(author, Action.SCHEDULE_REMOVE, before, row)
        return True

    async def get(self, namespace: Namespace, schedule_id: ScheduleId) -> Schedule | None:
        row = self._tables.schedules.get((namespace, schedule_id))
        return None if row is None else row.shown()

    async def page(self, namespace: Namespace, after: ScheduleId | None, limit: int) -> Sequence[Schedule]:
        found = [
            row.shown()
            for (owner, schedule_id), row in sorted(self._tables.schedules.items())
            if owner == namespace and (after is None or schedule_id > after)
        ]
        return [one for one in found if one.state is not ScheduleState.REMOVED][:limit]

    async def history(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        after: int = 0,
        limit: int | None = None,
        since: datetime | None = None,
    ) -> Sequence[ScheduleVersion]:
        row = self._tables.schedules.get((namespace, schedule_id))
        found = [] if row is None else [one for one in row.versions if one.version > after]
        return [one for one in found if since is None or _lasts_beyond(one, since)][:limit]

    async def find(self, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        found = self._wanted(namespace, wanted)
        return [one for one in found if wanted.after is None or one.schedule_id > wanted.after][
            : wanted.limit
        ]

    async def count(self, namespace: Namespace, wanted: ScheduleFilter) -> int:
        return min(len(self._wanted(namespace, wanted)), COUNTED_MAX)

    async def labels(self, namespace: Namespace, limit: int) -> Sequence[str]:
        every = self._wanted(namespace, ScheduleFilter())
        return sorted({f"{key}={value}" for one in every for key, value in one.spec.labels.items()})[:limit]

    def _wanted(self, namespace: Namespace, wanted: ScheduleFilter) -> list[Schedule]:
        """What the filter finds on all its pages, by id."""
        mine = [
            row.shown() for (owner, _), row in sorted(self._tables.schedules.items()) if owner == namespace
        ]
        return [one for one in mine if _matches(one, wanted)]

    def _create(
        self, namespace: Namespace, schedule_id: ScheduleId, spec: ScheduleSpec, tzdata: str
    ) -> ScheduleRow:
        now = self._tables.now()
        schedule = Schedule(
            namespace=namespace,
            schedule_id=schedule_id,
            shard=shard_of(namespace, schedule_id, self._tables.shards),
            version=1,
            state=ScheduleState.ACTIVE,
            spec=spec,
            planned_through=now,
            updated_at=now,
        )
        version, cursor = ScheduleVersion(1, spec, now, tzdata), CursorRow(now, now, tzdata)
        row = ScheduleRow(schedule, [version], [cursor], calendar_revisions(spec))
        self._tables.schedules[namespace, schedule_id] = row
        mark_frozen(self._tables, row)
        return row

    def _edit(
        self,
        row: ScheduleRow,
        spec: ScheduleSpec,
        tzdata: str,
        reason: str | None = None,
        back_s: float = 0.0,
    ) -> None:
        boundary = self._boundary(row, back_s)
        version = row.schedule.version + 1
        self._close(row, boundary, reason or f"replaced by version {version}", spared=Hold.OPERATOR)
        state = row.schedule.state
        revived = ScheduleState.ACTIVE if state is ScheduleState.REMOVED else state
        until = boundary if revived is ScheduleState.PAUSED else None
        row.versions.append(ScheduleVersion(version, spec, boundary, tzdata, until))
        row.cursors.append(CursorRow(boundary, None if until else boundary, tzdata, until))
        row.uses = calendar_revisions(spec)
        row.schedule = replace(
            row.schedule, version=version, spec=spec, state=revived, updated_at=self._tables.now()
        )
        mark_frozen(self._tables, row)

    def _stop(self, row: ScheduleRow, state: ScheduleState, reason: str) -> None:
        boundary = self._boundary(row)
        self._close(row, boundary, reason)
        row.schedule = replace(row.schedule, state=state, updated_at=self._tables.now())
        self._signals.hint(Topic.SCHEDULES)

    def _boundary(self, row: ScheduleRow, back_s: float = 0.0) -> StoreTime:
        last = row.versions[-1]
        return max(later(self._tables.now(), -back_s), last.in_force_until or last.in_force_from)

    def _close(self, row: ScheduleRow, boundary: StoreTime, reason: str, spared: Hold = Hold.NONE) -> None:
        schedule = row.schedule
        for run in self._tables.runs_of(schedule.namespace, schedule.schedule_id):
            if not withdrawable(run, boundary):
                continue
            if run.record.held & spared:
                self._tables.change(run, origin=Origin.MANUAL)
            else:
                self._tables.end(run, RunState.WITHDRAWN, reason)
        if row.versions[-1].in_force_until is None:
            row.versions[-1] = replace(row.versions[-1], in_force_until=boundary)
            cursor = row.cursors[-1]
            cursor.until = boundary
            if cursor.planned_through >= boundary:
                cursor.next_fire_at = None

    def _log(self, author: Author | None, action: Action, before: Schedule | None, row: ScheduleRow) -> None:
        schedule = row.schedule
        was, now = logged_schedule(before), logged_schedule(schedule)
        if was != now:
            self._tables.log(author, schedule.namespace, action, schedule.schedule_id, was, now)


def _visible_version(row: ScheduleRow | None) -> int:
    gone = row is None or row.schedule.state is ScheduleState.REMOVED
    return 0 if row is None or gone else row.schedule.version


def _lasts_beyond(version: ScheduleVersion, since: datetime) -> bool:
    return version.in_force_until is None or version.in_force_until > since


def _same(one: ScheduleSpec, other: ScheduleSpec) -> bool:
    return schedule_to_text(one) == schedule_to_text(other)


def _matches(schedule: Schedule, wanted: ScheduleFilter) -> bool:
    key, value = wanted.label_terms
    labels = schedule.spec.labels
    gone = schedule.state is ScheduleState.REMOVED
    return (
        (not gone if wanted.state is None else schedule.state is wanted.state)
        and (wanted.text is None or wanted.text in schedule.schedule_id or wanted.text in schedule.spec.job)
        and (wanted.job is None or schedule.spec.job == wanted.job)
        and (key is None or (key in labels and value in (None, labels[key])))
        and (wanted.frozen is None or schedule.frozen is wanted.frozen)
    )
