"""The caller that adds a schedule is told how many there are, and may refuse."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.errors import QuotaExceeded
from fencepost.model.identifiers import Namespace, ScheduleId
from fencepost.model.schedule import Schedule
from fencepost.testing.conformance.builders import MANY, NS, OTHER_NS, SCHEDULE, TZDATA, make_spec
from fencepost.testing.conformance.harness import StoreHarness

MOST, AT_ONCE = 3, 8


def at_most(there: int, more: int) -> None:
    """Refuse a fourth."""
    if there + more > MOST:
        raise QuotaExceeded(f"{there} are there", "schedules")


async def add(
    harness: StoreHarness, name: str, *, namespace: Namespace = NS, every_s: int = 60, version: int | None = 0
) -> Schedule | None:
    """Put a schedule where there are not too many."""
    return await harness.store.schedules.put(
        namespace,
        ScheduleId(name),
        make_spec(every_s=every_s),
        tzdata=TZDATA,
        expected_version=version,
        admit=at_most,
    )


async def ids(harness: StoreHarness) -> list[ScheduleId]:
    """The schedules that are not removed."""
    return [one.schedule_id for one in await harness.store.schedules.page(NS, None, MANY)]


class QuotaContract:
    """See `ports.schedules`: `admit`."""

    async def test_one_that_is_refused_leaves_nothing(self, harness: StoreHarness) -> None:
        for name in ("a", "b", "c"):
            assert await add(harness, name)
        with pytest.raises(QuotaExceeded, match="3 are there"):
            await add(harness, "d")
        assert await ids(harness) == ["a", "b", "c"]
        assert await harness.store.schedules.get(NS, ScheduleId("d")) is None
        assert await add(harness, "d", namespace=OTHER_NS)

    async def test_edits_are_not_refused_and_a_removed_one_counts_no_more(
        self, harness: StoreHarness
    ) -> None:
        for name in ("a", "b", "c"):
            await add(harness, name)
        for version in (1, None):
            assert await add(harness, "a", every_s=90 + bool(version), version=version)
        await harness.store.schedules.pause(NS, ScheduleId("b"), "for a while")
        with pytest.raises(QuotaExceeded):
            await add(harness, "d", version=None)
        await harness.store.schedules.remove(NS, ScheduleId("c"))
        assert await add(harness, "d")
        with pytest.raises(QuotaExceeded):
            await add(harness, "c")
        assert await ids(harness) == ["a", "b", "d"]

    async def test_those_who_add_at_once_do_not_overlook_each_other(self, harness: StoreHarness) -> None:
        names = [f"{SCHEDULE}-{number}" for number in range(AT_ONCE)]
        added = await asyncio.gather(*(add(harness, one) for one in names), return_exceptions=True)
        refused = [one for one in added if isinstance(one, QuotaExceeded)]
        assert (len(refused), len(await ids(harness))) == (AT_ONCE - MOST, MOST)
