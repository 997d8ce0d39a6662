"""What the page of one schedule rests on, read together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from fencepost.core.accounting import Frame
from fencepost.errors import UnknownSchedule, UsageError
from fencepost.model.dataclasses import dataclass
from fencepost.model.gate import ClosedGate
from fencepost.model.identifiers import ScheduleId
from fencepost.model.run import RunFilter, RunRecord
from fencepost.model.schedule import Schedule, ScheduleState
from fencepost.operations.control import Control
from fencepost.operations.outlook import Ahead, look_ahead
from fencepost.services.accounting import triggers_of
from fencepost.triggers import stored_trigger
from fencepost.web.dashboard.grid import CELLS_MAX, Grid, expected_of, extra_runs, make_grid
from fencepost.web.dashboard.spans import SPANS_S, Span, default_span, typical_period_s

RECENT = 8
TICKS_MAX = CELLS_MAX * 2
"""A tick has more than one run only where somebody edited or triggered at that very instant."""


@dataclass(frozen=True)
class Seen:
    """One schedule: what it is, what is to come, and what became of the ticks of a stretch of time."""

    schedule: Schedule
    ahead: Ahead
    period_s: float | None
    span: Span
    since: datetime
    until: datetime
    grid: Grid
    runs: Sequence[RunRecord]
    """The runs of that time."""
    recent: Sequence[RunRecord]
    extra: int
    forgotten_before: datetime | None
    gate: ClosedGate | None
    trouble: str | None = None

    @property
    def active(self) -> bool:
        return self.schedule.state is ScheduleState.ACTIVE


async def known(control: Control, schedule_id: str) -> Schedule:
    """The schedule, also one that was removed; a refusal that names near ones where there is none."""
    found = await control.store.schedules.get(control.namespace, ScheduleId(schedule_id))
    if found is None:
        await control.schedule(schedule_id)
        raise UnknownSchedule(f"schedule {schedule_id}: not found")
    return found


async def see(
    control: Control, schedule_id: str, now: datetime, span: Span | None, until: datetime | None
) -> Seen:
    """Everything that the page shows."""
    schedule = await known(control, schedule_id)
    ahead, period_s = await control.offload_short(lambda: _look(schedule, now))
    chosen = span or default_span(period_s)
    end = min(until or now, now)
    since = end - timedelta(seconds=SPANS_S[chosen])
    frame = await _frame(control, schedule, since, end)
    grid, runs, trouble = await _what_became(control, frame)
    latest = RunFilter(schedule_id=schedule.schedule_id, until=now, limit=RECENT)
    gates, recent = await asyncio.gather(
        control.store.gates.closed(control.namespace), control.store.ledger.list(control.namespace, latest)
    )
    forgotten = frame.forgotten_before
    return Seen(
        schedule=schedule,
        ahead=ahead,
        period_s=period_s,
        span=chosen,
        since=since,
        until=end,
        grid=grid,
        runs=runs,
        recent=recent,
        extra=extra_runs(grid, runs),
        forgotten_before=forgotten if forgotten is not None and forgotten > since else None,
        gate=next((one for one in gates if one.schedule_id == schedule.schedule_id), None),
        trouble=trouble,
    )


def _look(schedule: Schedule, now: datetime) -> tuple[Ahead, float | None]:
    ahead = look_ahead(schedule, now)
    try:
        trigger = stored_trigger(schedule.spec, schedule.schedule_id)
    except UsageError:
        return ahead, None
    return ahead, typical_period_s(trigger, now)


async def _frame(control: Control, schedule: Schedule, since: datetime, until: datetime) -> Frame:
    """What the grid rests on: read before the runs, so that no tick looks older than it is."""
    ledger, namespace, schedule_id = control.store.ledger, control.namespace, schedule.schedule_id
    missed, forgotten, versions, now = await asyncio.gather(
        ledger.missed_ranges(namespace, schedule_id, since, until),
        ledger.forgotten_before(),
        control.store.schedules.history(namespace, schedule_id, since=since),
        control.store.now(),
    )
    return Frame(
        namespace=namespace,
        schedule_id=schedule_id,
        since=since,
        until=until,
        now=now,
        versions=tuple(versions),
        planned_version=schedule.version,
        planned_through=schedule.planned_through,
        missed=tuple(missed),
        forgotten_before=forgotten,
    )


async def _what_became(control: Control, frame: Frame) -> tuple[Grid, Sequence[RunRecord], str | None]:
    """The grid and the runs behind it; where this release cannot read a version, the reason instead."""
    trigger_of = triggers_of(frame.schedule_id)
    try:
        expected = await control.offload_short(lambda: expected_of(frame, trigger_of))
        until = expected.last or frame.until
        runs = await control.store.ledger.ticks(
            frame.namespace, frame.schedule_id, frame.since, until, None, TICKS_MAX
        )
        return await control.offload_short(lambda: make_grid(frame, trigger_of, expected, runs)), runs, None
    except UsageError as error:
        return Grid((), False), (), str(error)
