"""The behaviour of notifications: what is told, once, and to whom."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from fencepost.model.identifiers import JobName, RunKey
from fencepost.model.job import JobSpec
from fencepost.model.missed import MissedTicks
from fencepost.model.notification import (
    DELIVERY,
    Collected,
    Event,
    Item,
    NotifyTerms,
    Target,
    TargetKind,
)
from fencepost.model.run import Claim, RunFilter, RunRecord, RunState
from fencepost.testing.conformance.builders import (
    JOB,
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    SCHEDULE,
    at,
    claim_request,
    death,
    enqueue,
    finish,
    put,
    write_missed,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, entries

WINDOW_S = 60.0
TERMS = NotifyTerms(WINDOW_S, 100, "https://cron.example")
OPS = Target("ops", TargetKind.WEBHOOK, url="https://hooks.example/ops")


class NotificationContract:
    """Targets, what they are told, and that it is once."""

    async def test_targets_are_kept_by_name_and_not_told_of_another_namespace(
        self, harness: StoreHarness
    ) -> None:
        book, slack = harness.store.notifications, Target("chat", TargetKind.SLACK, url="env:SLACK_URL")
        assert await book.put(NS, [OPS, slack], author=ANNA) == [True, True]
        assert await book.put(NS, [OPS], author=ANNA) == [False]
        assert list(await book.all(NS)) == [slack, OPS]
        assert await book.everywhere() == {NS: [slack, OPS]}
        assert list(await book.all(OTHER_NS)) == []
        assert await book.remove(NS, "chat", author=ANNA)
        assert not await book.remove(NS, "chat", author=ANNA)
        assert [one.action for one in await entries(harness)] == ["notify.remove", "notify.put", "notify.put"]

    async def test_many_dead_runs_are_one_message_and_are_not_told_again(self, harness: StoreHarness) -> None:
        await listen(harness)
        await die(harness, *(f"{number:02}" for number in range(30)))
        assert await tell(harness) == {"ops": 1}
        (run,) = await deliveries(harness)
        message = message_of(run)
        assert run.state is RunState.READY
        assert (message["event"], message["count"], message["title"]) == ("dead", 30, "30 runs are dead")
        assert len(message["items"]) == 10
        assert message["items"][0]["subject"].startswith(f"{JOB}#")
        assert message["items"][0]["link"].startswith("https://cron.example/runs/report%23")
        assert message["link"] == "https://cron.example/dead"
        assert await tell(harness) == {}

    async def test_nothing_is_told_before_the_window_has_passed(self, harness: StoreHarness) -> None:
        await listen(harness)
        await die(harness, "first")
        assert await collect(harness) == Collected({}, WINDOW_S)
        await harness.advance(WINDOW_S - 1)
        await die(harness, "second")
        assert await collect(harness) == Collected({}, 1.0)
        await harness.advance(1)
        assert (await collect(harness)).messages == {"ops": 1}
        (run,) = await deliveries(harness)
        assert message_of(run)["count"] == 2

    async def test_two_that_collect_at_once_do_not_tell_twice(self, harness: StoreHarness) -> None:
        await listen(harness)
        await die(harness, "a")
        await collect(harness)
        await harness.advance(WINDOW_S)
        told = await asyncio.gather(*(collect(harness) for _ in range(3)))
        assert sum(sum(one.messages.values()) for one in told) == 1
        assert len(await deliveries(harness)) == 1

    async def test_what_died_before_any_target_is_not_told(self, harness: StoreHarness) -> None:
        await die(harness, "before")
        await harness.advance(1)
        await listen(harness)
        assert await tell(harness) == {}

    async def test_what_died_while_there_was_no_target_is_not_told(self, harness: StoreHarness) -> None:
        await listen(harness)
        await harness.store.notifications.remove(NS, "ops")
        await die(harness, "meanwhile")
        await harness.advance(1)
        await listen(harness)
        assert await tell(harness) == {}

    async def test_a_run_that_dies_again_after_a_replay_is_told_again(self, harness: StoreHarness) -> None:
        await listen(harness)
        await die(harness, "a")
        await tell(harness)
        await harness.store.ledger.replay(NS, [RunKey(f"{JOB}#a")], 0.0, ANNA)
        (claimed,) = await claim_of(harness, JOB)
        await finish(harness, death(claimed.ticket))
        assert await tell(harness) == {"ops": 1}

    async def test_a_delivery_that_dies_is_not_told(self, harness: StoreHarness) -> None:
        await listen(harness)
        await die(harness, "a")
        await tell(harness)
        (claimed,) = await claim_of(harness, DELIVERY)
        await finish(harness, death(claimed.ticket))
        for _ in range(3):
            assert await tell(harness) == {}
        assert [run.state for run in await deliveries(harness)] == [RunState.DEAD]

    async def test_a_hook_that_dies_is_not_told(self, harness: StoreHarness) -> None:
        hook = Target("page", TargetKind.HOOK, job=OTHER_JOB, parameter="notice", from_code=True)
        await harness.store.notifications.put(NS, [hook])
        await listen(harness)
        await die(harness, "a")
        assert await tell(harness) == {"ops": 1, "page": 1}
        (claimed,) = await claim_of(harness, OTHER_JOB)
        assert cast("Any", claimed.payload["notice"])["count"] == 1
        await finish(harness, death(claimed.ticket))
        assert await tell(harness) == {}

    async def test_a_target_is_not_told_of_what_its_filter_leaves_out(self, harness: StoreHarness) -> None:
        await listen(harness, Target("other", TargetKind.EMAIL, jobs=("res*",), to=("ops@example.org",)))
        await die(harness, "a")
        assert await tell(harness) == {}
        await die(harness, "b", job=OTHER_JOB)
        assert await tell(harness) == {"other": 1}
        (run,) = await deliveries(harness)
        assert message_of(run)["subject"] == f"[fencepost] {NS}: 1 run is dead"

    @pytest.mark.parametrize("named", ["before", str(OTHER_JOB)])
    async def test_a_filter_knows_a_job_by_its_name_of_before_and_of_now(
        self, harness: StoreHarness, named: str
    ) -> None:
        before = JobName("before")
        await harness.store.jobs.register(NS, [JobSpec(OTHER_JOB, renamed_from=(before,))])
        await listen(harness, Target("other", TargetKind.EMAIL, jobs=(named,), to=("ops@example.org",)))
        await die(harness, "a")
        assert await tell(harness) == {}
        for job in (before, OTHER_JOB):
            await die(harness, f"b-{job}", job=job)
            assert await tell(harness) == {"other": 1}

    async def test_missed_ticks_of_a_range_are_told_with_their_number(self, harness: StoreHarness) -> None:
        await put(harness)
        await write_missed(harness, MissedTicks((at(harness, 60), at(harness, 120)), "too late"))
        await listen(harness)
        assert await tell(harness) == {}
        await write_missed(harness, MissedTicks((at(harness, 180), at(harness, 240)), "too late"))
        assert await tell(harness) == {"ops": 1}
        (run,) = await deliveries(harness)
        (item,) = message_of(run)["items"]
        assert (item["subject"], item["ticks"], item["job"]) == (SCHEDULE, 2, JOB)
        assert message_of(run)["count"] == 2
        assert await tell(harness) == {}

    async def test_a_new_range_of_missed_ticks_is_told_too(self, harness: StoreHarness) -> None:
        await put(harness)
        await listen(harness)
        late, coalesced = (at(harness, 60), at(harness, 120)), (at(harness, 180),)
        await write_missed(harness, MissedTicks(late, "too late"), MissedTicks(coalesced, "coalesced"))
        assert await tell(harness) == {"ops": 1}
        (run,) = await deliveries(harness)
        told = [(one["words"], one["ticks"]) for one in message_of(run)["items"]]
        assert sorted(told) == [("coalesced", 1), ("too late", 2)]

    async def test_an_alarm_is_told_once_when_it_begins_and_once_when_it_ends(
        self, harness: StoreHarness
    ) -> None:
        await listen(harness)
        wrong = stuck(harness, "report#a")
        assert await tell(harness, wrong) == {"ops": 1}
        assert await tell(harness, wrong) == {}
        assert [one.told for one in await harness.store.notifications.alarms(NS)] == [True]
        assert await tell(harness) == {"ops": 1}
        assert await tell(harness) == {}
        assert list(await harness.store.notifications.alarms(NS)) == []
        told = [message_of(run)["event"] for run in await deliveries(harness)]
        assert sorted(told) == ["recovered", "stuck"]

    async def test_an_alarm_that_ends_before_it_is_told_is_not_told(self, harness: StoreHarness) -> None:
        await listen(harness)
        await collect(harness, stuck(harness, "report#a"))
        await collect(harness)
        assert await tell(harness) == {}

    async def test_an_alarm_that_comes_back_before_its_end_is_told_goes_on(
        self, harness: StoreHarness
    ) -> None:
        await listen(harness)
        wrong = stuck(harness, "report#a")
        await tell(harness, wrong)
        await collect(harness)
        assert await tell(harness, wrong) == {}
        (alarm,) = await harness.store.notifications.alarms(NS)
        assert alarm.ended_at is None

    async def test_an_alarm_about_a_delivery_is_not_raised(self, harness: StoreHarness) -> None:
        await listen(harness)
        assert await tell(harness, stuck(harness, f"{DELIVERY}#x", DELIVERY)) == {}
        assert list(await harness.store.notifications.alarms(NS)) == []

    async def test_what_is_left_over_is_told_in_the_next_message(self, harness: StoreHarness) -> None:
        await listen(harness)
        await die(harness, "a", "b", "c")
        few = NotifyTerms(WINDOW_S, 2)
        for _ in range(4):
            await harness.advance(WINDOW_S)
            await harness.store.notifications.collect(NS, (), few)
        told = [message_of(run) for run in await deliveries(harness)]
        assert sorted((one["count"], one["more"]) for one in told) == [(1, False), (2, True)]


def stuck(harness: StoreHarness, run_key: str, job: JobName = JOB) -> Item:
    """A run that is stuck."""
    return Item(Event.STUCK, run_key, harness.now, "no life", job)


async def listen(harness: StoreHarness, target: Target = OPS) -> None:
    """Have a target, from this moment on."""
    await harness.store.notifications.put(NS, [target])


async def collect(harness: StoreHarness, *judged: Item) -> Collected:
    """One pass."""
    return await harness.store.notifications.collect(NS, judged, TERMS)


async def tell(harness: StoreHarness, *judged: Item) -> dict[str, int]:
    """What is told when the window has passed."""
    await collect(harness, *judged)
    await harness.advance(WINDOW_S)
    return dict((await collect(harness, *judged)).messages)


async def die(harness: StoreHarness, *keys: str, job: JobName = JOB) -> None:
    """Runs by hand that fail for good."""
    await enqueue(harness, *keys, job=job)
    for claimed in await claim_of(harness, job):
        await finish(harness, death(claimed.ticket))


async def claim_of(harness: StoreHarness, job: JobName) -> list[Claim]:
    """Claim the runs of a job."""
    return list(await harness.store.ledger.claim_direct(claim_request(jobs=(job,)), MANY))


def message_of(run: RunRecord) -> dict[str, Any]:
    """What a delivery says."""
    return cast("dict[str, Any]", run.payload["message"])


async def deliveries(harness: StoreHarness, **wanted: Any) -> list[RunRecord]:
    """The runs that tell."""
    return list(await harness.store.ledger.list(NS, RunFilter(job=DELIVERY, **wanted)))
