"""`fencepost import celery-beat module:app`, and tasks as jobs of a `fencepost.toml`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost import Cron, Every, Fencepost
from fencepost.errors import InvalidSpec
from fencepost.manifest import load
from fencepost.model.identifiers import JobName, Queue, ScheduleId
from tests.cli.calls import call, called_json, refused

PROJECT = """
from datetime import datetime, timedelta
from celery import Celery
from celery.schedules import crontab, schedule

app = Celery("imported", broker="memory://", backend="redis://localhost")
app.conf.timezone = "Europe/Berlin"
app.conf.beat_schedule = {
    "nightly": {
        "task": "shop.report",
        "schedule": crontab(minute=30, hour=2, day_of_week="mon-fri", day_of_month="1-7"),
        "kwargs": {"region": "eu"},
        "options": {"queue": "reports", "expires": 60, "priority": 3, "time_limit": 9},
    },
    "often": {"task": "shop.report", "schedule": 0.5},
    "midnight": {"task": "shop.tidy", "schedule": schedule(timedelta(days=1), relative=True)},
    "by place": {"task": "shop.add", "schedule": 60, "args": (2, 2)},
    "dated": {"task": "shop.add", "schedule": 60, "kwargs": {"at": datetime(2026, 1, 1)}},
    "never": {"task": "shop.add", "schedule": 0},
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "imported_project.py").write_text(PROJECT)
    yield tmp_path
    sys.modules.pop("imported_project", None)


def module_of(text: str) -> Fencepost:
    names: dict[str, Any] = {}
    exec(text, names)
    app = names["app"]
    assert isinstance(app, Fencepost)
    return app


def test_a_beat_schedule_becomes_a_module_that_sends_the_tasks() -> None:
    found = called_json("import", "celery-beat", "imported_project:app")
    app = module_of(found["text"])
    assert found["schedules"] == ["nightly", "often", "midnight"]
    assert list(app.jobs) == ["shop.report", "shop.report-2", "shop.tidy", "shop.add"]
    nightly, often = (app.code_schedules[ScheduleId(name)] for name in ("nightly", "often"))
    assert nightly.trigger == Cron("30 2 1-7 * +MON-FRI", tz="Europe/Berlin").to_json()
    assert (nightly.payload, nightly.job) == ({"region": "eu"}, "shop.report")
    assert (often.trigger, often.job) == (Every("500ms").to_json(), "shop.report-2")
    assert 'app.celery_task("shop.report", celery="imported_project:app", queue="reports")' in found["text"]


def test_what_is_doubtful_is_said() -> None:
    said = {
        (one["weight"], one["where"], one["text"].partition(";")[0])
        for one in called_json("import", "celery-beat", "imported_project:app")["remarks"]
    }
    assert {
        ("left_out", 'task "dated"', "has arguments that are no JSON"),
        ("left_out", 'task "never"', "an interval of 0 s: expected more than nothing"),
        ("left_out", 'task "by place"', "has arguments without names ([2, 2])"),
        ("look", 'task "nightly"', "priority 3: not carried over"),
        ("look", 'task "nightly"', "time_limit: not carried over"),
        ("look", 'task "often"', "counts from 1970 in UTC, not from when beat was started"),
        ("look", 'task "midnight"', "counts from 1970 in UTC, not from midnight: say anchor and tz"),
    } <= said


def test_strict_is_1_where_something_is_left_out() -> None:
    assert call("import", "celery-beat", "imported_project:app", "--strict").exit_code == 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("no_such_project:app", 'celery "no_such_project:app": no module no_such_project, looked for in'),
        ("imported_project:none", 'celery "imported_project:none": imported_project has no none'),
        ("imported_project:PROJECT", "has no PROJECT"),
        ("json:dumps", "expected a Celery application"),
        ("broken:app", 'celery "broken:app": ZeroDivisionError: division by zero'),
    ],
)
def test_a_mistake_is_one_line(source: str, words: str, folder: Path) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    assert words in refused("import", "celery-beat", source)


def test_a_task_is_a_job_of_a_file(folder: Path) -> None:
    (folder / "fencepost.toml").write_text(
        '[jobs.report]\nqueue = "celery"\ntimeout = "1h"\n'
        'celery = { task = "shop.report", app = "imported_project:app", queue = "reports", track = true }\n'
    )
    spec = load(folder / "fencepost.toml", {}).jobs[JobName("report")].spec
    assert (spec.queue, spec.open_payload) == (Queue("celery"), True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('celery = { task = "t" }', "[jobs.report.celery] app is missing; write: celery = { task ="),
        ('celery = { app = "imported_project:app" }', "[jobs.report.celery] task is missing"),
        (
            'celery = { task = "t", application = "x" }',
            "application is unknown; expected one of task, app, queue",
        ),
        (
            'celery = { task = "t", app = "nowhere_at:app" }',
            '[jobs.report.celery]: celery "nowhere_at:app": no',
        ),
        (
            'celery = { task = "t", app = "imported_project:app" }\ncommand = ["true"]',
            "command stands beside celery; a job does one thing",
        ),
        (
            'celery = { task = "t", app = "imported_project:app" }\nprogress_deadline = "1m"',
            "progress_deadline is not for Celery tasks; give it a timeout",
        ),
        (
            'celery = { task = "t", app = "imported_project:app", options = { task_id = "1" } }',
            "options: task_id is not yours to set; leave it out",
        ),
    ],
)
def test_a_mistake_in_a_file_names_its_place(words: str, said: str, folder: Path) -> None:
    (folder / "fencepost.toml").write_text(f"[jobs.report]\n{words}\n")
    with pytest.raises(InvalidSpec) as refusal:
        load(folder / "fencepost.toml", {})
    assert said in str(refusal.value)
