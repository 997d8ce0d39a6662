"""A schedule of nine o'clock with ticks, seen by a judge: small builders for the tables of cases."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from fencepost.model.claiming import DueTick, ScheduleFacts, Start, StartedRun, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, RunKey, ScheduleId, tick_key
from fencepost.model.schedule import CatchUp, Overlap

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
SCHEDULE = ScheduleId("beat")
NONE = CatchUp("none", "1m")
LATEST = CatchUp("latest", "1h")


def moment(seconds: float) -> StoreTime:
    """So many seconds after nine."""
    return StoreTime(NINE + timedelta(seconds=seconds))


def key(seconds: float) -> RunKey:
    """The key of the tick that fires then."""
    return tick_key(SCHEDULE, moment(seconds), 1)


def tick(
    seconds: float, catch_up: CatchUp = NONE, overlap: Overlap = Overlap.SKIP, delay_s: float = 0
) -> DueTick:
    """A tick that fires so many seconds after nine, and is due at once or later."""
    return DueTick(key(seconds), moment(seconds), moment(seconds + delay_s), overlap, catch_up)


def running(seconds: float) -> StartedRun:
    """The run of that tick, unfinished."""
    return StartedRun(key(seconds), None)


def finished(seconds: float, at: float) -> StartedRun:
    """The run of that tick, ended then."""
    return StartedRun(key(seconds), moment(at))


def facts(
    due: Iterable[DueTick],
    unfinished: Iterable[StartedRun] = (),
    last_finished: StartedRun | None = None,
    newest_due: datetime | None = None,
) -> ScheduleFacts:
    """What the ledger shows of the schedule; at least one tick is due."""
    ticks = tuple(sorted(due, key=lambda one: one.fire_time))
    return ScheduleFacts(
        namespace=DEFAULT_NAMESPACE,
        schedule_id=SCHEDULE,
        due=ticks,
        newest_due=newest_due or ticks[-1].fire_time,
        unfinished=tuple(unfinished),
        last_finished=last_finished,
        previous=None,
    )


def told(verdicts: Iterable[Verdict]) -> dict[RunKey, str]:
    """Each judged tick with `start` or the state in which it ended."""
    return {one.run_key: "start" if isinstance(one, Start) else str(one.state) for one in verdicts}
