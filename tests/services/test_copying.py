"""How much of a ledger is in the hands of a copy at a time."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from fencepost.model.identifiers import DEFAULT_NAMESPACE
from fencepost.model.tables import META, STEPS
from fencepost.ports.rows import Transaction
from fencepost.services.copying import PAGE, PAGE_BYTES, STEP, Copier, look
from fencepost.stores.memory import MemoryStore
from fencepost.testing.clock import VirtualClock
from fencepost.testing.conformance.operators import ANNA
from tests.conformance.clocked import START

LONG = 100_000


async def put(count: int, text: str, tx: Transaction) -> None:
    about = {"namespace": "default", "run_key": "a#1", "attempt": 1, "recorded_at": START, "result": text}
    await tx.put_if_absent(STEPS, [{**about, "name": f"{number:03}"} for number in range(count)])


async def pages(count: int, text: str) -> list[int]:
    """How many rows are copied at a time."""
    source, target = MemoryStore(VirtualClock(START)), MemoryStore(VirtualClock(START))
    for store in (source, target):
        await store.rows.write(lambda tx: tx.put_if_absent(META, [{"name": "schema", "value": "1"}]))
    await source.rows.write(partial(put, count, text))
    reached = [0]
    copier = Copier(source, await look(source), target)
    await copier.copy(DEFAULT_NAMESPACE, ANNA, reached.append)
    assert reached[-1] == count
    return [after - before for before, after in pairwise(reached)]


async def test_a_page_is_not_larger_than_a_few_megabytes() -> None:
    copied = await pages(200, "é" * (LONG // 2))
    assert max(copied) * LONG <= PAGE_BYTES + STEP * LONG


async def test_small_rows_are_copied_by_whole_pages() -> None:
    assert await pages(PAGE + 1, "short") == [PAGE, 1]
