"""Jobs that run after others, as an application says them: what they are handed, and what is refused."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fencepost import Fencepost, PermanentFailure, Retry, Run
from fencepost.errors import InvalidSpec
from fencepost.manifest.file import load_file
from fencepost.model.chain import occasion_of, root_of, successor_key
from fencepost.model.codec import job_from_text, job_to_text
from fencepost.model.identifiers import JobName, RunKey
from fencepost.model.job import AfterOn
from fencepost.model.run import Predecessor, RunState
from fencepost.services.explainer import Explainer

SUCCEEDED, DEAD = RunState.SUCCEEDED, RunState.DEAD
NONE_ENDED = 20.0


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Fencepost]:
    app = Fencepost(f"sqlite:///{tmp_path}/app.db", poll_s=0.2)
    async with app:
        yield app


def told() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


async def test_a_successor_is_not_without_the_key_and_the_result_of_what_it_follows(app: Fencepost) -> None:
    came = told()

    @app.job()
    async def extract(run: Run) -> dict[str, int]:
        return {"rows": 7}

    @app.job(after=extract)
    async def load(run: Run) -> str:
        return f"loaded {run.after[0].result}"

    @app.job(after=[load])
    async def mail(run: Run) -> None:
        came.set_result((run.key, run.after))

    async with app.running(plans=False):
        await app.enqueue(extract, key="monday")
        key, after = await asyncio.wait_for(came, NONE_ENDED)
    assert key == "mail#after#extract#monday"
    followed = RunKey("load#after#extract#monday")
    assert after == (Predecessor(followed, JobName("load"), SUCCEEDED, 'loaded {"rows":7}'),)


async def test_a_failure_does_not_hide_its_error_from_what_follows_it(app: Fencepost) -> None:
    came = told()

    @app.job(retry=Retry(max_attempts=1))
    def extract() -> None:
        raise PermanentFailure("no disk")

    @app.job(after=extract)
    async def load() -> None:
        came.set_result("load")

    @app.job(after="extract", after_on="failure")
    async def alarm(run: Run) -> None:
        came.set_result(run.after[0])

    async with app.running(plans=False):
        await app.enqueue(extract, key="monday")
        found = await asyncio.wait_for(came, NONE_ENDED)
    assert (found.job, found.state, found.result) == ("extract", DEAD, None)
    assert "no disk" in found.error


async def test_a_run_by_hand_of_a_job_that_follows_others_followed_none(app: Fencepost) -> None:
    came = told()

    @app.job()
    def extract() -> None: ...

    @app.job(after=extract)
    async def load(run: Run) -> None:
        came.set_result(run.after)

    async with app.running(plans=False):
        await app.enqueue(load)
        assert await asyncio.wait_for(came, NONE_ENDED) == ()


async def test_a_command_is_not_without_what_it_follows(app: Fencepost, tmp_path: Path) -> None:
    came, left = told(), tmp_path / "left"

    @app.job()
    def extract() -> str:
        return "7 rows"

    script = f"import os; open({str(left)!r}, 'w').write(os.environ['FENCEPOST_AFTER'])"
    app.add_command("load", [sys.executable, "-c", script], after=extract)

    @app.job(after="load")
    async def over() -> None:
        came.set_result(None)

    async with app.running(plans=False):
        await app.enqueue(extract, key="1")
        await asyncio.wait_for(came, NONE_ENDED)
    (followed,) = json.loads(left.read_text())
    assert (followed["key"], followed["state"], followed["result"]) == ("extract#1", "succeeded", "7 rows")


async def test_the_story_of_a_run_does_not_leave_out_its_chain(app: Fencepost) -> None:
    came = told()

    @app.job()
    def extract() -> None: ...

    @app.job()
    def check() -> None: ...

    @app.job(after=extract)
    async def load() -> None:
        came.set_result(None)

    @app.job(after=[extract, check])
    def mail() -> None: ...

    async with app.running(plans=False):
        await app.enqueue(extract, key="1")
        await asyncio.wait_for(came, NONE_ENDED)
    explanations = Explainer(await app.open(), app.settings.namespace)
    first = await explanations.why_run("extract#1")
    assert any(one.startswith("load#after#extract#1 was enqueued after it") for one in first.sentences)
    assert any(one.startswith("mail#join#1 is not enqueued") for one in first.sentences)
    second = await explanations.why_run("load#after#extract#1")
    assert "It follows extract#1, which succeeded." in second.sentences


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (
            {"after": "extrct"},
            "job load: after extrct: not defined .*; did you mean extract?",
        ),
        ({"after": "load"}, "job load: after: load -> load is a cycle"),
        ({"after": ["extract", "mail"]}, "is a cycle"),
        ({"after": 7}, "job: after 7: expected a job, its name, or a list of those"),
        ({"after": "extract", "after_on": "sucess"}, "expected success or failure or any"),
        ({"after_on": "any"}, "add after="),
        ({"after": [f"job-{number}" for number in range(21)]}, "after lists 21 jobs; at most 20"),
    ],
)
async def test_what_cannot_be_followed_is_refused(
    app: Fencepost, words: Mapping[str, Any], refusal: str
) -> None:
    @app.job()
    def extract() -> None: ...

    def define() -> None:
        app.job("mail", after="load")(lambda: None)
        app.job("load", **words)(lambda: None)
        app.specs()

    with pytest.raises(InvalidSpec, match=refusal.replace("?", r"\?")):
        define()


async def test_a_job_that_requires_a_payload_cannot_follow(app: Fencepost) -> None:
    with pytest.raises(InvalidSpec, match=r"it requires day; give defaults, and read run\.after"):
        app.job("load", after="extract")(lambda day: None)


def write(folder: Path, text: str) -> Path:
    file = folder / "fencepost.toml"
    file.write_text(text, "utf-8")
    return file


MANIFEST = """
[jobs.extract]
command = ["true"]

[jobs.load]
command = ["true"]
after = ["extract"]
after_on = "any"
"""


def test_a_file_says_what_follows_what(tmp_path: Path) -> None:
    spec = load_file(write(tmp_path, MANIFEST)).specs()["load"]
    assert (spec.after, spec.after_on) == (("extract",), AfterOn.ANY)
    assert job_from_text(job_to_text(spec)) == spec


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        ('["extract"]', '["extrct"]', "job load: after extrct: .* did you mean extract"),
        ('["extract"]', '["load"]', "is a cycle"),
        ('["extract"]', "7", r"\[jobs.load\] after = 7: expected the names of jobs"),
        ('"any"', '"often"', r"\[jobs.load\].* expected success or failure or any"),
    ],
)
def test_a_file_that_says_it_wrong_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, refusal: str
) -> None:
    file = write(tmp_path, MANIFEST.replace(old, new))
    with pytest.raises(InvalidSpec, match=refusal):
        load_file(file)


@pytest.mark.parametrize(
    ("key", "is_tick", "root", "occasion"),
    [
        ("extract#2026-03-01T00:00:00Z#3", True, "extract#2026-03-01T00:00:00Z#3", "2026-03-01T00:00:00Z"),
        ("extract#monday", False, "extract#monday", "monday"),
        ("load#after#extract#monday", False, "extract#monday", "monday"),
        ("mail#join#monday", False, "mail#join#monday", "monday"),
        ("file#after#mail#join#monday", False, "mail#join#monday", "monday"),
        ("extract#after", False, "extract#after", "after"),
    ],
)
def test_all_of_a_chain_has_the_root_of_its_head(key: str, is_tick: bool, root: str, occasion: str) -> None:
    assert root_of(key, is_tick=is_tick) == root
    assert occasion_of(root) == occasion


def test_a_long_root_does_not_outgrow_the_index_of_a_database() -> None:
    root = "extract#" + "ü" * 500
    key = successor_key(JobName("load"), root, joins=False)
    assert len(key) < 100
    assert root_of(key, is_tick=False) == key.removeprefix("load#after#")
    assert key != successor_key(JobName("load"), f"{root}!", joins=False)
