"""Schedules, listed, shown, written and paused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from fencepost.errors import ScheduleChanged, ScheduleExists, UnknownSchedule
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import JobName, Namespace, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.schedule import ScheduleState
from fencepost.operations import pausing, schedule_writing
from fencepost.operations import schedules as schedule_operations
from fencepost.operations.control import Control
from fencepost.operations.operation import Operation
from fencepost.operations.paging import encode_cursor
from fencepost.operations.pausing import pause_schedule
from fencepost.operations.responses.schedules import EditedSchedule, VersionPage
from fencepost.operations.schedule_words import CatchUpWords, DstWords, GateWords, WindowWords
from fencepost.operations.schedule_writing import checked_spec
from fencepost.operations.schedules import (
    AddScheduleRequest,
    ChangeScheduleRequest,
    EditScheduleRequest,
    ListSchedulesRequest,
    ListVersionsRequest,
    ScheduleRequest,
    add_schedule,
    edit_schedule,
    list_schedules,
    list_versions,
    remove_schedule,
    show_schedule,
    trigger_schedule,
)
from fencepost.operations.ticks import ChangeTickRequest, skip_tick
from fencepost.operations.wire import Parts, from_call
from tests.operations.asking import asked, refused
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA, at, open_control

NIGHTLY = AddScheduleRequest(
    schedule_id="nightly",
    job="report",
    cron="30 2 * * *",
    tz="Europe/Berlin",
    dst=DstWords(gap="skip"),
    overlap="buffer_one",
    catch_up=CatchUpWords(mode="sequential", max_lateness="6h", gate=GateWords(of_last=20)),
    spread="5m",
    jitter=2,
    payload={"region": "eu", "api_token": "s3cret"},
    labels={"team": "ops"},
    outside=[WindowWords(cron="0 2 * * SUN", lasts="3h")],
    end="2030-01-01",
)
FAILED = "more than 50% of the last 20 have failed"
FIRE_TIME = "2026-12-24T18:00:00Z"


@pytest.fixture
async def control() -> Control:
    house = House()
    control = await open_control(house, labels={"team": "billing"})
    await house.memory.jobs.register(NS, [JobSpec(JobName("report"), open_payload=True)])
    return control


async def add(control: Control, schedule_id: str, **words: Any) -> EditedSchedule:
    return await asked(
        control, add_schedule, AddScheduleRequest(schedule_id=schedule_id, job="report", every="1h", **words)
    )


async def edit(
    control: Control, schedule_id: str, version: int | None = None, **words: Any
) -> EditedSchedule:
    question = EditScheduleRequest(schedule_id=schedule_id, expected_version=version, **words)
    return await asked(control, edit_schedule, question)


async def patched(control: Control, body: dict[str, Any], if_match: str | None = None) -> EditedSchedule:
    """An edit as a body has it, nulls and all."""
    parts = Parts({"schedule_id": "nightly"}, if_match=if_match, body=body)
    return await edit_schedule.carry_out(control, from_call(edit_schedule, parts))


async def test_every_word_of_a_new_schedule_is_in_the_answer(control: Control) -> None:
    added = await asked(control, add_schedule, NIGHTLY)
    assert (added.version, added.state, added.warnings, added.preview) == (1, "active", [], UNSET)
    assert (added.job, added.overlap, added.labels) == ("report", "buffer_one", {"team": "ops"})
    assert (added.spread, added.jitter) == ("5m", "2s")
    assert (added.catch_up.mode, added.catch_up.max_lateness_s) == ("sequential", 6 * 3600.0)
    assert added.catch_up.gate is not UNSET
    assert added.catch_up.gate.of_last == 20
    assert added.payload == {"region": "eu", "api_token": "***"}
    assert [added.trigger["kind"], added.trigger["of"]["kind"]] == ["between", "outside"]
    assert added.trigger["of"]["of"] == {
        "v": 1,
        "kind": "cron",
        "expression": "30 2 * * *",
        "tz": "Europe/Berlin",
        "gap": "skip",
        "fold": None,
    }
    stored = await control.schedule("nightly")
    assert stored.spec.payload == {"region": "eu", "api_token": "s3cret"}


async def test_an_id_is_not_given_twice(control: Control) -> None:
    await add(control, "nightly")
    with pytest.raises(ScheduleExists):
        await add(control, "nightly")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"cron": "* * * * *"}, "give exactly one of cron, every, at, rrule and business_day"),
        ({"dst": DstWords(gap="skip")}, "dst.gap: has no meaning"),
        ({"catch_up": CatchUpWords(max_lateness="oops")}, "catch_up.max_lateness: "),
        ({"spread": "oops"}, "spread: "),
        ({"time": "18:00"}, "time: has no meaning with every"),
        ({"max_runs": 10**9}, "max_runs: "),
        ({"trigger": {"v": 1}}, "every has no meaning with trigger"),
        ({"overlap": "sometimes"}, "overlap 'sometimes'"),
        ({"outside": [WindowWords(cron="x", lasts="3h")]}, "outside: cron: "),
        ({"payload": {"region": 1, "x": 2}, "job": "nobody"}, "job nobody"),
    ],
)
async def test_a_refusal_names_the_word(control: Control, words: dict[str, Any], said: str) -> None:
    question = AddScheduleRequest(**{"schedule_id": "nightly", "job": "report", "every": "1h", **words})
    assert said.replace("'", '"') in (await refused(control, add_schedule, question)).replace("'", '"')
    with pytest.raises(UnknownSchedule):
        await control.schedule("nightly")


async def test_a_schedule_without_a_job_is_asked_for_one(control: Control) -> None:
    question = AddScheduleRequest(schedule_id="nightly", every="1h")
    assert await refused(control, add_schedule, question) == "job is missing: say what is to run"


async def test_an_edit_changes_what_is_given_and_leaves_the_rest(control: Control) -> None:
    await asked(control, add_schedule, NIGHTLY)
    edited = await edit(control, "nightly", 1, cron="45 2 * * *", labels={"team": "", "tier": "1"})
    assert (edited.version, edited.spread, edited.labels) == (2, "5m", {"tier": "1"})
    assert edited.trigger["of"]["of"]["expression"] == "45 2 * * *"
    assert edited.trigger["of"]["of"]["gap"] == "skip"
    assert edited.catch_up.max_lateness_s == 6 * 3600.0


@pytest.mark.parametrize("nothing", [None, "none"])
async def test_what_is_null_or_none_is_taken_away(control: Control, nothing: str | None) -> None:
    question = msgspec.structs.replace(NIGHTLY, max_runs=3, queue="slow", priority=1)
    await asked(control, add_schedule, question)
    names = ("spread", "jitter", "end", "start", "max_runs")
    edited = await patched(control, dict.fromkeys(names, nothing), "*")
    assert (edited.spread, edited.jitter, edited.trigger["kind"]) == (UNSET, UNSET, "outside")
    edited = await patched(control, {"outside": None, "queue": None, "priority": None, "payload": None})
    assert (edited.trigger["kind"], edited.queue, edited.priority, edited.payload) == ("cron", None, None, {})
    edited = await patched(control, {"catch_up": {"gate": nothing}, "labels": {"team": None}})
    assert (edited.catch_up.gate, edited.labels) == (UNSET, {})


@pytest.mark.parametrize("word", ["job", "cron", "tz", "overlap", "catch_up", "trigger", "dst"])
async def test_what_a_schedule_cannot_be_without_is_not_taken_away(control: Control, word: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        await patched(control, {word: None})


@pytest.mark.parametrize("name", ["state", "version", "namespace", "author", "planned_through", "shard"])
async def test_nothing_else_is_taken_from_a_body(control: Control, name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        await patched(control, {"spread": "1m", name: 1})


@pytest.mark.parametrize("labels", [{"team": "a\0b"}, {"te\0am": "a"}])
async def test_a_label_that_no_database_keeps_is_refused(control: Control, labels: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        await patched(control, {"labels": labels})


async def test_a_secret_that_comes_back_masked_stays_as_it_was(control: Control) -> None:
    added = await asked(control, add_schedule, NIGHTLY)
    await edit(control, "nightly", payload={**added.payload, "region": "us"})
    kept = (await control.schedule("nightly")).spec.payload
    assert kept == {"region": "us", "api_token": "s3cret"}
    await edit(control, "nightly", payload={"region": "us", "api_token": "other"})
    assert (await control.schedule("nightly")).spec.payload["api_token"] == "other"


async def test_an_edit_of_another_version_is_refused_and_changes_nothing(control: Control) -> None:
    await add(control, "nightly")
    await edit(control, "nightly", 1, spread="1m")
    for dry_run in (False, True):
        with pytest.raises(ScheduleChanged):
            await edit(control, "nightly", 1, spread="2m", dry_run=dry_run)
    assert (await control.schedule("nightly")).version == 2


async def test_an_edit_of_whichever_version_is_said_again_where_somebody_was_quicker(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(control, "nightly")
    real, spare = checked_spec, [{"team": "ops"}]

    async def overtaken(control: Control, schedule_id: str, spec: Any) -> Any:
        if spare:
            old = await control.schedule(schedule_id)
            other = replace(old.spec, labels=spare.pop())
            await schedule_writing.put(control, schedule_id, other, old.version)
        return await real(control, schedule_id, spec)

    monkeypatch.setattr(schedule_operations, "checked_spec", overtaken)
    monkeypatch.setattr(schedule_writing, "checked_spec", overtaken)
    edited = await edit(control, "nightly", None, spread="1m")
    assert (edited.version, edited.spread, edited.labels) == (3, "1m", {"team": "ops"})


async def test_an_edit_without_a_word_is_refused(control: Control) -> None:
    question = EditScheduleRequest(schedule_id="invoices", expected_version=1, reason="why not")
    assert "nothing to change" in await refused(control, edit_schedule, question)


async def test_a_dry_run_says_what_would_change_and_writes_nothing(control: Control) -> None:
    await asked(control, add_schedule, NIGHTLY)
    told = await edit(control, "nightly", 1, cron="45 2 * * *", overlap="allow", dry_run=True)
    assert told.preview is not UNSET
    assert 'trigger.of.of.expression: "30 2 * * *" -> "45 2 * * *"' in told.preview.changes
    assert 'overlap: "buffer_one" -> "allow"' in told.preview.changes
    assert len(told.preview.next_before) == len(told.preview.next_after) == 5
    assert not set(told.preview.next_before) & set(told.preview.next_after)
    assert told.preview.policies[0] == "Runs may be side by side, any number of them."
    assert (told.version, told.overlap) == (1, "allow")
    kept = await control.schedule("nightly")
    assert (kept.version, str(kept.spec.overlap)) == (1, "buffer_one")


async def test_a_dry_run_is_refused_what_an_edit_would_be(control: Control) -> None:
    question = EditScheduleRequest(
        schedule_id="invoices",
        expected_version=1,
        business_day=1,
        time="18:00",
        calendar="nowhere",
        dry_run=True,
    )
    assert "calendar nowhere" in await refused(control, edit_schedule, question)


async def test_a_list_comes_in_pages_and_by_filter(control: Control) -> None:
    for name in ("a", "b", "c"):
        await add(control, name, labels={"team": "ops"})
    await pausing.pause(control, "b")
    await schedule_operations.remove(control, "c")
    first = await asked(control, list_schedules, ListSchedulesRequest(limit=2))
    assert [one.schedule_id for one in first.items] == ["a", "b"]
    last = await asked(control, list_schedules, ListSchedulesRequest(limit=2, after=first.next))
    assert ([one.schedule_id for one in last.items], last.next) == (["invoices"], None)
    for choice, ids in (
        ({"text": "voice"}, ["invoices"]),
        ({"state": ScheduleState.PAUSED}, ["b"]),
        ({"state": ScheduleState.REMOVED}, ["c"]),
        ({"label": "team=ops"}, ["a", "b"]),
        ({"label": "team"}, ["a", "b", "invoices"]),
        ({"job": "other"}, []),
        ({"frozen": True}, []),
        ({"frozen": False, "text": "a"}, ["a"]),
    ):
        found = await asked(control, list_schedules, ListSchedulesRequest(**choice))
        assert [
            one.schedule_id for one in found.items if one.schedule_id in ("a", "b", "c", "invoices")
        ] == ids


async def test_showing_says_what_is_to_come_and_its_policies(control: Control) -> None:
    await asked(control, add_schedule, NIGHTLY)
    shown = await asked(control, show_schedule, ScheduleRequest(schedule_id="nightly"))
    assert (len(shown.next), len(shown.next_run_at), shown.trouble) == (5, 5, None)
    assert all(due >= fire for fire, due in zip(shown.next, shown.next_run_at, strict=True))
    assert shown.policies == [
        "While an earlier run is unfinished, one tick waits; further ones are skipped.",
        "Every late tick that is not more than 6h late runs, one after the other, the oldest first.",
        f"Catch-up is held back for a person when more than 1000 wait, or {FAILED}.",
        "It starts within 5m of each fire time, always at the same offset.",
        "Each tick starts within 2s of its fire time, at an offset of its own.",
        "A time that the clocks skip does not fire; one that they show twice fires the first time.",
    ]
    await pausing.pause(control, "nightly")
    paused = await asked(control, show_schedule, ScheduleRequest(schedule_id="nightly"))
    assert (paused.next, paused.changes, paused.policies) == ([], [], shown.policies)


async def test_versions_come_oldest_first_with_what_each_changed(control: Control) -> None:
    await add(control, "nightly")
    await edit(control, "nightly", spread="1m")
    await edit(control, "nightly", every="2h")
    first = await asked(control, list_versions, ListVersionsRequest(schedule_id="nightly", limit=2))
    assert [one.changes for one in first.items] == [[], ['spread: nothing -> "1m"']]
    assert first.items[0].in_force_until == first.items[1].in_force_from
    last = await asked(control, list_versions, ListVersionsRequest(schedule_id="nightly", after=first.next))
    assert [(one.version, one.changes) for one in last.items] == [(3, ['trigger.interval: "1h" -> "2h"'])]
    assert (last.items[0].description, last.next) == ("every 2 hours", None)


async def test_no_more_versions_are_read_than_are_shown(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(control, "nightly")
    for number in range(1, 30):
        await edit(control, "nightly", spread=f"{number}m")
    real, read = control.store.schedules.history, list[int]()

    async def counted(*asked_for: Any, **more: Any) -> Any:
        found = await real(*asked_for, **more)
        read.append(len(found))
        return found

    monkeypatch.setattr(control.store.schedules, "history", counted)
    shown = await asked(control, show_schedule, ScheduleRequest(schedule_id="nightly"))
    assert (shown.version, read) == (30, [1])
    seen: list[int] = []
    after, read[:] = None, []
    while True:
        page = await asked(
            control, list_versions, ListVersionsRequest(schedule_id="nightly", limit=7, after=after)
        )
        assert all(one.changes for one in page.items if one.version > 1)
        seen += [one.version for one in page.items]
        after = page.next
        if after is None:
            break
    assert seen == list(range(1, 31))
    assert max(read) <= 7 + 2


@pytest.mark.parametrize("number", [-1, 2**31, 2**70])
async def test_a_place_that_no_page_of_versions_gave_is_refused(control: Control, number: int) -> None:
    await add(control, "nightly")
    question = ListVersionsRequest(schedule_id="nightly", after=encode_cursor(number))
    assert "cursor" in await refused(control, list_versions, question)


async def test_behind_the_last_version_there_is_none(control: Control) -> None:
    await add(control, "nightly")
    question = ListVersionsRequest(schedule_id="nightly", after=encode_cursor(99))
    assert await asked(control, list_versions, question) == VersionPage(items=[], next=None)


async def test_a_removed_schedule_is_gone_and_its_history_stays(control: Control) -> None:
    one = ChangeScheduleRequest(schedule_id="invoices")
    assert (await asked(control, remove_schedule, one)).state == "removed"
    assert "not found" in await refused(control, show_schedule, ScheduleRequest(schedule_id="invoices"))
    found = await asked(control, list_versions, ListVersionsRequest(schedule_id="invoices"))
    assert len(found.items) == 1


async def test_a_repeated_trigger_writes_one_tick(control: Control) -> None:
    one = ChangeScheduleRequest(schedule_id="invoices")
    repeating = Control(control.store, NS, ANNA, requested_at=StoreTime(at(-1)))
    first = await asked(repeating, trigger_schedule, one)
    assert await asked(repeating, trigger_schedule, one) == first
    assert (await asked(control, trigger_schedule, one)).run_key != first.run_key


@pytest.mark.parametrize(
    ("verb", "question"),
    [
        (show_schedule, ScheduleRequest(schedule_id="invoices")),
        (list_versions, ListVersionsRequest(schedule_id="invoices")),
        (edit_schedule, EditScheduleRequest(schedule_id="invoices", expected_version=1, spread="1m")),
        (pause_schedule, ChangeScheduleRequest(schedule_id="invoices")),
        (remove_schedule, ChangeScheduleRequest(schedule_id="invoices")),
        (trigger_schedule, ChangeScheduleRequest(schedule_id="invoices")),
        (skip_tick, ChangeTickRequest(schedule_id="invoices", fire_time=FIRE_TIME)),
    ],
)
async def test_another_namespaces_schedule_is_not_there(
    control: Control, verb: Operation[Any, Any, Any], question: Any
) -> None:
    other = Control(control.store, Namespace("billing"), ANNA)
    assert "schedule invoices: not found" in await refused(other, verb, question)
    assert (await asked(other, list_schedules, ListSchedulesRequest())).items == []
    kept = await control.store.schedules.get(NS, ScheduleId("invoices"))
    assert kept is not None
    assert (kept.version, kept.state) == (1, ScheduleState.ACTIVE)
