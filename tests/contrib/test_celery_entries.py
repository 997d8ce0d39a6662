"""Entries of a beat as jobs and schedules, and what a mistake in one says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery, beat
from celery.beat import BeatLazyFunc
from celery.schedules import crontab

from fencepost import CatchUp, Every
from fencepost.app import Fencepost
from fencepost.config import Settings
from fencepost.contrib.celery.beat import Scheduler, application_of, settings_of
from fencepost.contrib.celery.entries import name_of
from fencepost.errors import InvalidPayload, InvalidSpec
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.json import JsonObject
from fencepost.model.policies import parse_overlap
from fencepost.model.schedule import ScheduleSpec

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def project(**conf: Any) -> Celery:
    app = Celery("project", broker="memory://", set_as_current=False)
    app.conf.update(conf)
    return app


def application(celery: Celery) -> Fencepost:
    """As a beat makes it."""
    entries = beat.Scheduler(celery, lazy=True)
    entries.merge_inplace(celery.conf.beat_schedule)
    return application_of(celery, entries.schedule, Settings())


def spec_of(**entry: Any) -> ScheduleSpec:
    said = {"task": "project.report", "schedule": 60, **entry}
    (spec,) = application(project(beat_schedule={"report": said})).code_schedules.values()
    return spec


def refusal_of(**entry: Any) -> str:
    with pytest.raises(InvalidSpec) as refused:
        spec_of(**entry)
    return str(refused.value)


def test_an_entry_is_a_schedule_and_a_job_of_its_name() -> None:
    app = application(project(beat_schedule={"report": {"task": "project.report", "schedule": 60}}))
    (spec,) = app.code_schedules.values()
    assert (list(app.jobs), list(app.code_schedules)) == (["beat/report"], ["beat/report"])
    assert spec.trigger == Every("1m").to_json()
    assert (spec.job, spec.queue, spec.labels) == ("beat/report", "beat", {"source": "celery-beat"})


def test_periodic_tasks_of_code_are_entries() -> None:
    celery = project()

    @celery.on_after_finalize.connect  # type: ignore[untyped-decorator]
    def add(sender: Celery, **_: Any) -> None:
        sender.add_periodic_task(10.0, sender.signature("project.add", (2, 2)))

    celery.finalize()
    app = application(celery)
    assert list(app.code_schedules) == ["beat/project.add-2-2"]
    assert app.code_schedules[ScheduleId("beat/project.add-2-2")].payload == {"args": [2, 2]}


def test_the_entry_that_cleans_up_results_is_kept() -> None:
    assert list(Scheduler(project(result_backend="db+sqlite://")).schedule) == ["celery.backend_cleanup"]


@pytest.mark.parametrize(
    ("name", "schedule_id"),
    [
        ("nightly", "beat/nightly"),
        ("every 30 seconds", "beat/every-30-seconds"),
        ("proj.tasks.add(2, 2)", "beat/proj.tasks.add-2-2"),
        ("täglich!", "beat/t-glich"),
        ("…", "beat/entry"),
    ],
)
def test_ids_can_be_read(name: str, schedule_id: str) -> None:
    assert name_of(name) == schedule_id


def test_two_entries_of_one_id_are_refused() -> None:
    said = {"task": "project.report", "schedule": 60}
    with pytest.raises(InvalidSpec, match="its schedule would be beat/a-b, as that of another entry"):
        application(project(beat_schedule={"a b": said, "a-b": said}))


def test_unless_said_every_tick_is_sent_and_the_latest_of_those_that_are_late() -> None:
    spec = spec_of()
    assert (spec.overlap, spec.catch_up) == (parse_overlap("allow"), CatchUp("latest", "1h"))


def test_an_entry_may_say_its_policies() -> None:
    said = {"overlap": "skip", "catch_up": "sequential", "max_lateness": "2h"}
    spec = spec_of(options={"queue": "reports", "fencepost": said})
    assert (spec.overlap, spec.catch_up) == (parse_overlap("skip"), CatchUp("sequential", "2h"))


def test_the_deadline_of_crontabs_is_that_of_celery() -> None:
    conf = {"beat_cron_starting_deadline": 300}
    entries = {
        "cron": {"task": "project.report", "schedule": crontab(minute=0)},
        "each": {"task": "project.report", "schedule": 60},
    }
    app = application(project(beat_schedule=entries, **conf))
    late = [one.catch_up.max_lateness for one in app.code_schedules.values()]
    assert late == [timedelta(minutes=5), timedelta(hours=1)]


@pytest.mark.parametrize(
    ("schedule", "retried_for"), [(1, "2m"), (600, "10m"), (crontab(minute=0, hour=3), "1h")]
)
def test_a_send_is_tried_again_until_the_next_tick_within_bounds(schedule: Any, retried_for: str) -> None:
    said = {"task": "project.report", "schedule": schedule}
    app = application(project(beat_schedule={"report": said}))
    deadline = app.jobs[JobName("beat/report")].spec.retry.deadline
    assert deadline == Every(retried_for).interval


def test_arguments_are_in_the_payload_as_far_as_they_are_json() -> None:
    assert spec_of(args=(1, (2, "x")), kwargs={"deep": {"list": [None, True, 0.5]}}).payload == {
        "args": [1, [2, "x"]],
        "kwargs": {"deep": {"list": [None, True, 0.5]}},
    }
    assert spec_of(args=(NOON,), kwargs={"region": "eu"}).payload == {"kwargs": {"region": "eu"}}
    assert spec_of(kwargs={"when": BeatLazyFunc(lambda: NOON)}).payload == {}
    assert spec_of().payload == {}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"schedule": 0}, 'beat entry "report": an interval of 0 s: expected more than nothing'),
        ({"task": ""}, 'beat entry "report": task "": expected the name of a task'),
        ({"options": {"fencepost": "skip"}}, 'options["fencepost"] "skip": expected a dictionary'),
        (
            {"options": {"fencepost": {"overlaps": 1}}},
            '"overlaps" is unknown; known: overlap, catch_up, max_',
        ),
        ({"options": {"fencepost": {"overlap": "no"}}}, 'beat entry "report": overlap "no": expected one of'),
        (
            {"options": {"fencepost": {"max_lateness": "soon"}}},
            'duration "soon": expected a length',
        ),
    ],
)
def test_a_mistake_names_its_entry_and_the_mend(entry: dict[str, Any], words: str) -> None:
    assert words in refusal_of(**entry)


def test_a_payload_of_an_operator_is_looked_at() -> None:
    app = application(project(beat_schedule={"report": {"task": "project.report", "schedule": 60}}))
    (job,) = app.jobs.values()
    job.executor.check({"args": [1], "kwargs": {"a": 1}})
    unfit: list[JsonObject] = [{"region": "eu"}, {"args": 1}, {"kwargs": []}]
    for payload in unfit:
        with pytest.raises(InvalidPayload, match="payload: expected"):
            job.executor.check(payload)


def test_the_ledger_is_where_celery_or_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_STORE", "sqlite:///env.db")
    monkeypatch.setenv("FENCEPOST_NAMESPACE", "env")
    monkeypatch.setenv("FENCEPOST_QUEUES", "mail")
    by_environment = settings_of(project())
    assert (by_environment.store, by_environment.namespace) == ("sqlite:///env.db", "env")
    assert (by_environment.queues, by_environment.prefetch) == (("beat",), 0)
    said = settings_of(project(beat_fencepost_store="sqlite:///said.db", beat_fencepost_namespace="said"))
    assert (said.store, said.namespace) == ("sqlite:///said.db", "said")


def test_a_project_on_django_says_it_in_capitals() -> None:
    celery = Celery("project", set_as_current=False)
    celery.config_from_object({"CELERY_BEAT_FENCEPOST_STORE": "sqlite:///said.db"}, namespace="CELERY")
    assert settings_of(celery).store == "sqlite:///said.db"


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ({"beat_fencepost_store": "mysql://u:secret@host/db"}, 'store "mysql://…": expected sqlite'),
        ({"beat_fencepost_namespace": "a b"}, "namespace 'a b': expected"),
        ({"beat_schedule": {"x": {"task": "t", "schedule": -1}}}, 'fencepost: beat entry "x": an interval'),
    ],
)
def test_a_mistake_ends_the_beat_with_one_line(
    conf: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        Scheduler(project(**conf))
    (line,) = capsys.readouterr().err.splitlines()
    assert (ended.value.code, words in line, "secret" in line) == (2, True, False), line
