"""The behaviour of the audit log: each change by an author is there once, and other changes are not."""

from __future__ import annotations

from dataclasses import replace

from fencepost.model.audit import Action
from fencepost.model.clocks import StoreTime
from fencepost.model.json import JsonObject
from fencepost.testing.conformance.builders import (
    NS,
    OTHER_NS,
    SCHEDULE,
    TZDATA,
    by_hand,
    claim_one,
    claim_request,
    enqueue,
    finish,
    make_spec,
    plan_ticks,
    put,
    retry,
    success,
)
from fencepost.testing.conformance.harness import StoreHarness
from fencepost.testing.conformance.operators import ANNA, BEN, entries

SPEC, OTHER_SPEC = make_spec(), make_spec(every_s=90)


class AuditLogContract:
    """Entries, which the actions themselves write."""

    async def test_a_change_of_a_schedule_says_what_it_was_and_what_it_is(
        self, harness: StoreHarness
    ) -> None:
        schedules = harness.store.schedules
        for spec in (SPEC, OTHER_SPEC):
            await schedules.put(NS, SCHEDULE, spec, tzdata=TZDATA, expected_version=None, author=ANNA)
        edit, creation = await entries(harness, subject=SCHEDULE)
        assert (creation.action, creation.before) == (Action.SCHEDULE_PUT, {})
        assert creation.after == edit.before
        assert (edit.before["version"], edit.after["version"]) == (1, 2)
        assert edit.before["spec"] != edit.after["spec"]
        assert (edit.author, edit.at, edit.namespace) == (ANNA, harness.now, NS)

    async def test_stops_and_starts_do_not_go_unlogged(self, harness: StoreHarness) -> None:
        await put(harness)
        schedules = harness.store.schedules
        await schedules.pause(NS, SCHEDULE, "holidays", author=ANNA)
        await schedules.resume(NS, SCHEDULE, author=BEN)
        await schedules.remove(NS, SCHEDULE, author=ANNA)
        found = [(one.action, one.before["state"], one.after["state"]) for one in await entries(harness)]
        assert found == [
            (Action.SCHEDULE_REMOVE, "active", "removed"),
            (Action.SCHEDULE_RESUME, "paused", "active"),
            (Action.SCHEDULE_PAUSE, "active", "paused"),
        ]

    async def test_what_changed_nothing_leaves_no_entry(self, harness: StoreHarness) -> None:
        schedules, ledger = harness.store.schedules, harness.store.ledger
        await put(harness, SPEC)
        await schedules.put(NS, SCHEDULE, SPEC, tzdata=TZDATA, expected_version=None, author=ANNA)
        refused = await schedules.put(
            NS, SCHEDULE, OTHER_SPEC, tzdata=TZDATA, expected_version=7, author=ANNA
        )
        assert refused is None
        await schedules.resume(NS, SCHEDULE, author=ANNA)
        (key,) = await enqueue(harness, "one")
        await ledger.enqueue(NS, [by_hand("one")], author=ANNA)
        await ledger.cancel(NS, key, "enough")
        await ledger.cancel(NS, key, "enough", author=ANNA)
        await schedules.remove(NS, SCHEDULE)
        await schedules.remove(NS, SCHEDULE, author=ANNA)
        await schedules.pause(NS, SCHEDULE, "holidays", author=ANNA)
        await ledger.trigger(NS, SCHEDULE, harness.now, author=ANNA)
        assert await entries(harness) == []

    async def test_a_change_without_an_author_leaves_no_entry(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        await harness.store.ledger.cancel(NS, key, "enough")
        await harness.store.ledger.trigger(NS, SCHEDULE, harness.now)
        await enqueue(harness, "one")
        await harness.store.calendars.put(NS, "de", {"holidays": ""})
        await harness.store.schedules.pause(NS, SCHEDULE, "holidays")
        assert await entries(harness) == []

    async def test_a_trigger_by_hand_is_not_logged_twice(self, harness: StoreHarness) -> None:
        await put(harness)
        moment = harness.now
        for _ in range(2):
            await harness.store.ledger.trigger(NS, SCHEDULE, moment, author=ANNA)
        (entry,) = await entries(harness)
        assert (entry.action, entry.subject, entry.before) == (Action.SCHEDULE_TRIGGER, SCHEDULE, {})
        assert entry.after

    async def test_every_new_run_by_hand_is_logged(self, harness: StoreHarness) -> None:
        await enqueue(harness, "old")
        runs = [by_hand(key) for key in ("old", "one", "two")]
        await harness.store.ledger.enqueue(NS, runs, author=ANNA)
        found = await entries(harness, action=Action.RUN_ENQUEUE)
        assert sorted(one.subject for one in found) == sorted(run.run_key for run in runs[1:])
        assert all(one.before == {} and one.after["state"] == "ready" for one in found)

    async def test_a_cancellation_is_not_confused_with_the_request_of_one(
        self, harness: StoreHarness
    ) -> None:
        ledger, claimed = harness.store.ledger, await claim_one(harness)
        for _ in range(2):
            await ledger.cancel(NS, claimed.run_key, "enough", author=ANNA)
        (request,) = await entries(harness, subject=claimed.run_key)
        assert (request.before["state"], request.after["state"]) == ("running", "running")
        assert (request.before["cancel_requested"], request.after["cancel_requested"]) == (False, True)
        await finish(harness, retry(claimed.ticket))
        assert len(await entries(harness)) == 1

    async def test_a_cancelled_run_is_logged_with_its_end(self, harness: StoreHarness) -> None:
        (key,) = await enqueue(harness, "one")
        await harness.store.ledger.cancel(NS, key, "enough", author=ANNA)
        (entry,) = await entries(harness, action=Action.RUN_CANCEL)
        assert (entry.before["state"], entry.after["state"]) == ("ready", "cancelled")
        assert (entry.before["reason"], entry.after["reason"]) == (None, "enough")

    async def test_holds_and_skips_say_what_they_did(self, harness: StoreHarness) -> None:
        await put(harness)
        (key,) = await plan_ticks(harness, 60)
        ledger = harness.store.ledger
        await ledger.hold(NS, key, ANNA)
        await ledger.release(NS, key, BEN)
        await ledger.skip(NS, key, ANNA)
        skip, release, hold = await entries(harness, subject=key)
        assert (hold.action, hold.before["held"], hold.after["held"]) == (Action.RUN_HOLD, 0, 1)
        assert (release.action, release.before["held"], release.after["held"]) == (Action.RUN_RELEASE, 1, 0)
        assert (skip.action, skip.before["state"], skip.after["state"]) == (
            Action.RUN_SKIP,
            "planned",
            "skipped",
        )

    async def test_a_changed_calendar_is_logged_with_its_definition(self, harness: StoreHarness) -> None:
        calendars = harness.store.calendars
        old: JsonObject = {"holidays": "2026-12-25"}
        new: JsonObject = {"holidays": "2026-12-26"}
        await calendars.put(NS, "de", old, author=ANNA)
        await calendars.put(NS, "de", old, author=ANNA)
        await calendars.put(NS, "de", new, author=ANNA)
        await calendars.remove(NS, "de", author=BEN)
        await calendars.remove(NS, "de", author=BEN)
        found = [(one.action, one.before, one.after) for one in await entries(harness, subject="de")]
        assert found == [
            (Action.CALENDAR_REMOVE, new, {}),
            (Action.CALENDAR_PUT, old, new),
            (Action.CALENDAR_PUT, {}, old),
        ]

    async def test_a_calendar_that_is_in_use_leaves_no_entry(self, harness: StoreHarness) -> None:
        await harness.store.calendars.put(NS, "de", {"holidays": ""})
        await put(harness, make_spec(calendars={"de": {"revision": 1}}))
        assert await harness.store.calendars.remove(NS, "de", author=ANNA)
        assert await entries(harness) == []

    async def test_numbers_rise_and_the_newest_comes_first(self, harness: StoreHarness) -> None:
        await act_thrice(harness)
        numbers = [one.number for one in await entries(harness)]
        assert numbers == sorted(set(numbers), reverse=True)
        assert len(numbers) == 3

    async def test_no_more_is_listed_than_asked_for(self, harness: StoreHarness) -> None:
        moments = await act_thrice(harness)
        third, second, first = await entries(harness)
        assert await entries(harness, limit=2) == [third, second]
        assert await entries(harness, before_number=second.number) == [first]
        assert await entries(harness, before_number=first.number) == []
        assert await entries(harness, author="ben") == [second]
        assert await entries(harness, action=Action.RUN_RELEASE) == [second]
        assert await entries(harness, subject="absent") == []
        assert await entries(harness, since=moments[1]) == [third, second]
        assert await entries(harness, until=moments[1]) == [first]
        assert await entries(harness, since=moments[0], until=moments[2], author="anna") == [first]

    async def test_an_entry_does_not_lose_the_credential_of_its_author(self, harness: StoreHarness) -> None:
        twin = replace(ANNA, credential="t0123456789abcdef")
        (key,) = await enqueue(harness, "one")
        await harness.store.ledger.hold(NS, key, ANNA)
        await harness.store.ledger.release(NS, key, twin)
        second, first = await entries(harness)
        assert (first.author, second.author) == (ANNA, twin)
        assert await entries(harness, author=twin.credential) == [second]
        assert await entries(harness, author=twin.credential, subject=key) == [second]
        assert await entries(harness, author=ANNA.name) == [second, first]

    async def test_what_was_refused_does_not_go_unrecorded(self, harness: StoreHarness) -> None:
        about: JsonObject = {"attempt": 1, "fence": 7, "claimed_with": None}
        await harness.store.audit_log.record(NS, BEN, Action.RUN_REPORT_REFUSED, "job#1", about)
        (found,) = await entries(harness, subject="job#1")
        assert (found.author, found.action) == (BEN, Action.RUN_REPORT_REFUSED)
        assert (found.at, found.before, found.after) == (harness.now, {}, about)
        assert await entries(harness, OTHER_NS) == []

    async def test_another_namespaces_entries_are_not_listed(self, harness: StoreHarness) -> None:
        await act_thrice(harness)
        assert await entries(harness, OTHER_NS) == []
        await harness.store.ledger.enqueue(OTHER_NS, [by_hand("one")], author=ANNA)
        assert len(await entries(harness, OTHER_NS)) == 1
        assert len(await entries(harness)) == 3

    async def test_an_entry_does_not_change_with_its_subject(self, harness: StoreHarness) -> None:
        await harness.store.ledger.enqueue(NS, [by_hand("one")], author=ANNA)
        before = await entries(harness)
        (claimed,) = await harness.store.ledger.claim_direct(claim_request(), 1)
        await finish(harness, success(claimed.ticket))
        assert await entries(harness) == before


async def act_thrice(harness: StoreHarness) -> list[StoreTime]:
    """Hold, release and hold a run, ten seconds apart; when."""
    (key,) = await enqueue(harness, "one")
    ledger, moments = harness.store.ledger, list[StoreTime]()
    for act, author in ((ledger.hold, ANNA), (ledger.release, BEN), (ledger.hold, ANNA)):
        await harness.advance(10)
        moments.append(harness.now)
        await act(NS, key, author)
    return moments
