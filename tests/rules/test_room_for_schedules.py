"""Whether there may be more schedules is asked without a count of all that are there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fencepost.clock import SystemClock
from fencepost.errors import QuotaExceeded
from fencepost.model.identifiers import ScheduleId
from fencepost.model.schedule import DesiredSchedule
from fencepost.model.table import Range
from fencepost.ports.store import Store
from fencepost.rules import schedules as rules
from fencepost.stores.memory import MemoryStore
from fencepost.stores.memory.rows import MemoryTransaction
from fencepost.testing.conformance.builders import NS, TZDATA, make_spec

QUOTA = 6


class Quota:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def __call__(self, there: int, more: int) -> None:
        self.asked.append((there, more))
        if there + more > QUOTA:
            raise QuotaExceeded(f"{there} are there", "schedules")


@pytest.fixture(autouse=True)
def _two_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "FEW", 2)


@pytest.fixture
def store() -> Store:
    return MemoryStore(SystemClock())


async def add(store: Store, *names: str, quota: Quota | None) -> list[tuple[int, int]]:
    """Add these; what the quota was asked."""
    batch = [DesiredSchedule(ScheduleId(name), make_spec()) for name in names]
    await store.schedules.put_many(NS, batch, tzdata=TZDATA, admit=quota)
    return [] if quota is None else quota.asked


async def test_what_is_removed_does_not_fill_the_quota(store: Store) -> None:
    """The number that is remembered is too large then, and those that are there are counted."""
    await add(store, "a", "b", quota=Quota())
    assert await add(store, "c", "d", quota=Quota()) == [(2, 2)]
    await store.schedules.remove(NS, ScheduleId("a"))
    assert await add(store, "e", quota=Quota()) == [(4, 1)]
    assert await add(store, "f", "g", quota=Quota()) == [(5, 2), (4, 2)]
    with pytest.raises(QuotaExceeded, match="6 are there"):
        await add(store, "h", quota=Quota())


async def test_what_was_remembered_before_most_were_removed_is_not_believed(store: Store) -> None:
    """A batch that makes few to many is counted from what is there, and not from what was there once."""
    await add(store, "a", "b", quota=Quota())
    await add(store, "c", quota=Quota())
    for name in ("a", "b", "c"):
        await store.schedules.remove(NS, ScheduleId(name))
    assert await add(store, "d", "e", "f", "g", "h", quota=Quota()) == [(0, 5)]
    with pytest.raises(QuotaExceeded, match="5 are there"):
        await add(store, "i", "j", quota=Quota())


async def test_what_was_added_without_a_question_is_counted(store: Store) -> None:
    await add(store, "a", "b", quota=Quota())
    await add(store, "c", quota=Quota())
    await add(store, "d", "e", quota=None)
    assert await add(store, "f", quota=Quota()) == [(5, 1)]


async def test_many_are_not_counted_for_each_that_is_added(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(store, "a", "b", quota=Quota())
    await add(store, "c", quota=Quota())
    limits: list[int | None] = []
    count = MemoryTransaction.count

    async def counted(
        self: MemoryTransaction, ranges: Sequence[Range], *, limit: int | None = None
    ) -> list[int]:
        limits.append(limit)
        return await count(self, ranges, limit=limit)

    monkeypatch.setattr(MemoryTransaction, "count", counted)
    await add(store, "d", quota=Quota())
    await add(store, "e", "f", quota=Quota())
    assert limits == [rules.FEW] * 2
