"""A tick that ran although it was too late: the audit finds it on every store, and none that was excused.

Ticks may be 30 s late and wait for each other. Each begins when the test says, whatever a judge would.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fencepost.core.accounts import Kind
from fencepost.model.audit import Author
from fencepost.model.claiming import ScheduleFacts, Start, Verdict
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import RunKey
from fencepost.model.policies import CatchUp, parse_overlap
from fencepost.model.run import Claim
from fencepost.model.schedule import ScheduleSpec
from fencepost.services.accounting import Auditor
from fencepost.testing.conformance.builders import (
    ALICE,
    JOB,
    NS,
    SCHEDULE,
    claim_request,
    death,
    finish,
    plan_ticks,
    put,
    retry,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.triggers import Every
from tests.cli.calls import call
from tests.conformance.clocked import open_memory
from tests.conformance.on_postgres import open_postgres
from tests.conformance.on_sqlite import open_sqlite

STORES = ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
NONE, LATEST = CatchUp("none", "30s"), CatchUp("latest", "1h")
ANNA = Author("anna", "cli")


class Ledger:
    """A ledger of three ticks, due 10, 20 and 30 s after its beginning; time counts from there."""

    def __init__(self, harness: StoreHarness) -> None:
        self.harness, self.start = harness, harness.now
        self.ticks: list[RunKey] = []

    async def fill(self, catch_up: CatchUp = NONE) -> None:
        overlap = parse_overlap("buffer_all")
        spec = ScheduleSpec(JOB, trigger=Every(10).to_json(), overlap=overlap, catch_up=catch_up)
        await put(self.harness, spec)
        self.ticks = await plan_ticks(self.harness, 10, 20, 30)

    async def go_to(self, second: float) -> None:
        await self.harness.advance(second - (self.harness.now - self.start).total_seconds())

    async def begin(self, key: RunKey, second: float) -> Claim:
        def only_this(facts: ScheduleFacts, now: StoreTime, room: int) -> list[Verdict]:
            return [Start(key)]

        await self.go_to(second)
        (claimed,) = await self.harness.store.ledger.claim_ticks(claim_request(ALICE), 1, only_this)
        return claimed

    async def run(self, key: RunKey, first: float, last: float, *, fails: bool = False) -> None:
        claimed = await self.begin(key, first)
        await self.go_to(last)
        await finish(self.harness, death(claimed.ticket) if fails else success(claimed.ticket))

    async def stale(self) -> list[RunKey]:
        verbs, until = Auditor(self.harness.store, NS), self.start + timedelta(seconds=30)
        report = await verbs.audit(SCHEDULE, self.start, until)
        return [key for one in report.accounts[0].of(Kind.STALE) for key in one.run_keys]


@pytest.fixture(params=STORES)
async def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ledger]:
    match request.param:
        case "memory":
            yield Ledger(open_memory())
            return
        case "sqlite":
            opened: StoreHarness = await open_sqlite(tmp_path / "fencepost.db")
        case _:
            opened = await open_postgres(request.getfixturevalue("shared_postgres_url"))
    yield Ledger(opened)
    await opened.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("catch_up", [NONE, LATEST])
async def test_a_tick_that_ran_too_late_is_found(ledger: Ledger, catch_up: CatchUp) -> None:
    await ledger.fill(catch_up)
    await ledger.run(ledger.ticks[0], 70, 71)
    assert await ledger.stale() == [ledger.ticks[0]]


async def test_a_tick_is_excused_behind_a_run_that_had_begun_and_behind_its_buffer(ledger: Ledger) -> None:
    await ledger.fill()
    await ledger.run(ledger.ticks[0], 10, 70)
    await ledger.run(ledger.ticks[1], 70, 120)
    await ledger.run(ledger.ticks[2], 120, 121)
    assert await ledger.stale() == []


async def test_a_tick_is_not_excused_for_longer_than_it_stood_behind_a_run(ledger: Ledger) -> None:
    await ledger.fill()
    await ledger.run(ledger.ticks[0], 10, 70)
    await ledger.run(ledger.ticks[1], 115, 116)
    assert await ledger.stale() == [ledger.ticks[1]]


async def test_a_run_by_hand_that_began_later_excuses_nothing(ledger: Ledger) -> None:
    await ledger.fill()
    await ledger.go_to(35)
    by_hand = await ledger.harness.store.ledger.trigger(NS, SCHEDULE, ledger.harness.now)
    assert by_hand is not None
    await ledger.run(by_hand, 35, 80)
    await ledger.run(ledger.ticks[2], 80, 81)
    assert await ledger.stale() == [ledger.ticks[2]]


async def test_a_run_that_was_sent_again_makes_no_tick_stale(ledger: Ledger) -> None:
    """Its row does not say any more when it ran, and the tick behind it was excused."""
    await ledger.fill()
    await ledger.run(ledger.ticks[0], 10, 70)
    await ledger.run(ledger.ticks[1], 70, 120, fails=True)
    await ledger.run(ledger.ticks[2], 120, 121)
    again = await ledger.harness.store.ledger.replay(NS, [ledger.ticks[1]], 0.0, ANNA)
    assert list(again) == [ledger.ticks[1]]
    assert await ledger.stale() == []


@pytest.mark.parametrize(("began_s", "is_stale"), [(10, False), (70, True)])
async def test_a_retry_neither_makes_a_tick_stale_nor_hides_it(
    ledger: Ledger, began_s: float, is_stale: bool
) -> None:
    """It moves when the run is due, and the row keeps when it was first due."""
    await ledger.fill()
    claimed = await ledger.begin(ledger.ticks[0], began_s)
    await finish(ledger.harness, retry(claimed.ticket, in_s=60))
    await ledger.go_to(140)
    assert await ledger.stale() == ledger.ticks[:1] * is_stale


async def test_the_command_tells_of_it_in_words_and_in_json(tmp_path: Path) -> None:
    opened = await open_sqlite(tmp_path / "fencepost.db")
    ledger = Ledger(opened)
    await ledger.fill()
    await ledger.run(ledger.ticks[0], 70, 71)
    await opened.close()
    store = f"sqlite:///{tmp_path / 'fencepost.db'}"
    ends = ("--from", _text(ledger.start, 5), "--to", _text(ledger.start, 15))
    arguments = ("audit", str(SCHEDULE), *ends, "--store", store)
    told = await asyncio.to_thread(call, *arguments)
    found = await asyncio.to_thread(call, *arguments, "--json")
    assert (told.exit_code, found.exit_code) == (1, 1)
    assert "began 1m after it was due and free to start; too late: max_lateness is 30s" in told.stdout
    assert json.loads(found.stdout)["counts"]["stale"] == 1


def _text(start: datetime, second: float) -> str:
    return (start + timedelta(seconds=second)).isoformat()
