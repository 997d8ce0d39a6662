"""A schedule of nine o'clock with ticks, seen by a judge: small builders for the tables of cases."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import assert_never

from fencepost.model.claiming import (
    Admit,
    CloseGate,
    DueTick,
    End,
    GateFacts,
    ScheduleFacts,
    Start,
    StartedRun,
    Stop,
    Verdict,
    Wait,
)
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import DEFAULT_NAMESPACE, RunKey, ScheduleId, tick_key
from fencepost.model.policies import CatchUp, Overlap
from fencepost.model.run import Origin

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
SCHEDULE = ScheduleId("beat")
NONE = CatchUp("none", "1m")
LATEST = CatchUp("latest", "1h")
SEQUENTIAL = CatchUp("sequential", "1h")
PARALLEL = CatchUp("parallel(2)", "1h")
LIVE = (Origin.LIVE, Origin.MANUAL)


def moment(seconds: float) -> StoreTime:
    """So many seconds after nine."""
    return StoreTime(NINE + timedelta(seconds=seconds))


def key(seconds: float) -> RunKey:
    """The key of the tick that fires then."""
    return tick_key(SCHEDULE, moment(seconds), 1)


def tick(
    seconds: float,
    catch_up: CatchUp = NONE,
    overlap: Overlap = Overlap.SKIP,
    delay_s: float = 0,
    origin: Origin = Origin.LIVE,
    parked: bool = False,
) -> DueTick:
    """A tick that fires so many seconds after nine, and is due at once or later."""
    at_once = catch_up.at_once if origin is Origin.CATCH_UP else 1
    due_at = moment(seconds + delay_s)
    return DueTick(
        key(seconds), moment(seconds), due_at, overlap, catch_up, origin, at_once_max=at_once, parked=parked
    )


def late(seconds: float, catch_up: CatchUp, overlap: Overlap = Overlap.SKIP) -> DueTick:
    """The same, admitted to catch-up."""
    return tick(seconds, catch_up, overlap, origin=Origin.CATCH_UP)


def running(
    seconds: float, origin: Origin = Origin.LIVE, asked: bool = False, begun: float | None = None
) -> StartedRun:
    """The run of that tick, unfinished; it began on time unless said otherwise."""
    first_started_at = moment(seconds if begun is None else begun)
    return StartedRun(
        key(seconds), moment(seconds), None, origin, cancel_requested=asked, first_started_at=first_started_at
    )


def finished(
    seconds: float, at: float, origin: Origin = Origin.LIVE, begun: float | None = None
) -> StartedRun:
    """The run of that tick, ended then; it began on time unless said otherwise."""
    first_started_at = moment(seconds if begun is None else begun)
    return StartedRun(key(seconds), moment(seconds), moment(at), origin, first_started_at=first_started_at)


def facts(
    due: Iterable[DueTick],
    unfinished: Iterable[StartedRun] = (),
    ended: Iterable[StartedRun] = (),
    newest_due: datetime | None = None,
    gate: GateFacts | None = None,
    unplanned: datetime | None = None,
) -> ScheduleFacts:
    """What the ledger shows of the schedule; at least one tick is due."""
    ticks = tuple(sorted(due, key=lambda one: (one.origin not in LIVE, one.fire_time)))
    return ScheduleFacts(
        namespace=DEFAULT_NAMESPACE,
        schedule_id=SCHEDULE,
        due=ticks,
        newest_due=newest_due or max(one.fire_time for one in ticks),
        unfinished=tuple(unfinished),
        finished=tuple(sorted(ended, key=lambda one: one.finished_at or NINE, reverse=True)),
        previous=None,
        gate=gate or GateFacts(),
        unplanned=unplanned,
    )


def told(verdicts: Iterable[Verdict]) -> dict[str, str]:
    """Each judged run with one word for what becomes of it; the gate under its own name."""
    return dict(map(_word, verdicts))


def _word(verdict: Verdict) -> tuple[str, str]:
    match verdict:
        case Start(run_key):
            return run_key, "start"
        case End(run_key, state):
            return run_key, str(state)
        case Admit(run_key, held, waits):
            return run_key, "held" if held else "admitted" if waits is None else "admitted, waits"
        case Wait(run_key):
            return run_key, "waits"
        case Stop(run_key, at_once=at_once):
            return run_key, "terminated" if at_once else "asked"
        case CloseGate():
            return "gate", "closed"
        case _ as never:
            assert_never(never)
