"""What can be done with backfills: look first, then start, fill, watch and cancel."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import partial

from fencepost.core.backfilling import FIRE_TIMES_MAX, BackfillCounts, duration_s
from fencepost.errors import TurnedAway, UnknownBackfill, UnknownSchedule, UsageError
from fencepost.model.backfill import Backfill, BackfillState, FillMode, NewBackfill
from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import RunKey, ScheduleId
from fencepost.model.policies import AT_ONCE_MAX
from fencepost.model.run import RunRecord
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.model.times import to_utc_text
from fencepost.services.backfiller import BATCH_MAX, FillSource, fill_next
from fencepost.services.verbs.verbs import Verbs

LOOK_BATCH = 1_000
PAGE = 1_000


@dataclass(frozen=True)
class Estimate:
    """What a backfill would do; `duration_s` is None where nobody can tell."""

    request: NewBackfill
    account: BackfillCounts
    run_s: float | None
    duration_s: float | None
    at_once_max: int | None
    """What the overlap policy of the schedule allows at a time."""
    forgotten_before: datetime | None = None
    """Where the range begins before what retention keeps."""

    @property
    def warning(self) -> str | None:
        """What of the range may have run without anybody knowing, and what that means for it."""
        if self.forgotten_before is None:
            return None
        kept = f"retention has removed ended ticks from before {to_utc_text(self.forgotten_before)}"
        if self.request.mode is FillMode.ALL:
            return f"{kept}: what is older runs, also where it ran before"
        return f"{kept}: what is older does not run; --force runs it all the same"


class BackfillVerbs(Verbs):
    """The backfills of one namespace."""

    async def estimate(self, request: NewBackfill) -> Estimate:
        """What would run and for how long; nothing is written."""
        schedule = await self._checked(request)
        source = await FillSource.of(self._store, self._namespace, request.schedule_id)
        forgotten = await self._store.ledger.forgotten_before()
        account, reached = BackfillCounts(request.mode, forgotten), request.since
        while reached < request.until:
            batch = await self._offload(partial(source.next_batch, reached, request.until, LOOK_BATCH))
            runs = [one async for one in self._runs(request.schedule_id, reached, batch.through)]
            ranges = await self._store.ledger.missed_ranges(
                self._namespace, request.schedule_id, reached, batch.through
            )
            account.add(batch.ticks, runs, ranges)
            if account.fire_times > FIRE_TIMES_MAX:
                remedy = f"fill it in parts, the first up to {to_utc_text(batch.through)}"
                raise UsageError(f"backfill: more than {FIRE_TIMES_MAX} fire times; {remedy}")
            reached = batch.through
        run_s = await self._store.ledger.typical_run_s(self._namespace, request.schedule_id)
        most = schedule.spec.overlap.at_once_max
        takes_s = duration_s(request, account.to_run, most, run_s)
        return Estimate(request, account, run_s, takes_s, most, _within(request, forgotten))

    async def start(self, request: NewBackfill) -> Backfill:
        """Write a backfill down; nodes that plan fill it, or `fill` does."""
        await self._checked(request)
        started = await self._store.backfills.start(self._namespace, request, self._author)
        if started is None:
            raise _unknown_schedule(request.schedule_id)
        return started

    async def fill(self, backfill: Backfill) -> Backfill:
        """Write its next runs, as many as may wait at a time and as the quota leaves; nodes that plan do the
        same meanwhile. Who is turned away after a part was written is told how far it is."""
        written: int | None = None
        while backfill.state is BackfillState.ACTIVE:
            try:
                written = await self._fill_next(backfill)
            except TurnedAway:
                if written is None:
                    raise
                break
            backfill = await self.get(backfill.backfill_id)
            if written is None:
                break
        return backfill

    async def get(self, backfill_id: int) -> Backfill:
        """One backfill, or a refusal."""
        found = await self._store.backfills.get(self._namespace, backfill_id)
        if found is None:
            raise _unknown(backfill_id)
        return found

    async def list(self, limit: int, before_id: int | None = None) -> Sequence[Backfill]:
        """The latest first; `before_id` goes on from the last one of an earlier page."""
        return await self._store.backfills.list(self._namespace, limit, before_id)

    async def cancel(self, backfill_id: int) -> Backfill:
        """Call off what of it waits, which is missed if nobody has begun it; what runs is let finish."""
        found = await self._store.backfills.cancel(self._namespace, backfill_id, self._author)
        if found is None:
            raise _unknown(backfill_id)
        return found

    async def _fill_next(self, backfill: Backfill) -> int | None:
        room, written = self._run_quota.take_some(BATCH_MAX), None
        try:
            if room:
                written = await fill_next(self._store, backfill, self._author, self._offload, room)
        finally:
            self._run_quota.give_back(room - (written or 0))
        return written

    async def _checked(self, request: NewBackfill) -> Schedule:
        schedule = await self._store.schedules.get(self._namespace, request.schedule_id)
        if schedule is None or schedule.state is ScheduleState.REMOVED:
            raise _unknown_schedule(request.schedule_id)
        if request.until <= request.since:
            raise UsageError("backfill: expected an end that is later than the start")
        if request.until > await self._store.now():
            raise UsageError(
                f"backfill: {to_utc_text(request.until)} lies in the future, which is the planner's"
            )
        if not 1 <= request.at_once_max <= AT_ONCE_MAX:
            raise UsageError(f"backfill: {request.at_once_max} at once is not within 1-{AT_ONCE_MAX}")
        return schedule

    async def _runs(
        self, schedule_id: ScheduleId, since: datetime, until: datetime
    ) -> AsyncIterator[RunRecord]:
        after: tuple[datetime, RunKey] | None = None
        while page := await self._store.ledger.ticks(self._namespace, schedule_id, since, until, after, PAGE):
            for run in page:
                yield run
            after = page[-1].fire_time, page[-1].run_key


def _within(request: NewBackfill, forgotten_before: datetime | None) -> datetime | None:
    """What retention keeps from, where the range begins before it. Its first instant is outside of it."""
    if forgotten_before is None or request.since + datetime.resolution >= forgotten_before:
        return None
    return forgotten_before


def _unknown(backfill_id: int) -> UnknownBackfill:
    return UnknownBackfill(f"backfill {backfill_id}: not found; see: fencepost backfills list")


def _unknown_schedule(schedule_id: str) -> UnknownSchedule:
    return UnknownSchedule(f"schedule {schedule_id}: not found; see: fencepost schedules list")
