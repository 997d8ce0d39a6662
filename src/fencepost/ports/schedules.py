"""Schedules and their history.

A change of a schedule's spec is an edit at one instant of store time, the *boundary*. Fire times up to
and including the boundary belong to the old version, later ones to the new. In one transaction an edit

- takes the boundary: the store's time, but never earlier than the last version's `in_force_from` and
  `in_force_until`;
- sets every run of the schedule that is still `planned` with a fire time after the boundary to
  `withdrawn`, with the reason. Runs that an operator holds by name are spared: they stay, as ticks by hand
  (origin `manual`), and keep their fire time from being planned anew. A run whose fire time has passed
  belongs to the old version and still runs, also where it is due only later;
- closes the old version: `in_force_until` = boundary, and the same as `until` of its cursor, whose
  `planned_through` stays; the cursor needs another look only where it has not come to the boundary;
- writes the new version (`in_force_from` = boundary) with a cursor of its own that begins at the boundary,
  and which calendars it uses (see `ports.calendars`).

A planner that computed its plan before the edit is refused by the cursor's `until`, so an edit that was
acknowledged is never followed by a later tick of the old spec. Where no planner was there for a while, the
planner that comes back plans what the old version still owed up to the boundary.

Pause and remove withdraw and close the version in the same way, and spare no run. Resume writes a new
version with the same spec, in force from the boundary: nothing of the pause fires, and the keys that the
pause withdrew stay withdrawn, because the ticks after it have a version of their own. A paused schedule
that is edited gets a version that is closed at once (`in_force_until` = `in_force_from`). A removed
schedule uses no calendars, but keeps its row, its versions and its `planned_through`: when the id is used
again, versions count on and no fire time can be planned a second time. A renewal is an edit also where the
spec stays the same: after a change of zone rules it means other times. Listeners for `schedules` are told
of every change. Every change by an author leaves an entry in the audit log, with version, state and spec
before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeAlias

from fencepost.model.audit import Author
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import (
    AppliedSchedule,
    DesiredSchedule,
    Schedule,
    ScheduleFilter,
    ScheduleSpec,
    ScheduleVersion,
)

Admit: TypeAlias = Callable[[int, int], None]
"""Gets how many schedules there are and how many would be added; raises where those are too many."""


class Schedules(Protocol):
    """The schedules of a store."""

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
        admit: Admit | None = None,
    ) -> Schedule | None:
        """Create a schedule (`expected_version` 0), or edit it where its version is still the expected one.

        Returns the schedule as it is now, or None where the version was another one: another writer was
        quicker; read again and decide anew. `expected_version` None accepts any version. A removed schedule
        counts as version 0 here although its versions count on, and becomes active. A paused one stays
        paused. A spec equal to the one in force makes no new version and withdraws nothing.

        With `code_digest`, what code applied is recorded too: `code_spec`, or else the spec itself, in either
        case without calendars, because code does not set their days.

        Before the call adds a schedule, it passes `admit` how many of the namespace are not removed and how
        many would be added, in a transaction in which no other adds one. What `admit` raises leaves
        everything as it was. Where there are many, `admit` may get a larger number first; if it refuses that
        (a `UsageError`), it is asked again with the right one.
        """
        ...

    async def put_many(
        self,
        namespace: Namespace,
        batch: Sequence[DesiredSchedule],
        *,
        tzdata: str,
        code_digest: str | None = None,
        author: Author | None = None,
        admit: Admit | None = None,
    ) -> Sequence[AppliedSchedule | None]:
        """The same for each of several schedules, in one transaction and a fixed number of statements.
        Returns the outcome of each, in their order. No schedule may be in a batch twice. A schedule whose
        version was another one is None, and the others are written. A batch that changes nothing writes
        nothing."""
        ...

    async def pause(
        self, namespace: Namespace, schedule_id: ScheduleId, reason: str, *, author: Author | None = None
    ) -> bool:
        """Stop planning and withdraw what is planned; False where it is not active."""
        ...

    async def resume(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        tzdata: str | None = None,
        back_s: float = 0.0,
        author: Author | None = None,
    ) -> bool:
        """Plan again from now on; False where it is not paused. Without `tzdata`, by the last version's.

        With `back_s` the new version is in force from that much earlier on, but never from before the last
        version's end: that part of the pause is planned after all, under the new version's keys."""
        ...

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
        """Write the next version of an active schedule, also where the spec is the one in force.

        The runs that it withdraws carry the reason. What code applied stays as it was. None where the version
        was another one or the schedule is not active: then nothing changes.
        """
        ...

    async def remove(
        self, namespace: Namespace, schedule_id: ScheduleId, *, author: Author | None = None
    ) -> bool:
        """Stop for good and withdraw what is planned; False where it is not there."""
        ...

    async def get(self, namespace: Namespace, schedule_id: ScheduleId) -> Schedule | None:
        """The schedule, also when it has been removed."""
        ...

    async def get_many(
        self, namespace: Namespace, schedule_ids: Sequence[ScheduleId]
    ) -> Mapping[ScheduleId, Schedule]:
        """The schedules of these ids that are there, also when they have been removed."""
        ...

    async def page(self, namespace: Namespace, after: ScheduleId | None, limit: int) -> Sequence[Schedule]:
        """Schedules that are not removed, by id, those after `after`."""
        ...

    async def history(
        self,
        namespace: Namespace,
        schedule_id: ScheduleId,
        *,
        after: int = 0,
        limit: int | None = None,
        since: datetime | None = None,
    ) -> Sequence[ScheduleVersion]:
        """All versions, oldest first: those after version `after`, up to `limit`; with `since`, only those
        whose time in force does not end before or at that instant. Versions count on without a gap."""
        ...

    async def histories(
        self, namespace: Namespace, schedule_ids: Sequence[ScheduleId]
    ) -> Mapping[ScheduleId, Sequence[ScheduleVersion]]:
        """All versions of each of these schedules, oldest first; none of one that is not there."""
        ...

    async def find(self, namespace: Namespace, wanted: ScheduleFilter) -> Sequence[Schedule]:
        """Schedules by id, as the filter says."""
        ...

    async def count(self, namespace: Namespace, wanted: ScheduleFilter) -> int:
        """How many the filter finds on all its pages, counted up to `COUNTED_MAX`."""
        ...

    async def labels(self, namespace: Namespace, limit: int) -> Sequence[str]:
        """The labels of schedules that are not removed, each as `key=value`, in ascending order."""
        ...
