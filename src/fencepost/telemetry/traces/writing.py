"""Where a trace begins: with the run's row in the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from fencepost.model.dataclasses import dataclass
from fencepost.model.identifiers import JobName, Namespace, Queue, RunKey, ScheduleId, tick_key
from fencepost.model.plan import Plan, PlanReceipt, Tick
from fencepost.model.times import to_utc_text
from fencepost.telemetry.traces.guard import otherwise
from fencepost.telemetry.traces.ids import root_name
from fencepost.telemetry.traces.spans import Drawing, Side, about, does
from fencepost.telemetry.traces.switch import tracing

AT_ONCE_MAX = 500
"""How many spans one write into the ledger makes at most: they all come at once, and their queue is bounded.
Runs beyond that have a trace that begins with their dispatch."""


@dataclass(frozen=True, slots=True)
class Written:
    """A run as it was put into the ledger."""

    namespace: Namespace
    run_key: RunKey
    job: JobName
    queue: Queue | None = None
    """None where only the job says which."""
    schedule_id: ScheduleId | None = None

    def drawing(self, verb: str) -> Drawing:
        attributes = about(self.namespace, self.run_key, self.job, self.schedule_id, self.queue)
        return Drawing(
            root_name(self), verb, self.job, Side.SENDS, attributes=attributes | does("create", verb)
        )


@otherwise(None)
def planned(plans: Sequence[Plan], receipt: PlanReceipt, start: datetime, end: datetime) -> None:
    """The planner has written ticks. Another node has written those of outdated plans, and has traced
    them."""
    made = tracing()
    if made is None or not receipt.runs_written:
        return
    ticks = ((one, tick) for one in receipt.written(plans) for tick in one.ticks)
    drawn = (_tick_drawing(one, tick, start, end) for one, tick in ticks)
    for drawing in islice((one for one in drawn if made.samples(one.name.trace)), AT_ONCE_MAX):
        made.write(drawing)


@otherwise(None)
def enqueued(runs: Sequence[Written], fresh: Sequence[bool]) -> None:
    """These runs were enqueued; those that were there already have had their span."""
    made = tracing()
    if made is not None:
        for run in islice((run for run, is_new in zip(runs, fresh, strict=True) if is_new), AT_ONCE_MAX):
            made.write(run.drawing("enqueue"), linked=True)


def _tick_drawing(plan: Plan, tick: Tick, start: datetime, end: datetime) -> Drawing:
    cursor = plan.cursor
    key = tick_key(cursor.schedule_id, tick.fire_time, cursor.version)
    drawing = Written(cursor.namespace, key, plan.job, cursor.queue, cursor.schedule_id).drawing("plan")
    more: dict[str, str | int] = {
        "fencepost.fire_time": to_utc_text(tick.fire_time),
        "fencepost.version": cursor.version,
        "fencepost.epoch": plan.epoch,
    }
    return Drawing(drawing.name, "plan", drawing.of, drawing.side, start, end, {**drawing.attributes, **more})
