"""What no rule may do is refused in every store, whatever the rule meant."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from fencepost.core.lifecycle import REPLAYS, may_move
from fencepost.model.run import RunState
from fencepost.model.table import Row
from fencepost.model.tables import META, RUNS
from fencepost.ports.rows import Transaction
from fencepost.rules.checks import Checked, RuleBroken
from fencepost.stores.memory.rows import MemoryRows
from fencepost.testing.clock import VirtualClock

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def rows_with(state: RunState = RunState.READY) -> MemoryRows:
    """One run in that state, and one note."""
    rows = MemoryRows(VirtualClock(NOW))
    run = {
        "namespace": "default",
        "run_key": "mail#1",
        "job": "mail",
        "state": state.value,
        "queue": "default",
    }
    moments = {"fire_time": NOW, "run_at": NOW, "priority": 2}
    rows.kept(RUNS).set(("default", "mail#1"), RUNS.row({**run, **moments}))
    rows.kept(META).set(("shards",), {"name": "shards", "value": "8"})
    return rows


async def changed(tx: Transaction, values: Mapping[str, Any], *, lock: bool = True) -> list[Row]:
    checked, wanted = Checked(tx), RUNS.at("default", "mail#1")
    runs = await (checked.lock if lock else checked.find)(wanted)
    return await checked.change(RUNS, [(run, values) for run in runs])


@pytest.mark.parametrize("source", list(RunState))
@pytest.mark.parametrize("target", list(RunState))
async def test_a_run_moves_as_the_table_says_and_in_no_other_way(source: RunState, target: RunState) -> None:
    rows = rows_with(source)
    allowed = source is target or may_move(source, target) or (source, target) in REPLAYS
    move = {"state": target.value}
    if allowed:
        assert (await rows.write(lambda tx: changed(tx, move)))[0]["state"] == target
        return
    with pytest.raises(RuleBroken, match="does not become"):
        await rows.write(lambda tx: changed(tx, move))
    assert next(rows.all(RUNS))["state"] == source


async def test_a_row_that_was_only_read_is_not_changed() -> None:
    rows = rows_with()
    with pytest.raises(RuleBroken, match="without its lock"):
        await rows.write(lambda tx: changed(tx, {"held": 1}, lock=False))
    assert next(rows.all(RUNS))["held"] == 0


async def test_a_row_that_was_only_read_is_not_deleted() -> None:
    rows = rows_with()

    async def remove(tx: Transaction) -> None:
        checked = Checked(tx)
        await checked.delete(META, await checked.find(META.at("shards")))

    with pytest.raises(RuleBroken, match="without its lock"):
        await rows.write(remove)
    assert [one["name"] for one in rows.all(META)] == ["shards"]


async def test_a_row_that_was_taken_or_written_by_the_same_rule_may_be_changed() -> None:
    rows = rows_with()

    async def rule(tx: Transaction) -> None:
        checked = Checked(tx)
        written = await checked.put_if_absent(META, [{"name": "older", "value": "why"}])
        taken = await checked.take(META.at("shards"))
        await checked.change(META, [(row, {"value": "9"}) for row in (*written, *taken)])

    await rows.write(rule)
    assert {one["name"]: one["value"] for one in rows.all(META)} == {"older": "9", "shards": "9"}
