"""The behaviour of lists that go over many pages."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.freeze import label_scope
from fencepost.model.identifiers import JobName, Queue, RunKey, ScheduleId
from fencepost.model.run import RunFilter, RunState
from fencepost.model.schedule import ScheduleFilter, ScheduleState
from fencepost.testing.conformance.builders import (
    BOB,
    NS,
    OTHER_JOB,
    OTHER_NS,
    at,
    claim,
    death,
    due_ticks,
    enqueue,
    finish,
    make_spec,
    put,
    retry,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA

PAGES_MAX = 20


class RunPagingContract:
    """Pages of runs, and what narrows them."""

    async def test_pages_of_runs_neither_repeat_nor_leave_out(self, harness: StoreHarness) -> None:
        early = await enqueue(harness, "c", "a", "b")
        await harness.advance(1)
        late = await enqueue(harness, "y", "x", "z")
        expected = [*sorted(late, reverse=True), *sorted(early, reverse=True)]
        assert await pages(harness, RunFilter(limit=2)) == expected
        assert await pages(harness, RunFilter(limit=1)) == expected
        assert await pages(harness, RunFilter(limit=6)) == expected

    async def test_a_run_that_came_meanwhile_does_not_shift_the_next_page(
        self, harness: StoreHarness
    ) -> None:
        keys = await enqueue(harness, "a", "b", "c")
        first = await harness.store.ledger.list(NS, RunFilter(limit=2))
        await harness.advance(1)
        await enqueue(harness, "new")
        behind = RunFilter(limit=2, after=(first[-1].fire_time, first[-1].run_key))
        assert [one.run_key for one in await harness.store.ledger.list(NS, behind)] == keys[:1]

    async def test_every_narrow_list_has_pages_too(self, harness: StoreHarness) -> None:
        await put(harness)
        ticks = await due_ticks(harness, 10, 20, 30)
        newest_first = list(reversed(ticks))
        schedule = RunFilter(schedule_id=ScheduleId("hourly"), limit=1)
        assert await pages(harness, schedule) == newest_first
        for key in ticks:
            await harness.store.ledger.hold(NS, key, ANNA)
        assert await pages(harness, RunFilter(held=True, limit=1)) == newest_first
        await enqueue(harness, "one", "two")
        for claimed in await claim(harness):
            await finish(harness, death(claimed.ticket))
        dead = [RunKey("report#two"), RunKey("report#one")]
        assert await pages(harness, RunFilter(state=RunState.DEAD, limit=1)) == dead

    async def test_text_in_a_run_key_is_not_a_pattern(self, harness: StoreHarness) -> None:
        await enqueue(harness, "100%-a_b", "100-axb")
        assert await pages(harness, RunFilter(text="a_b")) == [RunKey("report#100%-a_b")]
        assert await pages(harness, RunFilter(text="100%")) == [RunKey("report#100%-a_b")]
        assert len(await pages(harness, RunFilter(text="report#100"))) == 2
        assert await pages(harness, RunFilter(text="nothing")) == []

    async def test_a_worker_or_a_queue_is_not_given_what_is_of_another(self, harness: StoreHarness) -> None:
        await enqueue(harness, "mine")
        await enqueue(harness, "slow", queue=Queue("slow"))
        await claim(harness, BOB)
        assert await pages(harness, RunFilter(worker=BOB)) == [RunKey("report#mine")]
        assert await pages(harness, RunFilter(queue=Queue("slow"))) == [RunKey("report#slow")]
        assert await pages(harness, RunFilter(queue=Queue("slow"), worker=BOB)) == []

    async def test_several_states_are_not_one(self, harness: StoreHarness) -> None:
        await enqueue(harness, "a", "b", "c", "d")
        await enqueue(harness, "e", run_at=at(harness, 60))
        first, second, third, _ = await claim(harness)
        await finish(harness, success(first.ticket))
        await finish(harness, death(second.ticket))
        await finish(harness, retry(third.ticket, in_s=60))
        ended = RunFilter(states=(RunState.SUCCEEDED, RunState.DEAD), limit=1)
        assert set(await pages(harness, ended)) == {first.run_key, second.run_key}
        assert set(await pages(harness, RunFilter(states=(RunState.READY,)))) == {third.run_key}
        await harness.advance(60)
        assert set(await pages(harness, RunFilter(states=(RunState.READY,)))) == {
            third.run_key,
            RunKey("report#e"),
        }

    async def test_a_search_that_gives_up_does_not_lose_what_is_behind(self, harness: StoreHarness) -> None:
        old = await enqueue(harness, "needle-1", "needle-2", "needle-3")
        for number in range(4):
            await harness.advance(1)
            await enqueue(harness, f"hay-{number}a", f"hay-{number}b", f"hay-{number}c")
        await harness.advance(1)
        new = await enqueue(harness, "needle-4")
        expected = [*new, *reversed(old)]
        for most in (1, 2, 5):
            assert await pages(harness, RunFilter(text="needle", limit=2, searched_max=most)) == expected
        assert await pages(harness, RunFilter(text="nothing", searched_max=2)) == []
        first = await harness.store.ledger.list(NS, RunFilter(text="nothing", searched_max=2))
        assert (list(first), first.searched_to is None) == ([], False)

    async def test_a_search_that_came_to_the_end_does_not_go_on(self, harness: StoreHarness) -> None:
        await enqueue(harness, "one", "two")
        assert (
            await harness.store.ledger.list(NS, RunFilter(text="one", searched_max=9))
        ).searched_to is None
        full = await harness.store.ledger.list(NS, RunFilter(text="o", limit=2, searched_max=2))
        assert (len(full), full.searched_to) == (2, None), "its last run is the place"


class ScheduleFindingContract:
    """Pages of schedules, and what narrows them."""

    async def test_pages_of_schedules_neither_repeat_nor_leave_out(self, harness: StoreHarness) -> None:
        await put_named(harness, "c", "a", "b", "e", "d")
        await put(harness, schedule_id=ScheduleId("z"), namespace=OTHER_NS)
        assert await found(harness, ScheduleFilter(limit=2)) == ["a", "b", "c", "d", "e"]
        assert await harness.store.schedules.count(NS, ScheduleFilter(limit=2)) == 5
        behind = ScheduleFilter(after=ScheduleId("c"))
        assert await harness.store.schedules.count(NS, behind) == 5

    async def test_a_removed_schedule_is_not_found_unless_asked_for(self, harness: StoreHarness) -> None:
        await put_named(harness, "a", "b", "c")
        await harness.store.schedules.remove(NS, ScheduleId("a"))
        await harness.store.schedules.pause(NS, ScheduleId("b"), "for now")
        assert await found(harness, ScheduleFilter()) == ["b", "c"]
        assert await found(harness, ScheduleFilter(state=ScheduleState.REMOVED)) == ["a"]
        assert await found(harness, ScheduleFilter(state=ScheduleState.PAUSED)) == ["b"]
        assert await found(harness, ScheduleFilter(state=ScheduleState.ACTIVE)) == ["c"]
        assert await harness.store.schedules.count(NS, ScheduleFilter(state=ScheduleState.ACTIVE)) == 1

    async def test_text_is_found_in_the_id_and_in_the_job_and_nowhere_else(
        self, harness: StoreHarness
    ) -> None:
        await put(harness, make_spec(JobName("send")), ScheduleId("invoices"))
        await put(harness, make_spec(JobName("invoices.send")), ScheduleId("monthly"))
        await put(harness, make_spec(OTHER_JOB, payload={"what": "invoices"}), ScheduleId("other"))
        assert await found(harness, ScheduleFilter(text="voice")) == ["invoices", "monthly"]
        assert await found(harness, ScheduleFilter(text="%")) == []
        assert await found(harness, ScheduleFilter(job=OTHER_JOB)) == ["other"]
        assert await harness.store.schedules.count(NS, ScheduleFilter(text="voice")) == 2

    async def test_a_label_is_not_confused_with_another(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(labels={"team": "billing", "tier": "1"}), ScheduleId("a"))
        await put(harness, make_spec(labels={"team": "growth"}), ScheduleId("b"))
        await put(harness, make_spec(labels={"squad": "billing"}), ScheduleId("c"))
        assert await found(harness, ScheduleFilter(label="team=billing")) == ["a"]
        assert await found(harness, ScheduleFilter(label="team")) == ["a", "b"]
        assert await found(harness, ScheduleFilter(label="billing")) == []
        labels = harness.store.schedules.labels
        assert list(await labels(NS, 10)) == ["squad=billing", "team=billing", "team=growth", "tier=1"]
        assert list(await labels(NS, 2)) == ["squad=billing", "team=billing"]
        await harness.store.schedules.remove(NS, ScheduleId("c"))
        assert "squad=billing" not in await labels(NS, 10)

    async def test_the_frozen_are_not_mixed_with_the_others(self, harness: StoreHarness) -> None:
        await put(harness, make_spec(labels={"team": "billing"}), ScheduleId("a"))
        await put_named(harness, "b")
        await harness.store.freezes.freeze(NS, label_scope("team=billing"), ANNA)
        assert await found(harness, ScheduleFilter(frozen=True)) == ["a"]
        assert await found(harness, ScheduleFilter(frozen=False)) == ["b"]


async def pages(harness: StoreHarness, wanted: RunFilter) -> list[RunKey]:
    """The keys of all pages, one after the other."""
    keys: list[RunKey] = []
    for _ in range(PAGES_MAX):
        page = await harness.store.ledger.list(NS, wanted)
        keys += [one.run_key for one in page]
        place = page.searched_to
        if len(page) == wanted.limit:
            place = page[-1].fire_time, page[-1].run_key
        if place is None:
            return keys
        wanted = replace(wanted, after=place)
    raise AssertionError("the pages do not end")


async def found(harness: StoreHarness, wanted: ScheduleFilter) -> list[str]:
    """The ids of all pages, one after the other."""
    ids: list[str] = []
    for _ in range(PAGES_MAX):
        page = await harness.store.schedules.find(NS, wanted)
        ids += [one.schedule_id for one in page]
        if len(page) < wanted.limit:
            return ids
        wanted = replace(wanted, after=page[-1].schedule_id)
    raise AssertionError("the pages do not end")


async def put_named(harness: StoreHarness, *names: str) -> None:
    """Schedules that differ in nothing but their names."""
    for name in names:
        await put(harness, schedule_id=ScheduleId(name))
