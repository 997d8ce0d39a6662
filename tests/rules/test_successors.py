"""An end and what follows it are one transaction, whoever ends the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import pytest

from fencepost.errors import StoreUnavailable
from fencepost.model.job import AfterOn
from fencepost.model.rescue import Rescue
from fencepost.model.run import RunState
from fencepost.model.table import Row, Table
from fencepost.model.tables import RUN_LINKS, RUNS
from fencepost.stores.memory import MemoryStore
from fencepost.stores.memory.rows import MemoryTransaction
from fencepost.testing.conformance.builders import JOB, NS, claim_one, finish, success
from fencepost.testing.conformance.successors import after, follow
from tests.conformance.clocked import ClockHarness, open_memory
from tests.rows import rows_of


def refusing() -> Any:
    """The store is lost when what follows is to be written."""
    put = MemoryTransaction.put_if_absent

    async def refused(tx: MemoryTransaction, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Row]:
        if table is RUNS and rows:
            raise StoreUnavailable("gone")
        return await put(tx, table, rows)

    return patch.object(MemoryTransaction, "put_if_absent", refused)


async def finished(harness: ClockHarness) -> None:
    claimed = await claim_one(harness)
    with refusing(), pytest.raises(StoreUnavailable):
        await finish(harness, success(claimed.ticket))


async def rescued(harness: ClockHarness) -> None:
    claimed = await claim_one(harness)
    await harness.advance(3_600)
    with refusing(), pytest.raises(StoreUnavailable):
        await harness.store.ledger.rescue([Rescue(claimed.ticket, RunState.DEAD, "lost")])


@pytest.mark.parametrize("ended", [finished, rescued])
async def test_where_what_follows_cannot_be_written_nothing_has_ended(ended: Any) -> None:
    harness = open_memory()
    store = harness.store
    assert isinstance(store, MemoryStore)
    await follow(harness, JOB, on=AfterOn.ANY)
    await ended(harness)
    (run,) = rows_of(store, RUNS)
    assert run["state"] == RunState.RUNNING
    assert rows_of(store, RUN_LINKS) == []
    assert await store.ledger.get(NS, after(run["run_key"])) is None
