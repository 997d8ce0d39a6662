"""No store moves a run in a way that the table of `core.lifecycle` does not have, by whatever statement.

Runs in every state are put in the way of every verb that writes runs, also with reports and verdicts that no
service makes. A trigger in the database writes down what became of them.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fencepost.core.limits import decide
from fencepost.model.audit import Author
from fencepost.model.backfill import FillMode, FillTick, NewBackfill
from fencepost.model.claiming import Admit, CloseGate, End, ScheduleFacts, Start, Stop, Verdict, Wait
from fencepost.model.clocks import StoreTime
from fencepost.model.freeze import Scope, ScopeKind
from fencepost.model.gate import GateDecision
from fencepost.model.identifiers import Fence, RunKey
from fencepost.model.plan import Fate, Tick
from fencepost.model.rescue import Rescue
from fencepost.model.run import Hold, Outcome, RunState, Ticket
from fencepost.model.table import Row
from fencepost.model.tables import RUNS
from fencepost.rules.checks import RuleBroken
from fencepost.testing.conformance.builders import (
    ALICE,
    JOB,
    MANY,
    NS,
    SCHEDULE,
    at,
    claim_request,
    make_plan,
    make_spec,
    put,
    read_cursors,
    register,
    start_all,
)
from tests.conformance.moves import NEVER_WRITTEN, TABLE, Watched, check, watch_postgres, watch_sqlite

ANNA = Author("anna", "test", "because")
SPAN = timedelta(minutes=40)
OPEN = RunState.PLANNED, RunState.READY, RunState.RUNNING
Verb = Callable[[Watched, Sequence[Row]], Awaitable[object]]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.proof])])
async def watched(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Watched]:
    opened: Watched
    if "sqlite" in request.node.name:
        opened = await watch_sqlite(tmp_path / "fencepost.db")
    else:
        opened = await watch_postgres(request.getfixturevalue("postgres_url"))
    yield opened
    await opened.close()


async def test_no_verb_moves_a_run_as_the_table_does_not_say_and_all_its_moves_are_made(
    watched: Watched,
) -> None:
    for number, verb in enumerate(verbs()):
        rows = await runs_in_every_state(watched, number)
        await verb(watched, rows)
        check(await watched.moves())
    assert await watched.moves() >= TABLE - NEVER_WRITTEN


@pytest.mark.parametrize("state", [RunState.SKIPPED, RunState.WITHDRAWN, RunState.PLANNED, RunState.RUNNING])
async def test_a_report_of_a_state_that_no_attempt_ends_in_is_not_taken(
    watched: Watched, state: RunState
) -> None:
    rows = await runs_in_every_state(watched, 0)
    (running, *_) = [row for row in rows if row["state"] == RunState.RUNNING]
    with pytest.raises(RuleBroken):
        await watched.store.ledger.finish([Outcome(ticket_of(running), state)])
    with pytest.raises(RuleBroken):
        await watched.store.ledger.rescue([Rescue(ticket_of(running), state, "silent")])
    assert await watched.moves() == set()


async def runs_in_every_state(watched: Watched, number: int) -> Sequence[Row]:
    """Ticks and runs by hand, due and to come, free and held, begun and not, asked to stop and not."""
    await put(watched, make_spec(payload={"n": number}))
    held = Hold.NONE, Hold.OPERATOR, Hold.FROZEN, Hold.PARKED, Hold.GATE
    cases = [*product(RunState, (False, True), held[:1]), *product(OPEN, (True, True), held[1:])]
    rows = [run(watched, number, place, *case) for place, case in enumerate(cases)]

    async def write(tx: Any) -> Sequence[Row]:
        written: Sequence[Row] = await tx.put_if_absent(RUNS, rows)
        return written

    written: Sequence[Row] = await watched.store.rows.write(write)
    assert len(written) == len(rows)
    return written


def run(watched: Watched, number: int, place: int, state: RunState, is_tick: bool, held: Hold) -> Row:
    """One of them; every other one of those that wait is to come."""
    is_coming = state is RunState.PLANNED and place % 2 == 0
    moment = at(watched, (1 + number if is_coming else -1_000) + place / 10)
    begun = state in (RunState.RUNNING, RunState.SUCCEEDED, RunState.DEAD)
    times: Row = {"started_at": moment, "first_started_at": moment, "worker": ALICE, "attempt": 1}
    times |= {"fence": 1_000 * (number + 1) + place}
    row: Row = {
        "namespace": NS,
        "run_key": f"{'tick' if is_tick else 'hand'}#{number}-{place}",
        "schedule_id": SCHEDULE if is_tick else None,
        "job": JOB,
        "fire_time": moment,
        "version": 1 if is_tick else 0,
        "state": state,
        "queue": "default",
        "priority": 2,
        "run_at": moment,
        "held": 0 if state is RunState.RUNNING else held.value,
        "payload": None if is_tick else "{}",
        "origin": "catch_up" if held is Hold.GATE else "live",
        "cancel_requested": bool(state is RunState.RUNNING and held),
        "alive_until": at(watched, -1) if state is RunState.RUNNING else None,
        "finished_at": None if state in OPEN else moment,
    }
    return row | times if begun else row


def ticket_of(row: Row) -> Ticket:
    """What its attempt would show."""
    return Ticket(NS, RunKey(row["run_key"]), row["attempt"] or 1, Fence(row["fence"] or 1))


def verbs() -> Iterator[Verb]:
    """Everything that writes runs."""
    for state in RunState:
        yield lambda one, rows, state=state: report(one, rows, state)  # type: ignore[misc]
        yield lambda one, rows, state=state: rescue(one, rows, state)  # type: ignore[misc]
        yield lambda one, rows, state=state: claim(one, ending(state))  # type: ignore[misc]
        yield lambda one, rows, state=state: sweep(one, ending(state))  # type: ignore[misc]
    for judge in (start_all, admit_all, park_all, stop_all, ask_all):
        yield lambda one, rows, judge=judge: claim(one, judge)  # type: ignore[misc]
        yield lambda one, rows, judge=judge: sweep(one, judge)  # type: ignore[misc]
    for name in ("cancel", "skip", "hold", "release"):
        yield lambda one, rows, name=name: by_name(one, rows, name)  # type: ignore[misc]
    for decision in GateDecision:
        yield lambda one, rows, decision=decision: decide_gate(one, decision)  # type: ignore[misc]
    for mode in FillMode:
        yield lambda one, rows, mode=mode: fill(one, rows, mode)  # type: ignore[misc]
    yield from (replay, write_plans, freeze, edit, pause, unpark_and_forget)


async def report(watched: Watched, rows: Sequence[Row], state: RunState) -> None:
    """Also outcomes that no attempt has; with an error and without."""
    retry_in_s = 0.0 if state is RunState.READY else None
    for error, some in ((None, rows[::2]), ("boom", rows[1::2])):
        outcomes = [Outcome(ticket_of(row), state, error=error, retry_in_s=retry_in_s) for row in some]
        await perhaps(watched.store.ledger.finish(outcomes))


async def rescue(watched: Watched, rows: Sequence[Row], state: RunState) -> None:
    rescues = [Rescue(ticket_of(row), state, "silent") for row in rows]
    await perhaps(watched.store.ledger.rescue(rescues))


async def claim(watched: Watched, judge: Any) -> None:
    ledger = watched.store.ledger
    await perhaps(ledger.claim_ticks(claim_request(), MANY, judge, decide))
    await ledger.claim_direct(claim_request(), MANY)
    await ledger.claim_lined(claim_request(), MANY, decide)


async def sweep(watched: Watched, judge: Any) -> None:
    await perhaps(watched.store.ledger.sweep_late(0, MANY, lambda *facts: without_starts(judge(*facts))))


async def by_name(watched: Watched, rows: Sequence[Row], name: str) -> None:
    ledger = watched.store.ledger
    for row in rows:
        await (
            ledger.cancel(NS, row["run_key"], "never mind")
            if name == "cancel"
            else getattr(ledger, name)(NS, row["run_key"], ANNA)
        )
    await ledger.cancel_many(NS, [row["run_key"] for row in rows[::2]], "never mind")


async def replay(watched: Watched, rows: Sequence[Row]) -> None:
    for only in (frozenset({RunState.DEAD}), frozenset(RunState)):
        keys = [RunKey(row["run_key"]) for row in rows]
        await perhaps(watched.store.ledger.replay(NS, keys, 0.0, ANNA, only=only))


async def decide_gate(watched: Watched, decision: GateDecision) -> None:
    await claim(watched, lambda facts, now, room: [*admit_all(facts, now, room), CloseGate("too many")])
    await watched.store.gates.decide(NS, SCHEDULE, decision, ANNA)


async def fill(watched: Watched, rows: Sequence[Row], mode: FillMode) -> None:
    backfills, now = watched.store.backfills, watched.now
    begun = await backfills.start(NS, NewBackfill(SCHEDULE, now - SPAN, now, mode, 2, 0.0), ANNA)
    assert begun is not None
    times = sorted({row["fire_time"] for row in rows if row["schedule_id"] and row["fire_time"] <= now})
    await backfills.fill(begun, [FillTick(one, 1) for one in times], now, ANNA)
    await watched.store.ledger.claim_ticks(claim_request(), 1, start_all)
    await backfills.cancel(NS, begun.backfill_id, ANNA)


async def write_plans(watched: Watched, rows: Sequence[Row]) -> None:
    times = sorted({row["fire_time"] for row in rows if row["schedule_id"]})
    for fate in Fate:
        ticks = [Tick(one, one) for one in times]
        await watched.store.ledger.plan_by_name(NS, SCHEDULE, 1, ticks, ANNA, fate=fate)
    for number, cursor in enumerate(await read_cursors(watched)):
        await register(watched.store, cursor.shard, 9 + number)
        later = [one for one in times if one > cursor.planned_through]
        await watched.store.plans.write([make_plan(cursor, *later, epoch=9 + number)])  # type: ignore[arg-type]


async def freeze(watched: Watched, rows: Sequence[Row]) -> None:
    for scope in (Scope(ScopeKind.SCHEDULE, SCHEDULE), Scope(ScopeKind.ALL)):
        await watched.store.freezes.freeze(NS, scope, ANNA)
        await watched.store.freezes.thaw(NS, scope, ANNA)


async def edit(watched: Watched, rows: Sequence[Row]) -> None:
    await put(watched, make_spec(every_s=7))
    await watched.store.schedules.remove(NS, SCHEDULE, author=ANNA)


async def pause(watched: Watched, rows: Sequence[Row]) -> None:
    await watched.store.schedules.pause(NS, SCHEDULE, "holidays")
    await watched.store.schedules.resume(NS, SCHEDULE, back_s=60)


async def unpark_and_forget(watched: Watched, rows: Sequence[Row]) -> None:
    await watched.store.ledger.unpark(MANY)
    await watched.store.ledger.forget(0, MANY)


async def perhaps(call: Awaitable[object]) -> None:
    """What no service asks for may be refused; it must not be done."""
    try:
        await call
    except RuleBroken:
        return


def ending(state: RunState) -> Any:
    """A judge that ends every tick so."""

    def judge(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
        return [End(one.run_key, state, "over") for one in facts.due]

    return judge


def admit_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    return [Admit(one.run_key) for one in facts.due]


def park_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    return [Wait(one.run_key, "in turn") for one in facts.due]


def stop_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    return [
        *(Stop(one.run_key, "make way", at_once=True) for one in facts.unfinished),
        *(Start(one.run_key) for one in facts.due[: min(room, 1)]),
    ]


def ask_all(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
    return [Stop(one.run_key, "make way", at_once=False) for one in facts.unfinished]


def without_starts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """A sweep has room for none."""
    return [one for one in verdicts if not isinstance(one, Start)]
