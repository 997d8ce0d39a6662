"""Dead runs: listed, shown, and replayed by name, by choice, or all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import ValidationError

from fencepost.model.audit import Action, LogFilter
from fencepost.model.identifiers import Namespace
from fencepost.model.run import RunFilter, RunList, RunState
from fencepost.operations import dead
from fencepost.operations import jobs as job_operations
from fencepost.operations import runs as run_operations
from fencepost.operations.dead import (
    DeadChoice,
    ListDeadRequest,
    ReplayDeadRequest,
    list_dead,
    replay_dead,
    show_dead,
)
from fencepost.operations.runs import RunRequest
from tests.operations.asking import asked, refused, there_and_back
from tests.operations.dead_runs import burnt
from tests.services.house import NS, House
from tests.services.verbs_work import ANNA, at

KEYS = ["burn#a", "burn#b", "burn#c"]


async def test_dead_runs_are_listed_newest_first_a_page_at_a_time() -> None:
    control = await burnt(House(), "a", "b", "c")
    await job_operations.enqueue_run(control, "burn", {}, "waits")
    first = await asked(control, list_dead, ListDeadRequest(limit=2))
    assert [one.run_key for one in first.items] == ["burn#c", "burn#b"]
    second = await asked(control, list_dead, ListDeadRequest(limit=2, after=first.next))
    assert ([one.run_key for one in second.items], second.next) == (["burn#a"], None)


async def test_a_search_that_is_not_over_does_not_pass_for_one_that_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page may be empty and have a next one; a replay by choice goes on to the end."""
    house = House()
    control = await burnt(house, "a", "b", "c")
    whole = house.memory.ledger.list

    async def short_of_breath(namespace: Namespace, wanted: RunFilter) -> RunList:
        return await whole(namespace, replace(wanted, searched_max=1))

    monkeypatch.setattr(house.memory.ledger, "list", short_of_breath)
    first = await asked(control, list_dead, ListDeadRequest(text="#a"))
    assert (first.items, first.next is None) == ([], False)
    would = await asked(control, replay_dead, ReplayDeadRequest(choice=DeadChoice(text="#a"), dry_run=True))
    assert would.would_replay == ["burn#a"]


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        (ListDeadRequest(job="burn", error="fuel"), 3),
        (ListDeadRequest(error="rain"), 0),
        (ListDeadRequest(text="#b"), 1),
        (ListDeadRequest(queue="mail"), 0),
        (ListDeadRequest(since="2026-03-01T12:00:01Z"), 2),
        (ListDeadRequest(until="1500ms"), 2),
    ],
)
async def test_a_choice_is_what_fits_everything(choice: ListDeadRequest, found: int) -> None:
    control = await burnt(House(), "a", "b", "c")
    assert len((await asked(control, list_dead, choice)).items) == found


async def test_a_run_is_shown_with_its_attempts_only_where_it_is_dead() -> None:
    control = await burnt(House(), "a")
    shown = await asked(control, show_dead, RunRequest(run_key="burn#a"))
    assert (shown.state, shown.attempts[0].error) == ("dead", "PermanentFailure: no fuel")
    await job_operations.enqueue_run(control, "burn", {}, "waits")
    said = await refused(control, show_dead, RunRequest(run_key="burn#waits"))
    assert said == "run burn#waits: is ready, not dead; see: fencepost runs show"
    assert "not found" in await refused(control, show_dead, RunRequest(run_key="burn#z"))


@pytest.mark.parametrize(
    "which",
    [
        ReplayDeadRequest(run_keys=[*KEYS, "burn#a"], every_s=60),
        ReplayDeadRequest(choice=DeadChoice(job="burn"), every_s=60),
        ReplayDeadRequest(everything=True, every_s=60),
    ],
)
async def test_what_is_replayed_becomes_due_in_turn_and_is_written_down(which: ReplayDeadRequest) -> None:
    house = House()
    control = await burnt(house, "a", "b", "c")
    answer = await asked(control, replay_dead, which)
    assert (answer.replayed, answer.left, answer.would_replay, answer.duration_s) == (KEYS, [], [], 120)
    assert [(await house.run(one)).run_at for one in KEYS] == [at(3), at(63), at(123)]
    entries = await house.memory.audit_log.list(NS, LogFilter(action=Action.RUN_REPLAY))
    assert {(one.subject, one.author) for one in entries} == {(one, ANNA) for one in KEYS}


async def test_a_batch_of_a_larger_replay_begins_where_the_one_before_it_ended() -> None:
    house = House()
    control = await burnt(house, "a")
    await asked(control, replay_dead, ReplayDeadRequest(run_keys=["burn#a"], every_s=60, first_in_s=300))
    assert (await house.run("burn#a")).run_at == at(301)


async def test_a_dry_run_says_which_and_which_not_and_changes_nothing() -> None:
    house = House()
    control = await burnt(house, "a", "b")
    await job_operations.enqueue_run(control, "burn", {}, "waits")
    named = ReplayDeadRequest(run_keys=["burn#b", "burn#waits", "burn#z"], every_s=5, dry_run=True)
    answer = await asked(control, replay_dead, named)
    assert (answer.would_replay, answer.replayed, answer.duration_s) == (["burn#b"], [], 0)
    assert [(one.run_key, one.state, one.why) for one in answer.left] == [
        ("burn#waits", "ready", "is ready, not dead"),
        ("burn#z", None, "not found; see: fencepost runs list"),
    ]
    every = await asked(control, replay_dead, ReplayDeadRequest(everything=True, every_s=5, dry_run=True))
    assert (every.would_replay, every.duration_s) == (["burn#a", "burn#b"], 5)
    assert (await house.run("burn#a")).state is (await house.run("burn#b")).state is RunState.DEAD


async def test_a_run_that_is_not_dead_is_left_and_the_others_go_on() -> None:
    house = House()
    control = await burnt(house, "a", "b")
    for key in ("waits", "called-off"):
        await job_operations.enqueue_run(control, "burn", {}, key)
    await run_operations.cancel(control, "burn#called-off")
    await house.memory.ledger.forget(0, 1)
    keys = ["burn#a", "burn#waits", "burn#called-off", "burn#b"]
    answer = await asked(control, replay_dead, ReplayDeadRequest(run_keys=keys))
    assert answer.replayed == ["burn#b"]
    assert [(one.run_key, one.why) for one in answer.left] == [
        ("burn#a", "retention has removed its payload"),
        ("burn#waits", "is ready, not dead"),
        ("burn#called-off", "is cancelled, not dead"),
    ]


@pytest.mark.parametrize(
    "which",
    [
        ReplayDeadRequest(),
        ReplayDeadRequest(run_keys=["burn#a"], everything=True),
        ReplayDeadRequest(choice=DeadChoice(), everything=True),
    ],
)
async def test_what_is_meant_has_to_be_said_in_one_way(which: ReplayDeadRequest) -> None:
    control = await burnt(House(), "a")
    assert "one of them" in await refused(control, replay_dead, which)


async def test_more_than_can_be_replayed_at_a_time_is_refused_and_nothing_is_replayed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dead, "CHOSEN_MAX", 2)
    monkeypatch.setattr(dead, "LIMIT_MAX", 1)
    house = House()
    control = await burnt(house, "a", "b", "c")
    assert "choose fewer with since and until" in await refused(
        control, replay_dead, ReplayDeadRequest(everything=True)
    )
    assert await house.states() == [RunState.DEAD] * 3
    older = ReplayDeadRequest(choice=DeadChoice(until="1500ms"))
    assert (await asked(control, replay_dead, older)).replayed == ["burn#a", "burn#b"]


@pytest.mark.parametrize(
    "unfit",
    [
        ReplayDeadRequest(run_keys=["x#y"] * 1_001),
        ReplayDeadRequest(run_keys=[""]),
        ReplayDeadRequest(everything=True, every_s=-1),
        ReplayDeadRequest(everything=True, every_s=float("1e9")),
    ],
)
def test_what_is_out_of_bounds_does_not_arrive(unfit: ReplayDeadRequest) -> None:
    with pytest.raises(ValidationError):
        there_and_back(replay_dead, unfit)
