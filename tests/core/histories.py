"""Schedules with a past: versions, runs and missed ranges as a ledger would hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from fencepost.core.accounting import Accountant, Frame
from fencepost.core.accounts import Account
from fencepost.core.expectation import expected
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    Epoch,
    Fence,
    JobName,
    NodeId,
    RunKey,
    tick_key,
)
from fencepost.model.missed import MissedRange
from fencepost.model.run import Attempt, Origin, RunRecord, RunState
from fencepost.model.schedule import ScheduleSpec, ScheduleVersion
from fencepost.model.trigger import Trigger
from fencepost.triggers import Every, stored_trigger
from tests.core.facts import SCHEDULE, moment

NS = DEFAULT_NAMESPACE
WORKER, GONE = NodeId("worker-1"), NodeId("worker-0")
BEGUN = (RunState.RUNNING, RunState.SUCCEEDED, RunState.DEAD)
UNBEGUN = (RunState.SKIPPED, RunState.MISSED, RunState.CANCELLED, RunState.WITHDRAWN)


def version(
    number: int, since_s: float, until_s: float | None = None, every_s: float = 60, **spec: Any
) -> ScheduleVersion:
    """A version that fires every so often, in force from so many seconds after nine on."""
    return ScheduleVersion(
        version=number,
        spec=ScheduleSpec(JobName("report"), trigger=Every(every_s).to_json(), **spec),
        in_force_from=moment(since_s),
        tzdata="2026a",
        in_force_until=None if until_s is None else moment(until_s),
    )


def run(seconds: float, state: RunState = RunState.SUCCEEDED, number: int = 1, **changes: Any) -> RunRecord:
    """The run of the tick of that second, as it stands in that state if all went well."""
    at = moment(seconds)
    begun = state in BEGUN
    record = RunRecord(
        namespace=NS,
        run_key=tick_key(SCHEDULE, at, number),
        schedule_id=SCHEDULE,
        job=JobName("report"),
        fire_time=at,
        version=number,
        state=state,
        reason=None,
        attempt=int(begun),
        fence=Fence(7 if begun else 0),
        epoch=Epoch(3),
        run_at=at,
        started_at=at if begun else None,
        finished_at=None if state in (RunState.PLANNED, RunState.READY, RunState.RUNNING) else at,
        worker=WORKER if begun else None,
        error=None,
        queue=DEFAULT_QUEUE,
        priority=2,
        payload={},
        first_started_at=at if begun else None,
        alive_until=moment(10_000_000) if state is RunState.RUNNING else None,
    )
    return replace(record, **changes)


def attempt(number: int, outcome: str, error: str | None = None) -> Attempt:
    """An attempt that the ledger kept by itself."""
    return Attempt(number, Fence(number), WORKER, moment(0), moment(1), outcome, error, None, None)


def missed(first_s: float, last_s: float, count: int, number: int = 1) -> MissedRange:
    """A range of ticks that were too late when they were planned."""
    return MissedRange(NS, SCHEDULE, number, moment(first_s), moment(last_s), count, "too late")


@dataclass(frozen=True)
class History:
    """All of a schedule's past, and the moment from which it is seen."""

    versions: tuple[ScheduleVersion, ...]
    runs: tuple[RunRecord, ...] = ()
    missed: tuple[MissedRange, ...] = ()
    now_s: float = 10_000
    since_s: float = 0
    until_s: float = 10_000
    planned_s: float = 10_000
    forgotten_s: float | None = None
    attempts: dict[RunKey, Sequence[Attempt]] = field(default_factory=dict)

    def frame(self) -> Frame:
        return Frame(
            namespace=NS,
            schedule_id=SCHEDULE,
            since=moment(self.since_s),
            until=moment(self.until_s),
            now=StoreTime(moment(self.now_s)),
            versions=self.versions,
            planned_version=self.versions[-1].version,
            planned_through=moment(self.planned_s),
            missed=self.missed,
            forgotten_before=None if self.forgotten_s is None else moment(self.forgotten_s),
            workers=frozenset({WORKER}),
        )

    def account(self, lane_limit: int = 3) -> Account:
        """The account, with the runs taken a few at a time."""
        frame = self.frame()
        accountant = Accountant(frame, trigger_of)
        inside = [one for one in self.runs if frame.judged_since < one.fire_time <= frame.judged_until]
        inside.sort(key=lambda one: (one.fire_time, one.run_key))
        for start in range(0, len(inside), lane_limit):
            accountant.take(inside[start : start + lane_limit], self.attempts, {})
        return accountant.close()

    def found(self) -> list[tuple[str, float]]:
        """Every finding as its kind and the second after nine."""
        return [(str(one.kind), seconds(one.fire_time)) for one in self.account().findings]


def trigger_of(one: ScheduleVersion) -> Trigger:
    return stored_trigger(one.spec, SCHEDULE)


def seconds(at: datetime) -> float:
    """So many seconds after nine."""
    return (at - moment(0)) / timedelta(seconds=1)


@st.composite
def honest_histories(draw: st.DrawFn) -> History:
    """Versions with edits and pauses between them, and a ledger that accounts for every tick."""
    versions: list[ScheduleVersion] = []
    start = 0
    for number in range(1, draw(st.integers(1, 4)) + 1):
        end = start + draw(st.integers(0, 400))
        versions.append(version(number, start, end, draw(st.integers(7, 90))))
        start = end + draw(st.sampled_from([0, 0, 50, 200]))
    versions[-1] = replace(versions[-1], in_force_until=draw(st.sampled_from([None, moment(start + 500)])))
    due = list(expected(versions, trigger_of, moment(0), moment(1_000)))
    runs, ranges = _accounted(draw, [(seconds(one.fire_time), one.version) for one in due])
    runs += [run(at + 0.5, draw(st.sampled_from(UNBEGUN))) for at in draw(st.sets(st.integers(0, 999)))]
    runs += [run(at + 0.25, origin=Origin.MANUAL) for at in draw(st.sets(st.integers(0, 999), max_size=5))]
    return History(tuple(versions), tuple(runs), tuple(ranges), now_s=1_100, until_s=1_000, planned_s=1_000)


def _accounted(draw: st.DrawFn, due: list[tuple[float, int]]) -> tuple[list[RunRecord], list[MissedRange]]:
    """Each tick has a run in some state, or is counted in a range of its version."""
    runs: list[RunRecord] = []
    ranges: list[MissedRange] = []
    settled = [one for one in RunState if one not in (RunState.PLANNED, RunState.READY, RunState.WITHDRAWN)]
    while due:
        length = draw(st.integers(1, 5))
        lane_limit = [one for one in due[:length] if one[1] == due[0][1]]
        due = due[len(lane_limit) :]
        if draw(st.booleans()):
            runs += [run(at, draw(st.sampled_from(settled)), number) for at, number in lane_limit]
        else:
            ranges.append(missed(lane_limit[0][0], lane_limit[-1][0], len(lane_limit), lane_limit[0][1]))
            # A key that was withdrawn accounts for nothing and hides nothing.
            runs += [run(at, RunState.WITHDRAWN, number) for at, number in lane_limit[:1]]
    return runs, ranges
