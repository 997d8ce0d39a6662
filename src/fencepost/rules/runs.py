"""Changes of runs that several rules have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from fencepost.core.lifecycle import observed
from fencepost.model.audit import Action, Author
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_from_text
from fencepost.model.identifiers import DEFAULT_QUEUE, Namespace, RunKey, ScheduleId, tick_key
from fencepost.model.job import PRIORITY_BEHIND, PRIORITY_DEFAULT
from fencepost.model.json import JsonObject
from fencepost.model.run import Hold, Origin, RunRecord, RunState, Ticket
from fencepost.model.table import Key, Keys, Row
from fencepost.model.tables import (
    ATTEMPTS,
    JOBS,
    LIMITS,
    RUNS,
    RUNS_IN_SLOTS,
    RUNS_LIMITED,
    RUNS_PARKED,
    VERSIONS,
)
from fencepost.ports.rows import Transaction
from fencepost.ports.signals import Topic
from fencepost.rules.audit_log import Change, log_all
from fencepost.rules.rows import to_run_record, to_ticket
from fencepost.rules.successors import follow

Slot: TypeAlias = tuple[str, str, str]
"""Namespace, job, and the slot that runs of the job count for."""
WAITING = frozenset({RunState.PLANNED.value, RunState.READY.value})
RUNNING = RunState.RUNNING.value


def is_tick(run: Row) -> bool:
    """Whether it belongs to a schedule and no worker has begun it."""
    return run["schedule_id"] is not None and run["fence"] == 0


@dataclass(slots=True)
class Freed:
    """What runs that ended leave behind: their successors, slots that are free, schedules whose next tick
    may have its turn, and whether a caller waited for one of them."""

    ended: list[Row] = field(default_factory=list)
    slots: dict[Slot, None] = field(default_factory=dict)
    schedules: dict[tuple[str, str], None] = field(default_factory=dict)
    awaited: bool = False

    def note(self, before: Row, after: Row) -> None:
        """Take in a change of a run."""
        if before["state"] == RUNNING != after["state"] and before["slot"] is not None:
            self.slots[before["namespace"], before["job"], before["slot"]] = None
        if after["finished_at"] is not None and before["finished_at"] is None:
            self.ended.append(after)
        if after["finished_at"] is not None and after["schedule_id"] is not None:
            self.schedules[after["namespace"], after["schedule_id"]] = None
        self.awaited = self.awaited or (after["awaited"] and after["finished_at"] is not None)

    async def wake_next(self, tx: Transaction) -> None:
        """Wake the runs whose turn it is now, and enqueue successors; at the end of a rule, after all that it
        parks."""
        self.tell(tx)
        await self.follow(tx)
        woken = await fill_slots(tx, self.slots) + await unpark_first(tx, sorted(self.schedules))
        if woken:
            tx.hint(Topic.RUNS)

    async def follow(self, tx: Transaction) -> None:
        """Enqueue the successors of the runs that ended."""
        ended, self.ended = self.ended, []
        await follow(tx, ended)

    def tell(self, tx: Transaction) -> None:
        """Wake callers that wait for the end of a run."""
        if self.awaited:
            tx.hint(Topic.ENDED)


async def unpark_first(tx: Transaction, schedules: Iterable[tuple[str, str]]) -> int:
    """Of the ticks of each schedule that only wait for their turn, the first becomes due. A locked one is
    being judged, or unparked, already."""
    parked = await tx.take(RUNS_PARKED.each(schedules), limit=1)
    await tx.change(RUNS, [(run, {"held": 0}) for run in parked])
    return len(parked)


async def fill_slots(tx: Transaction, slots: Iterable[Slot]) -> int:
    """As many runs that wait for these slots as have a place get into the limit queue again; returns how
    many."""
    asked = sorted(slots)
    known = await tx.find(LIMITS.among((namespace, job) for namespace, job, _ in asked)) if asked else []
    most = {LIMITS.key_of(row): row["concurrency"] for row in known if row["concurrency"] is not None}
    limited = [one for one in asked if one[:2] in most]
    running = await tx.count([RUNS_IN_SLOTS(*one) for one in limited])
    free = {one: most[one[:2]] - count for one, count in zip(limited, running, strict=True)}
    open_ = [one for one in limited if free[one] > 0]
    chosen: list[Key] = []
    for run in await tx.find(RUNS_LIMITED.each(open_), limit=max(free.values(), default=0)):
        slot = run["namespace"], run["job"], run["slot"]
        free[slot] -= 1
        chosen += [RUNS.key_of(run)] if free[slot] >= 0 else []
    taken = [run for run in await tx.take(RUNS.among(chosen)) if RUNS_LIMITED.has(run)]
    await tx.change(RUNS, [(run, {"held": 0 if is_tick(run) else Hold.PACED.value}) for run in taken])
    return len(taken)


async def change(tx: Transaction, freed: Freed, run: Row, **values: Any) -> Row:
    """Give one run new values."""
    (after,) = await tx.change(RUNS, [(run, values)])
    freed.note(run, after)
    return after


async def end(
    tx: Transaction,
    freed: Freed,
    run: Row,
    state: RunState,
    reason: str | None,
    error: str | None = None,
    **more: Any,
) -> Row:
    """End a run for good; nothing holds it any more."""
    ended = {"state": state.value, "reason": reason, "error": error, "finished_at": await tx.now()}
    return await change(tx, freed, run, **ended, held=0, alive_until=None, **more)


async def call_off(tx: Transaction, freed: Freed, run: Row, reason: str) -> Row | None:
    """End a waiting run as cancelled, ask a running one to stop; None where neither changes anything."""
    if run["state"] in WAITING:
        (fence,) = await tx.fences(1) if run["fence"] else (0,)
        return await end(tx, freed, run, RunState.CANCELLED, reason, fence=fence)
    if run["state"] == RUNNING and not run["cancel_requested"]:
        return await change(tx, freed, run, cancel_requested=True)
    return None


async def terminate(tx: Transaction, freed: Freed, run: Row, reason: str) -> None:
    """End an unfinished run at once: its worker is fenced off."""
    if run["state"] == RUNNING:
        await keep_attempts(tx, [Ended(run, "terminated", reason)])
    (fence,) = await tx.fences(1)
    await end(tx, freed, run, RunState.CANCELLED, reason, fence=fence)


class Ended(NamedTuple):
    """How the present attempt of a run ended."""

    run: Row
    outcome: str
    error: str | None
    detail: str | None = None
    output: str | None = None


async def keep_attempts(tx: Transaction, ended: Sequence[Ended]) -> None:
    """Keep the attempts of these runs by themselves."""
    same, now = ("namespace", "run_key", "attempt", "fence", "worker", "started_at"), await tx.now()
    attempts = [
        {
            **{column: one.run[column] for column in same},
            "outcome": one.outcome,
            "error": one.error,
            "detail": one.detail,
            "output": one.output,
            "finished_at": now,
        }
        for one in ended
    ]
    await tx.put_if_absent(ATTEMPTS, attempts)


async def send_again(
    tx: Transaction, run: Row, run_at: datetime, origin: Origin, backfill_id: int | None, frozen: bool
) -> Row:
    """Let an ended run be ready once more: its attempts stay, all else is as if it had never begun."""
    empty = ("reason", "error", "worker", "blocked_by", "progress", "note")
    unset = ("started_at", "finished_at", "first_started_at", "due_at", "expires_at", "progress_at")
    values = {
        **dict.fromkeys((*empty, *unset)),
        "state": RunState.READY.value,
        "fence": 0,
        "run_at": run_at,
        "priority": PRIORITY_BEHIND,
        "cancel_requested": False,
        "told": False,
        "origin": origin.value,
        "held": Hold.FROZEN.value if frozen else 0,
        "attempts_before_replay": run["attempt"],
        "backfill_id": backfill_id,
    }
    (after,) = await tx.change(RUNS, [(run, values)])
    return after


async def put_runs(tx: Transaction, runs: Sequence[Row]) -> list[Row]:
    """Write those that are not there yet, and return them."""
    now = await tx.now()
    return list(await tx.put_if_absent(RUNS, [{**run, "created_at": now} for run in runs]))


def new_tick(
    schedule: Row,
    version: Row,
    place: tuple[str, int],
    fire_time: datetime,
    run_at: datetime,
    state: RunState,
    origin: Origin,
) -> Row:
    """A tick as the planner would write it, in its queue and priority, held where its schedule is frozen."""
    queue, priority = place
    return {
        "namespace": schedule["namespace"],
        "run_key": tick_key(ScheduleId(schedule["schedule_id"]), fire_time, version["version"]),
        "schedule_id": schedule["schedule_id"],
        "job": version["job"],
        "version": version["version"],
        "fire_time": fire_time,
        "run_at": run_at,
        "state": state.value,
        "queue": queue,
        "priority": priority,
        "origin": origin.value,
        "held": Hold.FROZEN.value if schedule["frozen"] else 0,
    }


async def place_of(tx: Transaction, version: Row) -> tuple[str, int]:
    """The queue and the priority of a version's runs: its own, or else those of its job."""
    spec = schedule_from_text(version["spec"])
    known = await tx.find(JOBS.at(version["namespace"], version["job"]))
    queue, priority = (
        (known[0]["queue"], known[0]["priority"]) if known else (DEFAULT_QUEUE, PRIORITY_DEFAULT)
    )
    return spec.queue or queue, spec.priority or priority


async def with_specs(tx: Transaction, runs: Sequence[Row]) -> list[Row]:
    """The runs, each with the `spec` of its version; none where it has no schedule."""
    versions = {_version_of(run) for run in runs if run["schedule_id"] is not None}
    rows = await tx.find(VERSIONS.among(sorted(versions))) if versions else []
    specs = {VERSIONS.key_of(row): row["spec"] for row in rows}
    return [{**run, "spec": specs.get(_version_of(run))} for run in runs]


async def shown(tx: Transaction, runs: Sequence[Row], now: StoreTime | None = None) -> list[RunRecord]:
    """Runs as readers see them: a due `planned` run is `ready`. The time counts where one is planned."""
    if now is None and any(run["state"] == RunState.PLANNED for run in runs):
        now = await tx.now()
    return [to_run_record(run if now is None else as_seen(run, now)) for run in await with_specs(tx, runs)]


def as_seen(run: Row, now: StoreTime) -> Row:
    """The run with the state that a reader sees."""
    return {**run, "state": observed(RunState(run["state"]), run["run_at"], now)}


async def log_runs(
    tx: Transaction,
    author: Author | None,
    namespace: Namespace,
    action: Action,
    before: Mapping[RunKey, RunRecord],
    after: Iterable[RunRecord],
) -> None:
    """Leave an entry about each run that was changed or written."""
    said = [Change(run.run_key, _logged(before.get(run.run_key)), _logged(run)) for run in after]
    await log_all(tx, author, namespace, action, said)


def _logged(run: RunRecord | None) -> JsonObject:
    """What the audit log keeps of a run."""
    if run is None:
        return {}
    return {
        "state": str(run.state),
        "reason": run.reason,
        "attempt": run.attempt,
        "held": int(run.held),
        "cancel_requested": run.cancel_requested,
    }


def owners_of(runs: Iterable[Row]) -> list[tuple[Namespace, ScheduleId]]:
    """The schedules of some runs, each once, in order."""
    return sorted({(run["namespace"], run["schedule_id"]) for run in runs if run["schedule_id"] is not None})


def records_by_key(runs: Iterable[RunRecord]) -> dict[RunKey, RunRecord]:
    """Runs of one namespace by key, as readers see them."""
    return {run.run_key: run for run in runs}


def by_key(runs: Iterable[Row]) -> dict[str, Row]:
    """Runs of one namespace by key."""
    return {run["run_key"]: run for run in runs}


def _version_of(run: Row) -> tuple[Any, Any, Any]:
    return run["namespace"], run["schedule_id"], run["version"]


def is_of(run: Row, ticket: Ticket) -> bool:
    """Whether the ticket's attempt is the run's latest, and the run was not taken from it."""
    return to_ticket(run) == ticket


def is_owned(run: Row, ticket: Ticket) -> bool:
    """Whether the ticket's attempt is under way."""
    return run["state"] == RUNNING and is_of(run, ticket)


def is_owned_in(runs: Mapping[Key, Row], ticket: Ticket) -> bool:
    """Whether the ticket's attempt of one of these runs is under way."""
    run = runs.get((ticket.namespace, ticket.run_key))
    return run is not None and is_owned(run, ticket)


async def lock_owned(tx: Transaction, ticket: Ticket) -> Row | None:
    """The run of an attempt that is under way, locked."""
    runs = await tx.lock(keys_of([ticket]))
    return runs[0] if runs and is_owned(runs[0], ticket) else None


def keys_of(tickets: Sequence[Ticket]) -> Keys:
    """The runs of these tickets."""
    return RUNS.among((one.namespace, one.run_key) for one in tickets)
