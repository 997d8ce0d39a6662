"""Runs, dead letters and gates: found by what is asked, told as they are, changed by those who may."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import quote

import pytest

from fencepost.core.fingerprints import fingerprint_of, step_of
from fencepost.model.access import Role
from fencepost.model.clocks import StoreTime
from fencepost.model.identifiers import Fence, Namespace, NodeId, RunKey, ScheduleId
from fencepost.model.run import Attempt, Hold, Origin, RunFilter, RunList, RunRecord, RunState
from fencepost.model.tables import GATES, RUN_LINKS, STEPS
from fencepost.telemetry.traces.ids import trace_text
from fencepost.web.dashboard import links
from fencepost.web.dashboard.pages.dead import groups_of
from fencepost.web.dashboard.pages.run import verbs_of
from fencepost.web.dashboard.tries import stretches, tries_of
from tests.rows import put, row_of, run_of, runs_of
from tests.services.house import NS, START, House
from tests.web.dashboard.furnished import put_run
from tests.web.dashboard.house import Dashboard, somebody, words_of
from tests.web.dashboard.reading import faults, form_fields, parsed

ENDED = StoreTime(START + timedelta(minutes=3))


def minute(number: int) -> datetime:
    return START + timedelta(minutes=number)


async def runs(board: Dashboard, **wanted: object) -> list[RunRecord]:
    return list(await board.house.memory.ledger.list(NS, RunFilter(limit=200, **wanted)))  # type: ignore[arg-type]


def keys_of(text: str) -> list[str]:
    return [one.attributes["data-run"] for one in parsed(text).elements if "data-run" in one.attributes]


@pytest.mark.parametrize("state", RunState)
async def test_a_run_of_every_state_has_a_page(board: Dashboard, state: RunState) -> None:
    key = put_run(board.house, "stiff", minute(7), state=state, error="Boom: x", reason="because")
    text = await board.page(links.run(key))
    assert faults(text) == []
    assert trace_text(await board.house.run(key)) in text


async def test_a_retry_does_not_hide_how_late_a_run_began(board: Dashboard) -> None:
    moved = {
        "run_at": minute(12),
        "due_at": minute(7),
        "first_started_at": minute(9),
        "started_at": minute(12),
    }
    waiting = {**moved, "run_at": minute(20), "state": RunState.CANCELLED, "attempt": 1}
    for number, fields in enumerate(({**moved, "attempt": 2}, waiting)):
        key = put_run(board.house, "stiff", minute(7) - timedelta(seconds=number), **fields)
        shown = await board.page(f"/runs?text={quote(key)}")
        assert re.findall(r'data-field="late">([^<]*)<', shown) == ["2 min"]
        assert "began 2 min late" in words_of(await board.page(links.run(key)))


async def test_a_schedule_whose_ticks_were_all_missed_says_that_none_ran() -> None:
    house = House()
    await house.put("nightly", every_s=60)
    for number in (1, 2, 3):
        put_run(house, "nightly", minute(number), state=RunState.MISSED, attempt=0, fence=Fence(0))
    house.clock.advance(200)
    words = words_of(await Dashboard(house, somebody()).page(links.schedule(ScheduleId("nightly"))))
    assert "0 of 3 ran" in words


async def test_a_run_does_not_hide_that_it_did_something_else_the_second_time(board: Dashboard) -> None:
    key = put_run(board.house, "stiff", minute(7), state=RunState.SUCCEEDED)
    for attempt, effect in ((1, "99.00 EUR"), (2, "<b>990.00 EUR")):
        name, result = step_of(fingerprint_of(attempt, effect))
        put(board.house.memory, STEPS, namespace=NS, run_key=key, name=name, result=result, number=attempt)
    text = await board.page(links.run(key))
    assert faults(text) == []
    shown = words_of(text).partition("Effects ")[2]
    assert shown.startswith(
        "Attempt 1: 99.00 EUR Attempt 2: &lt;b&gt;990.00 EUR not what the attempt before it did"
    )


async def test_a_run_does_not_hide_what_it_followed_and_what_follows_it(board: Dashboard) -> None:
    first = put_run(board.house, "stiff", minute(7), state=RunState.SUCCEEDED)
    second = put_run(board.house, "stiff", minute(8), state=RunState.SUCCEEDED)
    named = {"namespace": NS, "run_key": first, "predecessor": "report", "state": "succeeded"}
    for job, successor in (("load", second), ("mail", "mail#join#x")):
        put(board.house.memory, RUN_LINKS, **named, job=job, successor=successor)
    before, after = await board.page(links.run(first)), await board.page(links.run(second))
    assert (faults(before), faults(after)) == ([], [])
    assert f'href="{links.run(second)}"' in before
    assert "mail#join#x waits for another run" in words_of(before)
    assert f'href="{links.run(first)}"' in after


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("state=dead", {"state": RunState.DEAD}),
        ("schedule=minutely&state=running", {"state": RunState.RUNNING}),
        ("held=true", {"held": True}),
        ("origin=replay", {"origin": Origin.REPLAY}),
        ("queue=slow&state=missed", {"state": RunState.MISSED}),
        ("error=%3Cscript", {"state": RunState.DEAD}),
        ("text=%3Cb%3Ebold", {"text": "<b>bold"}),
        ("since=2026-03-01T12:10:00Z&until=2026-03-01T12:12:00Z", {"since": minute(10), "until": minute(12)}),
    ],
)
async def test_runs_are_found_by_what_is_asked(
    board: Dashboard, query: str, wanted: dict[str, object]
) -> None:
    expected = [str(one.run_key) for one in await runs(board, **wanted)]
    assert expected
    assert keys_of(await board.page(f"/runs?limit=200&{query}")) == expected


async def test_pages_of_runs_go_on_where_the_one_before_ended(board: Dashboard) -> None:
    expected, seen, path = [str(one.run_key) for one in await runs(board)], [], "/runs?limit=20"
    for _ in range(10):
        text = await board.page(path)
        seen += keys_of(text)
        following = [one for one in parsed(text).named("a") if one.attributes.get("rel") == "next"]
        if not following:
            break
        path = following[0].attributes["href"]
    assert seen == expected


@pytest.mark.parametrize("query", ["after=no", "state=nix", "limit=201", "since=yesterday", "backfill=x"])
async def test_a_query_that_is_none_is_refused(board: Dashboard, query: str) -> None:
    assert faults(await board.page(f"/runs?{query}", 400)) == []


@pytest.mark.parametrize(("query", "grows"), [("", True), ("?state=dead", True), ("?text=x", False)])
async def test_a_list_grows_by_itself_only_where_the_news_say_enough(
    board: Dashboard, query: str, grows: bool
) -> None:
    put_run(board.house, "stiff", minute(7), error="x")
    text = await board.page(f"/runs{query}")
    assert ('data-live-list="runs"' in text) is (grows and bool(keys_of(text)))


@pytest.mark.parametrize("path", ["/runs?text=nothing-like-it", "/dead?text=nothing-like-it"])
async def test_an_empty_page_of_a_search_that_is_not_over_has_a_next_one(
    board: Dashboard, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Search on" not in await board.page(path)
    whole = board.house.memory.ledger.list

    async def short_of_breath(namespace: Namespace, wanted: RunFilter) -> RunList:
        return await whole(namespace, replace(wanted, searched_max=2))

    monkeypatch.setattr(board.house.memory.ledger, "list", short_of_breath)
    text = await board.page(path)
    assert faults(text) == []
    (following,) = [
        one.attributes["href"] for one in parsed(text).elements if one.attributes.get("rel") == "next"
    ]
    assert "after=" in following
    assert "Search on" in await board.page(following)


async def test_many_runs_are_cancelled_after_a_question(board: Dashboard) -> None:
    waiting = [str(one.run_key) for one in await runs(board, state=RunState.READY)][:2]
    asked = await board.do("runs.cancel_many", run_keys=waiting, back="/runs")
    assert asked.status == 200
    text = await board.after(await board.do("runs.cancel_many", run_keys=waiting, confirmed="yes"))
    assert "2 cancelled" in words_of(text)
    for key in waiting:
        assert (await board.house.run(key)).state is RunState.CANCELLED


def record(**fields: object) -> RunRecord:
    house = House()
    key = put_run(house, "x", START, **fields)
    return run_of(house.memory, key)


@pytest.mark.parametrize(
    ("fields", "verbs"),
    [
        ({"state": RunState.READY, "fence": Fence(0)}, {"cancel", "skip", "hold"}),
        ({"state": RunState.READY, "fence": Fence(0), "held": Hold.OPERATOR}, {"cancel", "skip", "release"}),
        ({"state": RunState.READY, "fence": Fence(3)}, {"cancel", "hold"}),
        ({"state": RunState.RUNNING}, {"cancel"}),
        ({"state": RunState.RUNNING, "cancel_requested": True}, set()),
        ({"state": RunState.DEAD}, {"replay"}),
        ({"state": RunState.WITHDRAWN}, set()),
    ],
)
def test_only_what_makes_sense_is_offered(fields: dict[str, object], verbs: set[str]) -> None:
    found = verbs_of(record(**fields))
    assert {name for name in found.__struct_fields__ if getattr(found, name)} == verbs


async def test_a_run_is_held_and_released_from_its_page(board: Dashboard) -> None:
    key = put_run(board.house, "resting", minute(90), state=RunState.PLANNED, fence=Fence(0), started_at=None)
    path = links.run(key)
    fields = form_fields(await board.page(path), "/do/runs.hold")
    assert fields["run_key"] == [str(key)]
    text = await board.after(await board.do("runs.hold", **fields))
    assert "is held until somebody releases it" in words_of(text)
    await board.do("runs.release", **form_fields(await board.page(path), "/do/runs.release"))
    assert Hold.OPERATOR not in (await board.house.run(key)).held


def test_a_lost_attempt_and_the_one_after_it_are_both_drawn() -> None:
    run = record(attempt=2, fence=Fence(5), started_at=StoreTime(minute(2)), finished_at=ENDED)
    worker = NodeId("web-1")
    lost = Attempt(1, Fence(4), worker, StoreTime(minute(1)), StoreTime(minute(1)), "lost", None, None, None)
    tries = tries_of(run, [lost])
    assert [(one.attempt, one.fence, one.outcome) for one in tries] == [(1, 4, "lost"), (2, 5, "succeeded")]
    drawn = [(one.row, one.mark) for one in stretches(run, tries, minute(9))]
    assert drawn == [
        *(("attempt 1", "planned"), ("attempt 1", "missed")),
        *(("attempt 2", "planned"), ("attempt 2", "fine")),
    ]


def test_a_run_that_waits_for_a_retry_is_not_drawn_as_running() -> None:
    run = record(state=RunState.READY, attempt=1, finished_at=None)
    failed = Attempt(1, Fence(1), None, StoreTime(START), ENDED, "failed", "Boom", None, None)
    assert [one.mark for one in stretches(run, tries_of(run, [failed]), minute(9))] == ["dead", "planned"]


def test_what_is_to_come_has_nothing_drawn() -> None:
    run = record(state=RunState.PLANNED, started_at=None)
    assert stretches(run, tries_of(run, []), START - timedelta(minutes=1)) == []


async def test_a_tick_whose_row_is_gone_still_has_its_story(board: Dashboard) -> None:
    path = links.run("minutely#2026-03-01T12:59:00Z#1")
    text = await board.page(path, 404)
    assert "The explanation" in words_of(text)
    assert faults(text) == []


def test_dead_letters_that_look_alike_are_one_group() -> None:
    house = House()
    for number in range(5):
        put_run(house, "x", minute(number), state=RunState.DEAD, error=f"Boom: one\n{number}")
    put_run(house, "y", minute(1), state=RunState.DEAD, error="Other")
    found = groups_of(runs_of(house.memory))
    assert [(one.count, one.error, one.newest) for one in found] == [
        (5, "Boom: one", minute(4)),
        (1, "Other", minute(1)),
    ]
    assert "error=Boom" in found[0].url


async def test_a_replay_by_filter_does_what_its_preview_said(board: Dashboard) -> None:
    for number in range(3):
        put_run(board.house, "stiff", minute(number), state=RunState.DEAD, error="Boom: it broke")
    before = len(await runs(board, state=RunState.DEAD))
    path = "/dead/replay?error=Boom&every_s=2"
    text = await board.page(path)
    assert "3 runs would be sent on the way again, over 4 s" in words_of(text)
    assert len(await runs(board, state=RunState.DEAD)) == before
    done = await board.after(await board.do("dead.replay", **form_fields(text, "/do/dead.replay")))
    assert "3 runs were sent on the way again" in words_of(done)
    assert len(await runs(board, state=RunState.DEAD)) == before - 3


async def test_a_replay_of_everything_says_so(board: Dashboard) -> None:
    text = await board.page("/dead/replay")
    assert "all that are dead" in words_of(text)
    assert form_fields(text, "/do/dead.replay")["everything"] == ["yes"]


async def test_chosen_dead_letters_are_shown_before_they_are_replayed(board: Dashboard) -> None:
    dead = [str(one.run_key) for one in await runs(board, state=RunState.DEAD)][:2]
    asked = await board.do("dead.replay", run_keys=dead, every_s="1")
    assert asked.status == 200
    assert all(key in asked.content.decode() for key in dead)
    done = await board.after(await board.do("dead.replay", run_keys=dead, every_s="1", confirmed="yes"))
    assert "2 runs were sent" in words_of(done)


async def test_a_gate_is_dropped_only_with_a_reason(board: Dashboard) -> None:
    fields = form_fields(await board.page("/gates"), "/do/gates.drop")
    refused = await board.after(await board.do("gates.drop", **fields))
    assert "Not done" in words_of(refused)
    done = await board.after(await board.do("gates.drop", **{**fields, "reason": ["too old"]}))
    assert "The gate of minutely is open" in words_of(done)
    assert "No gate is closed" in words_of(await board.page("/gates"))


async def test_many_gates_come_in_pages_and_few_questions(board: Dashboard) -> None:
    known = row_of(board.house.memory, GATES, NS, "minutely")
    for number in range(30):
        await board.house.put(f"gated-{number:02}", 60)
        put(board.house.memory, GATES, **{**known, "schedule_id": f"gated-{number:02}"})
    board.house.store.calls.clear()
    text = await board.page("/gates")
    assert len(board.house.store.calls) <= 3, board.house.store.calls
    assert "31 closed" in words_of(text)
    (following,) = [
        one.attributes["href"] for one in parsed(text).named("a") if "next" in one.attributes.values()
    ]
    assert "gated-10" in await board.page(following)


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/runs", 4),
        ("/dead", 5),
        ("/dead/replay", 3),
        ("/jobs", 4),
        ("/jobs/report", 4),
        ("/log", 4),
        ("/tokens", 5),
        ("/backfills", 3),
        ("/workers", 8),
        ("/leases", 10),
        (links.run("minutely#2026-03-01T12:02:00Z#1"), 22),
    ],
)
async def test_a_page_asks_few_questions(board: Dashboard, path: str, most: int) -> None:
    for number in range(60):
        put_run(board.house, "stiff", minute(number), state=RunState.DEAD, error="x")
    board.house.store.calls.clear()
    await board.page(path)
    assert len(board.house.store.calls) <= most, [name for name, _ in board.house.store.calls]


async def test_a_viewer_may_look_and_no_more() -> None:
    house = House()
    await house.put("x")
    key = put_run(house, "x", START, state=RunState.DEAD)
    text = await Dashboard(house, somebody(Role.VIEWER)).page("/dead")
    assert str(RunKey(key)) in text
    assert "/do/" not in text


async def test_a_replay_of_all_counts_more_than_it_reads(board: Dashboard) -> None:
    for number in range(230):
        put_run(board.house, "stiff", minute(number), state=RunState.DEAD, error="x")
    words = words_of(await board.page("/dead/replay"))
    total = len([one for one in runs_of(board.house.memory) if one.state is RunState.DEAD])
    assert f"{total} runs would be sent on the way again: all that are dead" in words
    assert "More than" not in words
    assert "More than 200 runs" in words_of(await board.page("/dead/replay?schedule=stiff"))
