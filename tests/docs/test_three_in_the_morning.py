"""Every command of the page for operators does what it is there for, in the page's order, on a bad night.

The night is played on a real file, with a clock that says half past three.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import fencepost.wiring
from fencepost.core.liveness import sweep_terms
from fencepost.core.verdict import judge
from fencepost.model.claiming import ClaimRequest
from fencepost.model.identifiers import (
    DEFAULT_NAMESPACE,
    DEFAULT_QUEUE,
    Epoch,
    JobName,
    NodeId,
    ScheduleId,
    shard_of,
    tick_key,
)
from fencepost.model.job import JobSpec
from fencepost.model.plan import Cursor, Plan, Tick
from fencepost.model.policies import CatchUp, GateTerms
from fencepost.model.rescue import Rescue
from fencepost.model.run import Claim, Outcome, RunRecord, RunState
from fencepost.model.schedule import ScheduleSpec
from fencepost.ports.store import Store
from fencepost.stores import sqlite
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.builders import register
from fencepost.triggers import Every
from tests.cli.calls import call

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "three-in-the-morning.md"
COMMANDS = [
    shlex.split(line)[1:]
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
NS = DEFAULT_NAMESPACE
MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
LATE_MIN = 5
INVOICES, REPORTS = ScheduleId("invoices"), ScheduleId("reports")
ANSWERED_WITH_NO = ("audit", "audit invoices", "runs stuck")
"""The run of three o'clock is stuck until it is cancelled and its worker found dead."""


class Night:
    """The store, and the clock that all of it goes by."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self.clock = VirtualClock(MIDNIGHT - timedelta(minutes=30))

    def go_to(self, hour: int, minute: int = 0) -> None:
        wanted = MIDNIGHT + timedelta(hours=hour, minutes=minute)
        self.clock.advance((wanted - self.clock.wall()).total_seconds())

    def do(self, work: Callable[[Store], Awaitable[Any]]) -> Any:
        async def within() -> Any:
            store = await sqlite.open_store(self.url, clock=self.clock, shards=1)
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(within())

    def run(self, fire_time: datetime, schedule_id: ScheduleId = INVOICES) -> RunRecord | None:
        key = tick_key(schedule_id, fire_time, 1)
        found: RunRecord | None = self.do(lambda store: store.ledger.get(NS, key))
        return found


@pytest.fixture
def night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Night:
    night = Night(tmp_path / "fencepost.db")
    monkeypatch.setattr(fencepost.wiring, "SystemClock", lambda: night.clock)
    monkeypatch.setenv("FENCEPOST_STORE", night.url)
    night.do(_set_up)
    for hour in range(1, 4):
        night.go_to(hour, LATE_MIN if hour == 2 else 1)
        night.do(_work_of_hour(hour))
    night.go_to(3, 30)
    return night


async def _set_up(store: Store) -> None:
    await store.jobs.register(NS, [JobSpec(JobName("send")), JobSpec(JobName("report"))])
    hourly = Every("1h").to_json()
    billing = ScheduleSpec(JobName("send"), hourly, labels={"team": "billing"})
    gate = GateTerms(failed_share=0.0, of_last=1)
    catching_up = ScheduleSpec(JobName("report"), hourly, catch_up=CatchUp("sequential", "1d", gate))
    for schedule_id, spec in ((INVOICES, billing), (REPORTS, catching_up)):
        await store.schedules.put(NS, schedule_id, spec, tzdata="2026a", expected_version=0)
    await register(store, shard_of(NS, INVOICES, 1), 1)


def _work_of_hour(hour: int) -> Callable[[Store], Awaitable[None]]:
    """One o'clock fails, two o'clock is too late, three o'clock is begun by a worker that dies. Midnight was
    never planned, and of the reports one fails and the others are held at the gate."""

    async def work(store: Store) -> None:
        await _plan(store, INVOICES, hour, catches_up=False)
        claims = await _claim(store, "send")
        if hour == 1:
            await _fail(store, claims, "Connection refused")
        await _plan(store, REPORTS, hour, catches_up=True)
        await _fail(store, await _claim(store, "report"), "the target is down")

    return work


async def _plan(store: Store, schedule_id: ScheduleId, hour: int, catches_up: bool) -> None:
    window = await store.plans.window([shard_of(NS, schedule_id, 1)], 60, 10)
    cursor = next(one for one in window.cursors if one.schedule_id == schedule_id)
    moment = MIDNIGHT + timedelta(hours=hour)
    await store.plans.write([_one_tick(cursor, moment, catches_up)])


def _one_tick(cursor: Cursor, moment: datetime, catches_up: bool) -> Plan:
    tick = Tick(moment, moment, catches_up)
    upcoming = moment + timedelta(hours=1)
    return Plan(cursor, Epoch(1), (tick,), moment, upcoming, cursor.tzdata)


async def _claim(store: Store, job: str) -> list[Claim]:
    claim_request = ClaimRequest(NodeId("web-3"), (DEFAULT_QUEUE,), (JobName(job),), alive_for_s=60)
    return list(await store.ledger.claim_ticks(claim_request, 10, judge))


async def _fail(store: Store, claims: list[Claim], error: str) -> None:
    await store.ledger.finish(
        [Outcome(one.ticket, RunState.DEAD, "failed", f"ConnectionError: {error}") for one in claims]
    )


def test_every_command_of_the_page_does_what_it_is_there_for(night: Night) -> None:
    assert len(COMMANDS) > 25
    for command in COMMANDS:
        result = call(*command)
        expected = 1 if " ".join(command[:2]) in ANSWERED_WITH_NO else 0
        assert result.exit_code == expected, f"fencepost {shlex.join(command)}: {result.output}"
        assert result.stdout.strip(), f"fencepost {shlex.join(command)} said nothing"
    _check_the_morning_after(night)


def _check_the_morning_after(night: Night) -> None:
    """Not only did every command answer: the ledger is as the page says."""
    one, three = night.run(MIDNIGHT + timedelta(hours=1)), night.run(MIDNIGHT + timedelta(hours=3))
    assert one is not None
    assert (one.state, one.origin, one.attempts_before_replay) == (RunState.READY, "replay", 1)
    assert three is not None
    assert three.cancel_requested
    skipped = night.run(MIDNIGHT + timedelta(hours=5))
    assert skipped is not None
    assert (skipped.state, skipped.reason) == (RunState.SKIPPED, "the books are closed")
    assert not night.do(lambda store: store.gates.closed(NS))
    assert not night.do(lambda store: store.freezes.all(NS))
    assert night.run(MIDNIGHT) is not None, "the repair planned what was missing"


def test_an_audit_after_the_mending_is_content(night: Night) -> None:
    for command in COMMANDS:
        call(*command)
    night.do(_bring_a_reaper)
    result = call("audit", "invoices", "--from", "2026-02-28T23:30:00Z", "--to", "2026-03-01T02:30:00Z")
    assert result.exit_code == 0, result.output


async def _bring_a_reaper(store: Store) -> None:
    silent = await store.ledger.expired(10, sweep_terms(30))
    lost = [Rescue(one.ticket, RunState.CANCELLED, "found dead") for one in silent.expired]
    await store.ledger.rescue(lost)
    await store.ledger.sweep_late(10, 100, judge)


def test_the_log_names_who_did_it_from_where_and_why(night: Night, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_ACTOR", "anna")
    call("freeze", "--schedule", "invoices", "--reason", "wrong amounts")
    (entry,) = json.loads(call("log", "--action", "freeze", "--json").stdout)
    assert (entry["author"], entry["reason"]) == ("anna", "wrong amounts")
    assert entry["source"].startswith("cli on ")
