"""The verbs of dead runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, field

from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.run import RunRecord, RunState
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import LIMIT_DEFAULT, LIMIT_MAX, Cursor, Limit
from fencepost.operations.responses.dead import DeadReplay, LeftRun
from fencepost.operations.responses.runs import RunPage, RunWithAttempts
from fencepost.operations.runs import (
    KEYS_MAX,
    ListRunsRequest,
    RunRequest,
    list_runs,
    replaying,
    runs_by_key,
    show_run,
)
from fencepost.operations.words import Name, RunKeyText, ScheduleIdText, Seconds, Text, When

CHOSEN_MAX = 10_000
LATER_MAX_S = 10 * 366 * 86_400.0
ONLY_DEAD = frozenset({RunState.DEAD})


class DeadChoice(Request, frozen=True, kw_only=True):
    """Which dead runs: all that fit everything that is given."""

    schedule: Annotated[ScheduleIdText, Meta(description="Only the ticks of this schedule.")] | None = None
    job: Annotated[Name, Meta(description="Only runs of this job.")] | None = None
    since: Annotated[When, Meta(description="Fire times from then on.")] | None = None
    until: Annotated[When, Meta(description="Fire times up to then.")] | None = None
    error: Annotated[Text, Meta(description="Only runs whose error contains this.")] | None = None
    text: Annotated[Text, Meta(description="Only runs whose key contains this.")] | None = None
    queue: Annotated[Name, Meta(description="Only runs of this queue.")] | None = None


class ListDeadRequest(DeadChoice, frozen=True, kw_only=True):
    """Which dead runs to list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class ReplayDeadRequest(ChangeRequest, frozen=True, kw_only=True):
    """Which dead runs to replay: by their keys, by a choice, or all; one of the three."""

    run_keys: Annotated[list[RunKeyText], Meta(max_length=KEYS_MAX)] = field(default_factory=list)
    choice: Annotated[DeadChoice, Meta(description="All that fit, the oldest fire time first.")] | None = None
    everything: Annotated[bool, Meta(description="All of the namespace, the oldest first.")] = False
    every_s: Annotated[Seconds, Meta(ge=0, le=86_400, description="How far apart they become due.")] = 0.0
    first_in_s: Annotated[
        Seconds, Meta(ge=0, le=LATER_MAX_S, description="How long until the first becomes due.")
    ] = 0.0
    dry_run: Annotated[bool, Meta(description="Only say which.")] = False


@operation("dead.list", "GET /dead", Role.VIEWER)
async def list_dead(control: Control, request: ListDeadRequest) -> RunPage:
    """List dead runs, the newest fire time first."""
    return await list_runs.carry_out(control, _of_runs(request, request.limit, request.after))


@operation("dead.show", "GET /dead/{run_key}", Role.VIEWER)
async def show_dead(control: Control, request: RunRequest) -> RunWithAttempts:
    """Show one dead run: every attempt with its error, traceback, worker, times and output."""
    found = await show_run.carry_out(control, request)
    if found.state != RunState.DEAD:
        raise UsageError(f"run {request.run_key}: is {found.state}, not dead; see: fencepost runs show")
    return found


@operation(
    "dead.replay",
    "POST /dead/replay",
    Role.OPERATOR,
    example={"choice": {"job": "send_invoices", "since": "2d"}, "every_s": 6.0, "reason": "the mail is back"},
)
async def replay_dead(control: Control, request: ReplayDeadRequest) -> DeadReplay:
    """Replay dead runs: by their keys, by a choice, or all of them.

    A run keeps its key and its history, and each replay leaves an entry in the log. One that is not dead
    when its turn comes stays as it is. More than ten thousand at a time are refused."""
    if sum((bool(request.run_keys), request.choice is not None, request.everything)) != 1:
        raise UsageError("dead replay: give run_keys, a choice such as a job, or everything; one of them")
    keys = list(dict.fromkeys(request.run_keys)) or await _chosen(control, request.choice or DeadChoice())
    if request.dry_run:
        left = await _left(control, keys, may=ONLY_DEAD) if request.run_keys else []
        unfit = {one.run_key for one in left}
        would = [one for one in keys if one not in unfit]
        return DeadReplay(
            replayed=[], left=left, would_replay=would, duration_s=_duration(len(would), request.every_s)
        )
    replayed: set[str] = set()
    batches = replaying(control, keys, request.every_s, only=ONLY_DEAD, first_in_s=request.first_in_s)
    async for batch in batches:
        replayed |= set(batch)
    return DeadReplay(
        replayed=[one for one in keys if one in replayed],
        left=await _left(control, [one for one in keys if one not in replayed]),
        would_replay=[],
        duration_s=_duration(len(replayed), request.every_s),
    )


async def _chosen(control: Control, choice: DeadChoice) -> list[str]:
    """The keys, the oldest fire time first."""
    found: list[str] = []
    after: str | None = None
    while True:
        page = await list_runs.carry_out(control, _of_runs(choice, LIMIT_MAX, after))
        found += [one.run_key for one in page.items]
        after = page.next
        if len(found) > CHOSEN_MAX:
            told = "choose fewer with since and until, or name them"
            raise UsageError(f"dead replay: more than {CHOSEN_MAX} runs fit; {told}")
        if after is None:
            return found[::-1]


async def _left(
    control: Control, keys: Sequence[str], may: frozenset[RunState] = frozenset()
) -> list[LeftRun]:
    """Why each of these was not replayed, or would not be: all but those in a state that may."""
    left = {one: _why(one, None) for one in keys}
    async for batch in runs_by_key(control, keys):
        for key, run in batch.items():
            if run.state in may:
                del left[key]
            else:
                left[key] = _why(key, run)
    return list(left.values())


def _why(run_key: str, run: RunRecord | None) -> LeftRun:
    if run is None:
        return LeftRun(run_key=run_key, state=None, why="not found; see: fencepost runs list")
    by_hand = run.state is RunState.DEAD and run.schedule_id is None
    why = "retention has removed its payload" if by_hand else f"is {run.state}, not dead"
    return LeftRun(run_key=run_key, state=str(run.state), why=why)


def _of_runs(choice: DeadChoice, limit: int, after: str | None) -> ListRunsRequest:
    fields = {one: getattr(choice, one) for one in DeadChoice.__struct_fields__}
    return ListRunsRequest(**fields, state=RunState.DEAD, limit=limit, after=after)


def _duration(count: int, every_s: float) -> float:
    return max(count - 1, 0) * every_s
