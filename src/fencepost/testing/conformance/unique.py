"""The behaviour of names by which runs are unique, of runs that expire, and of those that snooze."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from fencepost.core.limits import decide
from fencepost.model.audit import LogFilter
from fencepost.model.enqueueing import Entered, Unique
from fencepost.model.identifiers import RunKey
from fencepost.model.json import JsonObject
from fencepost.model.run import Claim, NewRun, Outcome, Receipt, RunState, Ticket
from fencepost.testing.conformance.builders import (
    MANY,
    NS,
    OTHER_JOB,
    OTHER_NS,
    at,
    by_hand,
    claim,
    claim_one,
    claim_request,
    enqueue,
    finish,
    leave_all,
    not_begun,
    read,
    retry,
    start_tick,
    states,
    success,
    sweep,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.limits import limit
from fencepost.testing.conformance.operators import ANNA

DAY_S = 86_400.0
CALLERS = 12
QUEUED, UNFINISHED, AN_HOUR = Unique("queued"), Unique("unfinished"), Unique("1h")
SOON = timedelta(seconds=60)


class UniqueContract:
    """One run of a job and a name at a time."""

    async def test_a_second_run_of_a_name_does_not_come_while_the_first_is_unfinished(
        self, harness: StoreHarness
    ) -> None:
        assert await enter(harness, UNFINISHED, "one", "two") == [("one", True), ("one", False)]
        (claimed,) = await claim(harness)
        assert await enter(harness, UNFINISHED, "three") == [("one", False)]
        await finish(harness, retry(claimed.ticket, 5))
        assert await enter(harness, UNFINISHED, "four") == [("one", False)]
        assert await keys(harness) == {"one"}

    async def test_the_name_is_free_when_the_run_has_ended(self, harness: StoreHarness) -> None:
        await enter(harness, UNFINISHED, "one")
        await finish(harness, success((await claim(harness))[0].ticket))
        assert await enter(harness, UNFINISHED, "two", "three") == [("two", True), ("two", False)]
        await harness.store.ledger.cancel(NS, key("two"), "enough")
        assert await enter(harness, UNFINISHED, "four") == [("four", True)]
        assert await keys(harness) == {"one", "two", "four"}

    @pytest.mark.parametrize("unique", [QUEUED, UNFINISHED])
    async def test_a_run_that_has_expired_does_not_keep_its_name(
        self, harness: StoreHarness, unique: Unique
    ) -> None:
        """Also before it is swept."""
        first = replace(by_hand("one"), unique=unique, expires=SOON)
        await harness.store.ledger.enqueue_unique(NS, [first])
        assert await enter(harness, unique, "two") == [("one", False)]
        await harness.advance(SOON.total_seconds())
        assert await enter(harness, unique, "three") == [("three", True)]

    async def test_a_name_that_ends_with_the_queue_is_free_when_the_run_begins(
        self, harness: StoreHarness
    ) -> None:
        assert await enter(harness, QUEUED, "one", "two") == [("one", True), ("one", False)]
        (claimed,) = await claim(harness)
        assert await enter(harness, QUEUED, "three", "four") == [("three", True), ("three", False)]
        await finish(harness, retry(claimed.ticket))
        assert await enter(harness, QUEUED, "five") == [("three", False)]

    async def test_a_run_that_waits_for_a_retry_is_not_queued(self, harness: StoreHarness) -> None:
        await enter(harness, QUEUED, "one")
        await finish(harness, retry((await claim(harness))[0].ticket))
        assert await enter(harness, QUEUED, "two") == [("two", True)]

    async def test_a_run_that_was_handed_back_is_queued_again(self, harness: StoreHarness) -> None:
        await enter(harness, QUEUED, "one")
        await finish(harness, not_begun((await claim(harness))[0].ticket))
        assert await enter(harness, QUEUED, "two") == [("one", False)]

    async def test_a_period_is_not_over_when_the_run_ends(self, harness: StoreHarness) -> None:
        await enter(harness, AN_HOUR, "one")
        await finish(harness, success((await claim(harness))[0].ticket))
        await harness.advance(3_599)
        assert await enter(harness, AN_HOUR, "two") == [("one", False)]
        await harness.advance(1)
        assert await enter(harness, AN_HOUR, "three") == [("three", True)]
        await harness.advance(3_599)
        assert await enter(harness, AN_HOUR, "four") == [("three", False)]

    async def test_who_asks_says_how_long_a_name_is_kept(self, harness: StoreHarness) -> None:
        await enter(harness, UNFINISHED, "one")
        await finish(harness, success((await claim(harness))[0].ticket))
        assert await enter(harness, AN_HOUR, "two") == [("one", False)]
        assert await enter(harness, UNFINISHED, "three") == [("three", True)]

    async def test_another_payload_job_name_or_namespace_is_not_in_the_way(
        self, harness: StoreHarness
    ) -> None:
        await enter(harness, UNFINISHED, "one", payload={"image": 1, "width": 800})
        assert await enter(harness, UNFINISHED, "two", payload={"image": 2}) == [("two", True)]
        same: JsonObject = {"width": 800, "image": 1}
        assert await enter(harness, UNFINISHED, "three", payload=same) == [("one", False)]
        other = replace(by_hand("four", job=OTHER_JOB, payload=same), unique=UNFINISHED)
        assert [one.is_new for one in await harness.store.ledger.enqueue_unique(NS, [other])] == [True]
        assert [one.is_new for one in await harness.store.ledger.enqueue_unique(OTHER_NS, [other])] == [True]
        named = Unique("unfinished", name="image-1")
        assert await enter(harness, named, "five", "six", payload=same) == [("five", True), ("five", False)]
        assert await enter(harness, named, "seven", payload={"image": 9}) == [("five", False)]

    async def test_a_job_that_was_renamed_does_not_lose_its_names(self, harness: StoreHarness) -> None:
        await enter(harness, UNFINISHED, "one")
        renamed = replace(by_hand("two"), job=OTHER_JOB, unique=UNFINISHED)
        (found,) = await harness.store.ledger.enqueue_unique(NS, [renamed])
        assert found == (by_hand("one").run_key, False)

    async def test_a_run_without_a_name_is_not_held_up(self, harness: StoreHarness) -> None:
        runs = [by_hand("one"), replace(by_hand("two"), unique=UNFINISHED), by_hand("three")]
        found = await harness.store.ledger.enqueue_unique(NS, [*runs, by_hand("one")])
        assert [one.is_new for one in found] == [True, True, True, False]

    async def test_a_key_that_is_there_is_not_written_again_under_a_free_name(
        self, harness: StoreHarness
    ) -> None:
        await enter(harness, UNFINISHED, "one")
        await finish(harness, success((await claim(harness))[0].ticket))
        assert await enter(harness, UNFINISHED, "one") == [("one", False)]
        assert await states(harness, key("one")) == [RunState.SUCCEEDED]

    async def test_callers_at_once_do_not_get_two_runs(self, harness: StoreHarness) -> None:
        for by in (UNFINISHED, QUEUED, AN_HOUR):
            runs = [
                replace(by_hand(f"{by.by}-{n}", payload={"by": str(by.by)}), unique=by)
                for n in range(CALLERS)
            ]
            answers = await asyncio.gather(*(harness.store.ledger.enqueue_unique(NS, [run]) for run in runs))
            assert sum(one.is_new for (one,) in answers) == 1
            assert len({one.run_key for (one,) in answers}) == 1

    async def test_callers_at_once_do_not_take_a_free_name_over_twice(self, harness: StoreHarness) -> None:
        await enter(harness, UNFINISHED, "one", "two")
        await finish(harness, success((await claim(harness))[0].ticket))
        runs = [replace(by_hand(f"next-{n}"), unique=UNFINISHED) for n in range(CALLERS)]
        answers = await asyncio.gather(*(harness.store.ledger.enqueue_unique(NS, [run]) for run in runs))
        assert sum(one.is_new for (one,) in answers) == 1
        assert len({one.run_key for (one,) in answers}) == 1

    async def test_callers_with_many_names_in_any_order_do_not_stop_each_other(
        self, harness: StoreHarness
    ) -> None:
        runs = [replace(by_hand(f"a-{n}", payload={"n": n}), unique=UNFINISHED) for n in range(CALLERS)]
        others = [replace(run, run_key=RunKey(f"{run.run_key}-again")) for run in reversed(runs)]
        ledger = harness.store.ledger
        both = await asyncio.gather(ledger.enqueue_unique(NS, runs), ledger.enqueue_unique(NS, others))
        assert sum(one.is_new for some in both for one in some) == CALLERS

    async def test_an_author_is_named_for_new_runs_only(self, harness: StoreHarness) -> None:
        await enter(harness, UNFINISHED, "one", "two", author=ANNA)
        entries = await harness.store.audit_log.list(NS, LogFilter())
        assert [entry.subject for entry in entries] == [key("one")]

    async def test_retention_does_not_let_a_name_go_within_its_period(self, harness: StoreHarness) -> None:
        await enter(harness, Unique("3d"), "one")
        await enter(harness, UNFINISHED, "two", payload={"n": 2})
        for claimed in await claim(harness):
            await finish(harness, success(claimed.ticket))
        await harness.advance(2 * DAY_S)
        assert await harness.store.ledger.forget(DAY_S, MANY) == 2
        assert await enter(harness, Unique("3d"), "three") == [("one", False)]
        assert await enter(harness, Unique("3d"), "four", payload={"n": 2}) == [("four", True)]


class ExpiryContract:
    """Runs that must have begun by a time, or not at all."""

    async def test_a_run_that_has_expired_does_not_begin(self, harness: StoreHarness) -> None:
        await put_expiring(harness, "one", SOON)
        await harness.advance(59)
        assert (await harness.store.ledger.outlook(claim_request())).is_anything_due
        await sweep(harness)
        await harness.advance(1)
        assert not (await harness.store.ledger.outlook(claim_request())).is_anything_due
        assert await claim(harness) == []
        assert not (await sweep(harness)).quiet
        assert await sweep_late(harness) == 1
        record = await read(harness, key("one"))
        assert record.state is RunState.MISSED
        assert record.reason is not None
        assert record.reason.startswith("not begun before it expired at ")
        assert record.finished_at == harness.now
        assert await sweep_late(harness) == 0

    async def test_a_run_that_begins_in_time_does_not_expire(self, harness: StoreHarness) -> None:
        await put_expiring(harness, "one", SOON)
        await harness.advance(59)
        (claimed,) = await claim(harness)
        await finish(harness, retry(claimed.ticket, 5))
        await harness.advance(600)
        assert await sweep_late(harness) == 0
        assert [one.run_key for one in await claim(harness)] == [key("one")]

    async def test_a_length_of_time_is_counted_from_when_the_run_is_due(self, harness: StoreHarness) -> None:
        run = replace(by_hand("one", run_at=at(harness, 3_600)), expires=SOON)
        later = replace(by_hand("two"), run_at=timedelta(hours=1), expires=SOON)
        assert list(await harness.store.ledger.enqueue(NS, [run, later])) == [True, True]
        for name in ("one", "two"):
            record = await read(harness, key(name))
            assert (record.state, record.run_at) == (RunState.PLANNED, at(harness, 3_600))
            assert record.expires_at == at(harness, 3_660)

    async def test_an_instant_is_taken_as_it_is(self, harness: StoreHarness) -> None:
        await put_expiring(harness, "one", at(harness, 60))
        assert (await read(harness, key("one"))).expires_at == at(harness, 60)
        await harness.advance(61)
        assert await claim(harness) == []

    async def test_what_has_expired_is_not_in_the_way_of_others(self, harness: StoreHarness) -> None:
        await put_expiring(harness, "one", SOON)
        await harness.advance(10)
        await enqueue(harness, "two")
        await harness.advance(51)
        found = await harness.store.ledger.claim_direct(claim_request(), 1)
        assert [one.run_key for one in found] == [key("two")]

    async def test_a_run_that_is_held_expires_too(self, harness: StoreHarness) -> None:
        await put_expiring(harness, "one", SOON)
        await harness.store.ledger.hold(NS, key("one"), ANNA)
        await harness.advance(61)
        assert await sweep_late(harness) == 1
        record = await read(harness, key("one"))
        assert (record.state, record.held) == (RunState.MISSED, 0)

    async def test_a_run_of_a_limited_job_does_not_begin_late(self, harness: StoreHarness) -> None:
        await limit(harness, concurrency=1)
        await put_expiring(harness, "one", SOON)
        assert await claim(harness) == []
        await harness.advance(61)
        assert await take_lined(harness) == []
        await sweep_late(harness)
        assert await states(harness, key("one")) == [RunState.MISSED]

    async def test_a_run_that_was_handed_back_expires(self, harness: StoreHarness) -> None:
        await put_expiring(harness, "one", SOON)
        (claimed,) = await claim(harness)
        await finish(harness, not_begun(claimed.ticket))
        await harness.advance(61)
        assert await claim(harness) == []
        assert await sweep_late(harness) == 1
        assert await finish(harness, success(claimed.ticket)) is Receipt.REFUSED

    async def test_a_replay_does_not_expire(self, harness: StoreHarness) -> None:
        await put_expiring(harness, "one", SOON)
        await harness.advance(61)
        await sweep_late(harness)
        await harness.store.ledger.replay(NS, [key("one")], 0.0, ANNA)
        assert [one.run_key for one in await claim(harness)] == [key("one")]


class SnoozeContract:
    """Attempts that put their run off."""

    async def test_a_snooze_does_not_spend_an_attempt(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        assert await finish(harness, snooze(first.ticket, 600)) is Receipt.ACCEPTED
        record = await read(harness, first.run_key)
        assert (record.state, record.run_at) == (RunState.READY, at(harness, 600))
        assert (record.attempt, record.attempts_before_replay, record.error) == (1, 1, None)
        assert record.reason == "snoozed for 10m"
        (kept,) = await harness.store.ledger.attempts(NS, first.run_key)
        assert (kept.outcome, kept.error) == ("snoozed", "snoozed for 10m")
        assert await claim(harness) == []
        await harness.advance(600)
        (second,) = await claim(harness)
        assert second.fence > first.fence
        assert (second.attempt, second.attempts_before_replay, second.first_started_at) == (
            2,
            1,
            first.started_at,
        )

    async def test_a_snooze_of_a_stale_attempt_is_refused(self, harness: StoreHarness) -> None:
        first = await claim_one(harness)
        await finish(harness, retry(first.ticket))
        (second,) = await claim(harness)
        assert await finish(harness, snooze(first.ticket, 600)) is Receipt.REFUSED
        assert await finish(harness, snooze(second.ticket, 600)) is Receipt.ACCEPTED
        assert await finish(harness, snooze(second.ticket, 600)) is Receipt.REPEATED
        assert (await read(harness, first.run_key)).attempts_before_replay == 1

    async def test_a_run_that_was_asked_to_stop_does_not_snooze(self, harness: StoreHarness) -> None:
        claimed = await claim_one(harness)
        await harness.store.ledger.cancel(NS, claimed.run_key, "enough")
        await finish(harness, snooze(claimed.ticket, 600))
        assert await states(harness, claimed.run_key) == [RunState.CANCELLED]

    async def test_a_tick_that_snoozes_stays_unfinished(self, harness: StoreHarness) -> None:
        claimed = await start_tick(harness)
        await finish(harness, snooze(claimed.ticket, 600))
        await harness.advance(600)
        assert [one.run_key for one in await claim(harness)] == [claimed.run_key]


def key(name: str) -> RunKey:
    return by_hand(name).run_key


def snooze(ticket: Ticket, in_s: float) -> Outcome:
    """The attempt put its run off."""
    return Outcome(ticket, RunState.READY, "snoozed for 10m", retry_in_s=in_s, snoozed=True)


async def enter(
    harness: StoreHarness, unique: Unique, *names: str, author: Any = None, **fields: Any
) -> list[tuple[str, bool]]:
    """Enqueue unique runs in one call: of each the name of the run that is there, and whether it is new."""
    runs = [replace(by_hand(name, **fields), unique=unique) for name in names]
    entered: Sequence[Entered] = await harness.store.ledger.enqueue_unique(NS, runs, author=author)
    return [(one.run_key.partition("#")[2], one.is_new) for one in entered]


async def keys(harness: StoreHarness) -> set[str]:
    names = ("one", "two", "three", "four")
    found = await harness.store.ledger.get_many(NS, [key(name) for name in names])
    return {one.partition("#")[2] for one in found}


async def put_expiring(harness: StoreHarness, name: str, expires: datetime | timedelta) -> None:
    run: NewRun = replace(by_hand(name), expires=expires)
    assert list(await harness.store.ledger.enqueue(NS, [run])) == [True]


async def sweep_late(harness: StoreHarness) -> int:
    return await harness.store.ledger.sweep_late(60, MANY, leave_all)


async def take_lined(harness: StoreHarness) -> list[Claim]:
    return list(await harness.store.ledger.claim_lined(claim_request(), MANY, decide))
