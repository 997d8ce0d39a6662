"""Backfills."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from fencepost.core.backfilling import FORGOTTEN, MISSING, BackfillCounts
from fencepost.model.backfill import Backfill, BackfillState, FillMode, NewBackfill
from fencepost.model.dataclasses import dataclass
from fencepost.model.run import RunState
from fencepost.model.times import from_utc_text, to_utc_text
from fencepost.operations.paging import Next
from fencepost.operations.words import Moment, Seconds, moment

Since = Annotated[
    Moment, Meta(description="The range is open at its beginning: the first instant in it is later.")
]


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


class EstimateResponse(Struct, kw_only=True):
    """What a backfill would do; nothing is written for it."""

    schedule_id: Annotated[str, Meta(examples=["invoices"])]
    since: Since
    until: Moment
    mode: FillMode
    at_once_max: int
    every_s: Seconds
    fire_times: Annotated[int, Meta(description="How many the range has.")]
    recorded: Annotated[
        int, Meta(description="How many have a run in whatever state, or were missed as a range.")
    ]
    states: Annotated[
        dict[str, int],
        Meta(
            description=f"How many are in which state; `{MISSING}` are those that nothing accounts for, "
            f"`{FORGOTTEN}` those that retention may have removed."
        ),
    ]
    to_run: Annotated[int, Meta(description="How many would run.")]
    forgotten_before: Annotated[
        Moment | None, Meta(description="Where the range begins before what retention keeps.")
    ]
    run_s: Annotated[float | None, Meta(description="How long a run of the schedule takes, on average.")]
    duration_s: Annotated[float | None, Meta(description="How long all of it takes; null: nobody can tell.")]
    warnings: Annotated[list[str], Meta(description="What may surprise whoever asks for it.")]


class BackfillResponse(Struct, kw_only=True):
    """A backfill as it stands, with its runs by state."""

    backfill_id: int
    schedule_id: Annotated[str, Meta(examples=["invoices"])]
    since: Since
    until: Moment
    mode: FillMode
    at_once_max: int
    every_s: Seconds
    state: BackfillState
    filled_through: Annotated[Moment, Meta(description="How far its runs have been written.")]
    created_at: Moment
    over: Annotated[bool, Meta(description="Whether nothing of it is still to come.")]
    runs: Annotated[dict[str, int], Meta(examples=[{"running": 1, "succeeded": 41}])]


class BackfillPage(Struct, kw_only=True):
    """Backfills, the latest first."""

    items: list[BackfillResponse]
    next: Next


def estimate_response(estimate: Estimate) -> EstimateResponse:
    """What a backfill would do."""
    request, account = estimate.request, estimate.account
    return EstimateResponse(
        schedule_id=request.schedule_id,
        since=moment(request.since),
        until=moment(request.until),
        mode=request.mode,
        at_once_max=request.at_once_max,
        every_s=request.every_s,
        fire_times=account.fire_times,
        recorded=account.recorded,
        states=dict(sorted(account.states.items())),
        to_run=account.to_run,
        forgotten_before=moment(estimate.forgotten_before),
        run_s=estimate.run_s,
        duration_s=estimate.duration_s,
        warnings=_warnings(estimate),
    )


def backfill_response(backfill: Backfill) -> BackfillResponse:
    """A backfill."""
    request = backfill.request
    return BackfillResponse(
        backfill_id=backfill.backfill_id,
        schedule_id=request.schedule_id,
        since=moment(request.since),
        until=moment(request.until),
        mode=request.mode,
        at_once_max=request.at_once_max,
        every_s=request.every_s,
        state=backfill.state,
        filled_through=moment(backfill.filled_through),
        created_at=moment(backfill.created_at),
        over=backfill.over,
        runs={str(state): backfill.runs.get(state, 0) for state in RunState if backfill.runs.get(state)},
    )


def first_instant(since: str) -> str:
    """The first instant of a range that is open at its beginning: what people mean by `from`."""
    return to_utc_text(from_utc_text(since) + datetime.resolution)


def _warnings(estimate: Estimate) -> list[str]:
    found = [] if estimate.warning is None else [estimate.warning]
    most = estimate.at_once_max
    if most is not None and estimate.request.at_once_max > most:
        found.append(f"the overlap policy lets {most} run at a time, so --parallel works like {most}")
    return found
