"""The verbs of runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from fencepost.core.fingerprints import Fingerprint, fingerprints
from fencepost.errors import UsageError
from fencepost.model.access import Role
from fencepost.model.audit import PROGRAM
from fencepost.model.identifiers import JobName, NodeId, Queue, RunKey, ScheduleId
from fencepost.model.run import REPLAYABLE, Attempt, Origin, RunFilter, RunList, RunPlace, RunRecord, RunState
from fencepost.model.run_log import LOG_BEGIN, LoggedChunk, LogPlace
from fencepost.operations.control import Control
from fencepost.operations.operation import ChangeRequest, Request, operation
from fencepost.operations.paging import FORGED, LIMIT_DEFAULT, Cursor, Limit, decode_cursor, encode_cursor
from fencepost.operations.responses.runs import (
    LogResponse,
    ReplayResponse,
    RunPage,
    RunResponse,
    RunWithAttempts,
    attempt_response,
    chunk_response,
    effect_responses,
    predecessor_response,
    run_fields,
    run_response,
    successor_response,
)
from fencepost.operations.words import (
    INTEGER_MAX,
    Name,
    RunKeyText,
    ScheduleIdText,
    Seconds,
    Text,
    When,
    read_instant,
    read_when,
)
from fencepost.services.lookups import known_run, names_of, schedule_id_of, unknown_run
from fencepost.telemetry import traces

KEYS_MAX = 1_000

BATCH_MAX = 500
LOG_PAGE_MAX = 100
TAIL_CHUNKS = 20
CANCELLED = "cancelled by an operator"
CANCELLED_BY_PROGRAM = "cancelled by a program"


class RunChoice(Request, frozen=True, kw_only=True):
    """Which runs: all that fit everything that is given."""

    schedule: Annotated[ScheduleIdText, Meta(description="Only the ticks of this schedule.")] | None = None
    job: Annotated[Name, Meta(description="Only runs of this job.")] | None = None
    state: Annotated[RunState, Meta(description="Only runs in this state, such as ready or dead.")] | None = (
        None
    )
    since: Annotated[When, Meta(description="Fire times from then on.")] | None = None
    until: Annotated[When, Meta(description="Fire times up to then.")] | None = None
    origin: (
        Annotated[Origin, Meta(description="Only runs of this origin, such as live, catch_up or backfill.")]
        | None
    ) = None
    error: Annotated[Text, Meta(description="Only runs whose error contains this.")] | None = None
    text: Annotated[Text, Meta(description="Only runs whose key contains this.")] | None = None
    worker: Annotated[Text, Meta(description="Only runs whose last attempt this worker made.")] | None = None
    queue: Annotated[Name, Meta(description="Only runs of this queue.")] | None = None
    backfill: (
        Annotated[int, Meta(ge=1, le=INTEGER_MAX, description="Only the runs of this backfill.")] | None
    ) = None
    held: Annotated[bool, Meta(description="Only runs that nobody may start at the moment.")] = False


class ListRunsRequest(RunChoice, frozen=True, kw_only=True):
    """Which runs to list."""

    limit: Limit = LIMIT_DEFAULT
    after: Cursor | None = None


class RunRequest(Request, frozen=True, kw_only=True):
    """One run, by its key."""

    run_key: RunKeyText


class ReadLogRequest(Request, frozen=True, kw_only=True):
    """Whose log, and which part of it."""

    run_key: RunKeyText
    attempt: Annotated[int, Meta(ge=1, le=INTEGER_MAX, description="Only of that attempt.")] | None = None
    tail: Annotated[bool, Meta(description="Only the end of what the last attempt wrote.")] = False
    limit: Annotated[int, Meta(ge=1, le=LOG_PAGE_MAX, description="How many parts at most.")] = LOG_PAGE_MAX
    after: Cursor | None = None


class ChangeRunRequest(ChangeRequest, frozen=True, kw_only=True):
    """One run, by its key."""

    run_key: RunKeyText


class ReplayRunsRequest(ChangeRequest, frozen=True, kw_only=True):
    """Which runs to send on their way again."""

    run_keys: Annotated[list[RunKeyText], Meta(min_length=1, max_length=KEYS_MAX)]
    every_s: Annotated[Seconds, Meta(ge=0, le=86_400, description="How far apart they become due.")] = 0.0


@operation("runs.list", "GET /runs", Role.VIEWER)
async def list_runs(control: Control, request: ListRunsRequest) -> RunPage:
    """List runs, the newest fire time first.

    A search through many runs may give a page that is short, even empty, and go on behind it: a list is over
    where `next` is null."""
    wanted = await run_filter(control, request, request.limit + 1, request.after)
    found = await find_runs(control, wanted)
    place = found.following(request.limit)
    return RunPage(
        items=[run_response(one) for one in found[: request.limit]],
        next=None if place is None else run_cursor(place),
    )


@operation("runs.show", "GET /runs/{run_key}", Role.VIEWER)
async def show_run(control: Control, request: RunRequest) -> RunWithAttempts:
    """Show one run with its attempts, errors, output and effects, what it followed and what follows it."""
    run, attempts = await run_with_attempts(control, request.run_key)
    chain = await control.store.ledger.chain(control.namespace, RunKey(request.run_key))
    return RunWithAttempts(
        **run_fields(run),
        attempts=[attempt_response(one) for one in attempts],
        effects=effect_responses(await effects(control, request.run_key)),
        after=[predecessor_response(one) for one in chain.after],
        then=[successor_response(one) for one in chain.then],
    )


@operation("runs.log", "GET /runs/{run_key}/log", Role.VIEWER)
async def read_log(control: Control, request: ReadLogRequest) -> LogResponse:
    """Read what a run has written: with run.log, with logging, or as a command's output.

    Of a long log the first lines and the last are kept. What looks like a secret is masked."""
    await run_with_attempts(control, request.run_key)
    if request.tail:
        found = await log_tail(control, request.run_key)
    else:
        found = await control.store.run_logs.read(
            control.namespace,
            RunKey(request.run_key),
            attempt=request.attempt,
            after=_log_place(request.after),
            limit=request.limit,
        )
    return LogResponse(
        items=[chunk_response(one) for one in found],
        next=encode_cursor(found[-1].attempt, found[-1].chunk.number) if found else request.after,
    )


@operation("runs.cancel", "POST /runs/{run_key}/cancel", Role.OPERATOR)
async def cancel_run(control: Control, request: ChangeRunRequest) -> RunResponse:
    """Cancel a run.

    One that waits ends at once, one that runs is asked to stop, one that has ended stays as it is."""
    return run_response(await cancel(control, request.run_key))


@operation("runs.skip", "POST /runs/{run_key}/skip", Role.OPERATOR)
async def skip_run(control: Control, request: ChangeRunRequest) -> RunResponse:
    """Call off a run that nobody has begun; it ends as skipped. Any other stays as it is."""
    return run_response(await skip(control, request.run_key))


@operation("runs.hold", "POST /runs/{run_key}/hold", Role.OPERATOR)
async def hold_run(control: Control, request: ChangeRunRequest) -> RunResponse:
    """Hold a run that waits: nobody starts it until it is released."""
    return run_response(await hold(control, request.run_key))


@operation("runs.release", "POST /runs/{run_key}/release", Role.OPERATOR)
async def release_run(control: Control, request: ChangeRunRequest) -> RunResponse:
    """Release a run that is held.

    One whose time has come meanwhile is due from now on."""
    return run_response(await release(control, request.run_key))


@operation(
    "runs.replay",
    "POST /runs/replay",
    Role.OPERATOR,
    example={"run_keys": ["invoices#2026-03-01T00:00:00Z#3"], "reason": "the mail server is back"},
)
async def replay_runs(control: Control, request: ReplayRunsRequest) -> ReplayResponse:
    """Send runs that have ended on their way again, under their own keys.

    All of them have to be there. One that waits or runs, or was withdrawn, is left as it is."""
    there: set[str] = set()
    async for batch in runs_by_key(control, request.run_keys):
        there |= batch.keys()
    for one in request.run_keys:
        if one not in there:
            raise unknown_run(one)
    replayed = set(await replay(control, request.run_keys, request.every_s))
    return ReplayResponse(
        replayed=[one for one in request.run_keys if one in replayed],
        left=[one for one in request.run_keys if one not in replayed],
    )


async def run_filter(control: Control, request: RunChoice, limit: int, after: str | None = None) -> RunFilter:
    """The filter that is meant, with times before the store's time read by it."""
    now = await control.store.now()
    return RunFilter(
        schedule_id=None if request.schedule is None else ScheduleId(request.schedule),
        job=None if request.job is None else JobName(request.job),
        state=request.state,
        since=None if request.since is None else read_when("since", request.since, now),
        until=None if request.until is None else read_when("until", request.until, now),
        limit=limit,
        origin=request.origin,
        error=request.error,
        backfill_id=request.backfill,
        held=True if request.held else None,
        text=request.text,
        worker=None if request.worker is None else NodeId(request.worker),
        queue=None if request.queue is None else Queue(request.queue),
        after=None if after is None else _behind(after),
    )


def _log_place(cursor: str | None) -> LogPlace:
    if cursor is None:
        return LOG_BEGIN
    attempt, number = decode_cursor(cursor, tuple[int, int])
    if not (0 <= attempt <= INTEGER_MAX and 0 <= number <= INTEGER_MAX):
        raise UsageError(FORGED)
    return LogPlace(attempt, number)


def run_cursor(place: RunPlace) -> str:
    """Where a list of runs goes on, as a cursor."""
    fire_time, run_key = place
    return encode_cursor(fire_time.isoformat(), run_key)


def _behind(cursor: str) -> RunPlace:
    fire_time, run_key = decode_cursor(cursor, tuple[str, str])
    return read_instant("cursor", fire_time), RunKey(run_key)


async def run_with_attempts(control: Control, run_key: str) -> tuple[RunRecord, Sequence[Attempt]]:
    """A run and its remembered attempts."""
    found = known_run(run_key, await control.store.ledger.get(control.namespace, RunKey(run_key)))
    return found, await control.store.ledger.attempts(control.namespace, RunKey(run_key))


async def effects(control: Control, run_key: str) -> Sequence[Fingerprint]:
    """What each attempt of a run said that it did."""
    return fingerprints(await control.store.steps.recorded(control.namespace, RunKey(run_key)))


async def runs_by_key(control: Control, run_keys: Sequence[str]) -> AsyncIterator[Mapping[RunKey, RunRecord]]:
    """Those of these runs that are there, a batch at a time."""
    for batch in batches(run_keys):
        yield await control.store.ledger.get_many(control.namespace, batch)


async def log_tail(control: Control, run_key: str) -> Sequence[LoggedChunk]:
    """The end of what its last attempt has logged."""
    found = await control.store.run_logs.tail(control.namespace, RunKey(run_key), limit=TAIL_CHUNKS)
    return [one for one in found if one.attempt == found[-1].attempt]


async def find_runs(control: Control, wanted: RunFilter) -> RunList:
    """Runs, newest fire time first; those of a renamed job with those that it had under its old names."""
    store, namespace = control.store, control.namespace
    names = (None,) if wanted.job is None else await names_of(store, namespace, wanted.job)
    found = [await store.ledger.list(namespace, replace(wanted, job=name)) for name in names]
    if wanted.schedule_id is not None and not any(found):
        kept = await schedule_id_of(store, namespace, wanted.schedule_id)
        if kept != wanted.schedule_id:
            return await find_runs(control, replace(wanted, schedule_id=kept))
    return found[0] if len(found) == 1 else merged(found, wanted.limit)


async def cancel(control: Control, run_key: str, reason: str | None = None) -> RunRecord:
    """End a waiting run, or ask a running one to stop."""
    by = CANCELLED_BY_PROGRAM if control.author == PROGRAM else CANCELLED
    why = reason or control.because(by)
    ledger = control.store.ledger
    found = await ledger.cancel(control.namespace, RunKey(run_key), why, author=control.author)
    run = known_run(run_key, found)
    traces.cancelled(run)
    return run


async def skip(control: Control, run_key: str) -> RunRecord:
    """Call off a run that nobody has begun; any other stays as it is."""
    return known_run(
        run_key, await control.store.ledger.skip(control.namespace, RunKey(run_key), control.author)
    )


async def hold(control: Control, run_key: str) -> RunRecord:
    """Let nobody start a waiting run until it is released."""
    return known_run(
        run_key, await control.store.ledger.hold(control.namespace, RunKey(run_key), control.author)
    )


async def release(control: Control, run_key: str) -> RunRecord:
    """Take the hold away again."""
    return known_run(
        run_key, await control.store.ledger.release(control.namespace, RunKey(run_key), control.author)
    )


async def replay(control: Control, run_keys: Sequence[str], every_s: float = 0.0) -> Sequence[RunKey]:
    """Send ended runs on their way again, one every so often; returns the keys of those that were."""
    replayed: list[RunKey] = []
    async for keys in replaying(control, run_keys, every_s):
        replayed += keys
    return replayed


async def replaying(
    control: Control,
    run_keys: Sequence[str],
    every_s: float,
    *,
    only: frozenset[RunState] = REPLAYABLE,
    first_in_s: float = 0.0,
) -> AsyncIterator[Sequence[RunKey]]:
    """The same a batch at a time, for whoever wants to watch; of those in one of these states, the first
    due so much later."""
    parts = list(batches(run_keys))
    control.run_quota.take(sum(map(len, parts)))
    for batch in parts:
        replayed = await control.store.ledger.replay(
            control.namespace, batch, every_s, control.author, first_in_s=first_in_s, only=only
        )
        control.run_quota.give_back(len(batch) - len(replayed))
        first_in_s += len(replayed) * every_s
        yield replayed


def batches(run_keys: Sequence[str]) -> Iterator[list[RunKey]]:
    """Each key once, so many at a time that neither a transaction nor an answer grows with them."""
    keys = [RunKey(one) for one in dict.fromkeys(run_keys)]
    for start in range(0, len(keys), BATCH_MAX):
        yield keys[start : start + BATCH_MAX]


def merged(pages: Sequence[RunList], limit: int) -> RunList:
    """One page of several: as far as all of them have been searched."""
    places = [one.searched_to for one in pages if one.searched_to is not None]
    place = max(places, default=None)
    runs = sorted((run for one in pages for run in one), key=_place, reverse=True)
    seen = [run for run in runs if place is None or _place(run) >= place]
    return RunList(seen[:limit], place if len(seen) <= limit else _place(seen[limit - 1]))


def _place(run: RunRecord) -> RunPlace:
    return run.fire_time, run.run_key
