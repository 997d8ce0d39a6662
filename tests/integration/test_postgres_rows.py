"""Rows in PostgreSQL: many changes are one statement, whether or not they say the same."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fencepost.clock import SystemClock
from fencepost.model.clocks import StoreTime
from fencepost.model.table import Row
from fencepost.model.tables import GATES
from fencepost.ports.rows import Transaction
from fencepost.stores.postgres import open_store

pytestmark = pytest.mark.postgres

SCHEDULES = ("a", "b", "c")


@pytest.mark.parametrize(
    "reasons",
    [("same", "same", "same"), ("one", "two", "three"), (None, None, None), ("one", None, None)],
)
async def test_rows_that_are_changed_together_get_each_its_own_values(
    emptied_postgres_url: str, reasons: tuple[str | None, ...]
) -> None:
    store = await open_store(emptied_postgres_url, clock=SystemClock())

    async def rule(tx: Transaction) -> tuple[StoreTime, list[Row]]:
        now = await tx.now()
        old = {"namespace": "default", "reason": "old", "opened_at": now}
        gates = await tx.put_if_absent(GATES, [{**old, "schedule_id": one} for one in SCHEDULES])
        changes = [
            (gate, {"reason": reason, "opened_at": None, "closed_at": now + timedelta(seconds=place)})
            for place, (gate, reason) in enumerate(zip(gates, reasons, strict=True))
        ]
        await tx.change(GATES, changes)
        return now, await tx.find(GATES.all("default"))

    now, rows = await store.rows.write(rule)
    await store.close()
    assert [row["reason"] for row in rows] == list(reasons)
    assert [row["opened_at"] for row in rows] == [None, None, None]
    assert [row["closed_at"] for row in rows] == [now + timedelta(seconds=place) for place in range(3)]
