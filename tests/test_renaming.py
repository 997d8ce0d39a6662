"""An application whose job got another name goes on where it was, in a process of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fencepost import Every, Fencepost, Run
from fencepost.errors import InvalidSpec
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.notification import DELIVERY
from fencepost.model.run import RunFilter, RunState
from fencepost.operations import runs as run_operations
from fencepost.operations.reconciling import CompareKeysRequest, judge_keys


async def until_ran(app: Fencepost, wanted: int) -> None:
    control = await app.control()
    async with asyncio.timeout(30):
        while True:
            found = await run_operations.find_runs(
                control, RunFilter(job=JobName("new"), state=RunState.SUCCEEDED)
            )
            if len(found) >= wanted:
                return
            await asyncio.sleep(0.05)


async def test_what_was_enqueued_and_scheduled_under_the_old_name_is_done_by_the_new_code(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    before = Fencepost(url)

    @before.job(schedule=Every("1h"))
    async def old(run: Run) -> None: ...

    async with before, before.running(works=False):
        key = await before.enqueue("old", key="k")

    after, done = Fencepost(url), list[str]()

    @after.job(renamed_from="old", schedule=Every("1h"))
    async def new(run: Run) -> None:
        done.append(run.key)

    async with after, after.running():
        again = await after.enqueue("new", key="k")
        assert again == key
        assert new.handle("k").key == key
        tick = await after.schedules.trigger("new")
        await until_ran(after, 2)
        judged = await judge_keys.carry_out(
            await after.control(), CompareKeysRequest(run_keys=[key], job="new")
        )
        store = await after.open()
        kept = await store.schedules.get(after.settings.namespace, ScheduleId("old"))
        (node,) = await store.nodes.live()
    assert sorted(done) == sorted([key, tick])
    assert [one.verdict for one in judged.items] == ["succeeded"]
    assert kept is not None
    assert (kept.spec.job, kept.version) == ("new", 2)
    assert node.report.jobs == (DELIVERY, "new", "old")


def test_a_job_cannot_have_been_renamed_from_itself() -> None:
    app = Fencepost("sqlite:///none.db")
    with pytest.raises(InvalidSpec, match="renamed_from names the job itself"):
        app.job("same", renamed_from="same")(lambda: None)


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ({"old": (), "new": "old"}, "job new: renamed_from old: job old is still defined"),
        ({"new": "old", "old": ()}, "job new: renamed_from old: job old is still defined"),
        ({"new": ["a", "old"], "newer": "old"}, "job newer: renamed_from old: so is job new"),
    ],
)
def test_an_old_name_belongs_to_one_job(jobs: dict[str, Any], said: str) -> None:
    app = Fencepost("sqlite:///none.db")
    *others, (last, last_before) = jobs.items()
    for name, before in others:
        app.job(name, renamed_from=before)(lambda: None)
    with pytest.raises(InvalidSpec, match=said):
        app.job(last, renamed_from=last_before)(lambda: None)


def test_a_function_is_no_old_name() -> None:
    app = Fencepost("sqlite:///none.db")
    with pytest.raises(InvalidSpec, match=r"renamed_from .*: expected a name, or a list of names"):
        app.job("new", renamed_from=print)(lambda: None)  # type: ignore[arg-type]


def test_an_unknown_word_for_absence_is_refused() -> None:
    app = Fencepost("sqlite:///none.db")
    with pytest.raises(InvalidSpec, match=r"absent .drop.: expected keep or pause or remove"):
        app.job("one", schedule=Every("1h"), absent="drop")(lambda: None)  # type: ignore[arg-type]
