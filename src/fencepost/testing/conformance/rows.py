"""The behaviour of rows that only a copy needs; the other contracts test the rest."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.model.table import Row, Table
from fencepost.model.tables import REFUSALS, STEPS
from fencepost.testing.conformance.builders import NS
from fencepost.testing.conformance.harness import StoreHarness


class RowContract:
    """Serial numbers."""

    async def test_a_row_that_brings_its_number_keeps_it_and_the_next_is_larger(
        self, harness: StoreHarness
    ) -> None:
        brought = [{**refusal(harness), "number": number} for number in (40, 7)]
        assert sorted(await put(harness, REFUSALS, brought)) == [7, 40]
        (counted,) = await put(harness, REFUSALS, [refusal(harness)])
        assert counted > 40
        found = await harness.store.rows.read(lambda tx: tx.find(REFUSALS.all()))
        assert [row["number"] for row in found] == [7, 40, counted]

    async def test_a_number_that_is_brought_never_takes_the_count_back(self, harness: StoreHarness) -> None:
        (first,) = await put(harness, REFUSALS, [{**refusal(harness), "number": 40}])
        await put(harness, REFUSALS, [{**refusal(harness), "number": 12}])
        assert (await put(harness, REFUSALS, [refusal(harness)])) > [first]

    async def test_a_row_whose_key_is_there_is_not_written_whatever_its_number(
        self, harness: StoreHarness
    ) -> None:
        step = {"namespace": NS, "run_key": "a#1", "name": "one", "attempt": 1, "result": "1"}
        step["recorded_at"] = harness.now
        assert await put(harness, STEPS, [{**step, "number": 9}]) == [9]
        assert await put(harness, STEPS, [{**step, "number": 11}]) == []


def refusal(harness: StoreHarness) -> Row:
    return {"at": harness.now, "shard": 0, "epoch": 3, "holder": "a", "known_epoch": 4}


async def put(harness: StoreHarness, table: Table, rows: Sequence[Row]) -> list[int]:
    """The numbers of those that were written."""
    written = await harness.store.rows.write(lambda tx: tx.put_if_absent(table, rows))
    return [row["number"] for row in written]
