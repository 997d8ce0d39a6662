"""In a rolling deploy an old node meets specs that newer code wrote: it leaves them alone and goes on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.clocks import StoreTime
from fencepost.model.codec import schedule_to_json
from fencepost.model.json import canonical
from fencepost.model.run import RunState
from fencepost.stores.sqlite import SqliteStore
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_SCHEDULE,
    SCHEDULE,
    Witness,
    claim,
    claim_request,
    due_ticks,
    end_all,
    finish,
    make_spec,
    put,
    retry,
    shard_for,
    start_ticks,
    states,
)
from tests.conformance.clocked import ClockHarness
from tests.conformance.on_sqlite import open_sqlite

NEWER: list[dict[str, Any]] = [
    {"overlap": "buffer_some"},
    {"catch_up": {"mode": "all", "max_lateness_s": 60.0}},
    {"catch_up": {"max_lateness_s": 60.0}},
    {"v": 2},
    {"priority": "urgent"},
]

newer_releases = pytest.mark.parametrize("newer", NEWER, ids=str)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ClockHarness]:
    opened = await open_sqlite(tmp_path / "fencepost.db")
    for schedule_id in (SCHEDULE, OTHER_SCHEDULE):
        await put(opened, make_spec(payload={"n": 1}), schedule_id)
    yield opened
    await opened.close()


async def rewrite(harness: ClockHarness, newer: dict[str, Any]) -> None:
    """Give `SCHEDULE` a spec of a release to come."""
    text = canonical({**schedule_to_json(make_spec(payload={"n": 1})), **newer})

    def work(connection: apsw.Connection, _: StoreTime) -> None:
        for table in ("schedules", "schedule_versions"):
            connection.execute(f"UPDATE {table} SET spec = ? WHERE schedule_id = ?", (text, SCHEDULE))

    assert isinstance(harness.store, SqliteStore)
    await harness.store._database.transact(work)


@newer_releases
async def test_the_window_does_not_break_and_keeps_the_unreadable_apart(
    harness: ClockHarness, newer: dict[str, Any]
) -> None:
    await rewrite(harness, newer)
    shards = sorted({shard_for(harness), shard_for(harness, OTHER_SCHEDULE)})
    window = await harness.store.plans.window(shards, 0, MANY)
    specs = {one.schedule_id: one.spec for one in window.cursors}
    assert specs == {SCHEDULE: None, OTHER_SCHEDULE: make_spec(payload={"n": 1})}
    await harness.store.plans.postpone([one for one in window.cursors if one.spec is None], 60)
    window = await harness.store.plans.window(shards, 0, MANY)
    assert [one.schedule_id for one in window.cursors] == [OTHER_SCHEDULE]


@newer_releases
async def test_unreadable_ticks_wait_and_the_others_are_claimed(
    harness: ClockHarness, newer: dict[str, Any]
) -> None:
    (waiting,) = await due_ticks(harness, 60)
    (ordinary,) = await due_ticks(harness, 60, schedule_id=OTHER_SCHEDULE)
    await rewrite(harness, newer)
    witness = Witness()
    await harness.store.ledger.claim_ticks(claim_request(), MANY, witness)
    assert [one.schedule_id for one in witness.facts] == [OTHER_SCHEDULE]
    assert [one.run_key for one in await start_ticks(harness)] == [ordinary]
    assert await harness.store.ledger.sweep_late(0, MANY, end_all) == 0
    assert await states(harness, waiting) == [RunState.READY]


@newer_releases
async def test_a_retry_does_not_lose_its_payload(harness: ClockHarness, newer: dict[str, Any]) -> None:
    await due_ticks(harness, 60)
    (first,) = await start_ticks(harness)
    await finish(harness, retry(first.ticket))
    await rewrite(harness, newer)
    (second,) = await claim(harness)
    assert (second.run_key, second.attempt, second.payload) == (first.run_key, 2, {"n": 1})


@newer_releases
async def test_reading_the_schedule_names_it_in_one_line(
    harness: ClockHarness, newer: dict[str, Any]
) -> None:
    await rewrite(harness, newer)
    for reading in (
        harness.store.schedules.get(NS, SCHEDULE),
        harness.store.schedules.page(NS, None, MANY),
    ):
        with pytest.raises(InvalidSpec, match=f"^schedule {SCHEDULE}: schedule spec cannot be read: .+$"):
            await reading
    with pytest.raises(InvalidSpec, match=r"^schedule spec cannot be read: .+$"):
        await harness.store.schedules.history(NS, SCHEDULE)
