"""`fencepost.toml`: what it may say, and how a mistake in it is answered."""

from datetime import timedelta
from pathlib import Path

import pytest

from fencepost.app import Fencepost
from fencepost.config import DEFAULT_STORE
from fencepost.errors import UsageError
from fencepost.manifest import load
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.policies import CatchUpMode, GateTerms, Overlap
from fencepost.model.schedule import ScheduleSpec

FULL = """
store = "sqlite:///here.db"
namespace = "shop"

[settings]
concurrency = 7
poll_s = "2s"
horizon_s = 90
queues = ["default", "slow"]

[jobs.backup]
command = ["/usr/local/bin/backup", "--all"]
timeout = "1h"
queue = "slow"
priority = 3
retry = { max_attempts = 2, base = "1s", cap = 60 }
delivery = "at_most_once"
environment = { HOME = "/srv" }

[schedules.nightly]
job = "backup"
cron = "30 2 * * *"
tz = "Europe/Berlin"
dst = { gap = "skip", fold = "both" }
overlap = "allow"
catch_up = { mode = "latest", max_lateness = "6h" }
payload = { target = "s3", parts = [1, 2] }
queue = "slow"
priority = 1
labels = { team = "ops" }
"""
SPLIT = '["backup", "--to", "my disk"]'
JOB = '[jobs.backup]\ncommand = ["true"]\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "fencepost.toml"
    path.write_text(text, "utf-8")
    return path


def loaded(folder: Path, text: str, environment: dict[str, str] | None = None) -> Fencepost:
    return load(written(folder, text), environment or {})


def schedule(folder: Path, lines: str) -> ScheduleSpec:
    app = loaded(folder, f'{JOB}[schedules.one]\njob = "backup"\n{lines}\n')
    return app.code_schedules[ScheduleId("one")]


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        loaded(folder, text)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{folder / 'fencepost.toml'}: ")
    return line.removeprefix(f"{folder / 'fencepost.toml'}: ")


def test_a_full_file_is_read(tmp_path: Path) -> None:
    app = loaded(tmp_path, FULL)
    settings, job = app.settings, app.jobs[JobName("backup")].spec
    assert (settings.store, settings.namespace) == ("sqlite:///here.db", "shop")
    assert (settings.concurrency, settings.poll_s, settings.horizon_s) == (7, 2.0, 90.0)
    assert settings.queues == ("default", "slow")
    assert (job.timeout, job.queue, job.priority) == (timedelta(hours=1), "slow", 3)
    assert (job.retry.max_attempts, job.retry.cap) == (2, timedelta(minutes=1))
    assert job.at_most_once
    assert job.open_payload
    spec = app.code_schedules[ScheduleId("nightly")]
    assert spec.trigger["tz"] == "Europe/Berlin"
    assert (spec.trigger["gap"], spec.trigger["fold"]) == ("skip", "both")
    assert spec.overlap == Overlap.ALLOW
    assert (spec.catch_up.mode, spec.catch_up.max_lateness) == (CatchUpMode.LATEST, timedelta(hours=6))
    assert spec.payload == {"target": "s3", "parts": [1, 2]}
    assert (spec.queue, spec.priority, spec.labels) == ("slow", 1, {"team": "ops"})


def test_an_empty_file_is_an_application_without_jobs(tmp_path: Path) -> None:
    app = loaded(tmp_path, "")
    assert (app.jobs, app.code_schedules, app.settings.store) == ({}, {}, DEFAULT_STORE)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    environment = {"FENCEPOST_STORE": "sqlite:///there.db", "FENCEPOST_CONCURRENCY": "9"}
    settings = loaded(tmp_path, FULL, environment).settings
    assert (settings.store, settings.concurrency, settings.namespace) == ("sqlite:///there.db", 9, "shop")


@pytest.mark.parametrize(
    ("lines", "trigger"),
    [
        ('every = "15m"', {"interval": "15m"}),
        ("every = 90", {"interval": "1m30s"}),
        ('every = "1h"\nanchor = "2026-01-01T00:10:00Z"', {"anchor": "2026-01-01T00:10:00Z"}),
        ("every = '1h'\nanchor = 2026-01-01T00:10:00Z", {"anchor": "2026-01-01T00:10:00Z"}),
        ('at = "2026-12-24T18:00:00Z"', {"times": ["2026-12-24T18:00:00Z"]}),
        ('at = ["2026-12-24T18:00:00"]\ntz = "Europe/Berlin"', {"times": ["2026-12-24T17:00:00Z"]}),
        ("at = 2026-12-24T18:00:00", {"times": ["2026-12-24T18:00:00Z"]}),
        ('cron = "@daily"', {"expression": "@daily", "tz": "UTC"}),
    ],
)
def test_each_trigger_has_its_form(lines: str, trigger: dict[str, object], tmp_path: Path) -> None:
    found = schedule(tmp_path, lines).trigger
    assert found == {**found, **trigger}


def test_policies_have_numbers_and_a_gate_has_terms(tmp_path: Path) -> None:
    gate = "gate = { waiting_max = 500, failed_share = 0.3, of_last = 20 }"
    policies = f'catch_up = {{ mode = "parallel(4)", max_lateness = "2d", {gate} }}'
    spec = schedule(tmp_path, f'every = "1h"\noverlap = "buffer_all(20)"\n{policies}')
    assert str(spec.overlap) == "buffer_all(20)"
    assert (spec.catch_up.words, spec.catch_up.max_lateness) == ("parallel(4)", timedelta(days=2))
    assert spec.catch_up.gate == GateTerms(500, 0.3, 20)


def test_what_is_left_out_of_a_gate_is_as_usual(tmp_path: Path) -> None:
    catch_up = 'catch_up = { mode = "sequential", gate = { of_last = 5 } }'
    assert schedule(tmp_path, f'every = "1h"\n{catch_up}').catch_up.gate == GateTerms(of_last=5)


def test_max_runs_counts_from_the_start(tmp_path: Path) -> None:
    found = schedule(tmp_path, 'cron = "@daily"\nstart = "2026-01-01"\nmax_runs = 3').trigger
    assert (found["kind"], found["count"]) == ("limit", 3)


def test_catch_up_may_be_a_mode_alone(tmp_path: Path) -> None:
    assert schedule(tmp_path, 'every = "1h"\ncatch_up = "latest"').catch_up.mode is CatchUpMode.LATEST


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("store = ", "not TOML: "),
        ("store = 5", "store = 5: expected a text"),
        ("stroe = 'x'", "stroe is unknown; did you mean store?"),
        ("namespace = 'two words'", "namespace: namespace 'two words'"),
        ("[settings]\nconcurency = 5", "[settings] unknown setting 'concurency'; did you mean concurrency?"),
        ("[settings]\nconcurrency = 2.5", "[settings] concurrency = 2.5: expected a whole number"),
        ("[settings]\nconcurrency = true", "[settings] concurrency = True: expected a whole number"),
        ("[settings]\npoll_s = nan", "[settings] poll_s = nan: duration nan"),
        ("[settings]\npoll_s = 'soon'", "[settings] poll_s = 'soon': duration"),
        ("[settings]\nhorizon_s = 5", "[settings] horizon_s 5 must exceed"),
        ("[settings]\nstore = 'x'", "[settings] store stands at the top of the file"),
        ("settings = 5", "settings = 5: expected a table"),
        ("[jobs]\nbackup = 5", "[jobs] backup = 5: expected a table"),
        ("[jobs.backup]", "[jobs.backup] command is missing"),
        ("[jobs.backup]\ncommand = []", "[jobs.backup] command = []: expected a list of texts"),
        ("[jobs.backup]\ncommand = ['a', 5]", "[jobs.backup] command = ['a', 5]: expected a list of texts"),
        ("[jobs.backup]\ncommand = ['']", "[jobs.backup]: command names no program"),
        (
            "[jobs.backup]\ncommand = \"backup --to 'my disk'\"",
            f"[jobs.backup] command is a text, and no shell reads it; write: command = {SPLIT}",
        ),
        (f"{JOB}timout = '1h'", "[jobs.backup] timout is unknown; did you mean timeout?"),
        (f"{JOB}timeout = 'long'", '[jobs.backup] timeout: duration "long": expected'),
        (f"{JOB}timeout = true", "[jobs.backup] timeout: duration True: expected"),
        (f"{JOB}queue = 'a b'", "[jobs.backup] queue: queue 'a b'"),
        (f"{JOB}priority = 9", "[jobs.backup] priority = 9: expected 1 (first) to 4 (last)"),
        (f"{JOB}priority = '1'", '[jobs.backup] priority = "1": expected a whole number'),
        (f'{JOB}delivery = "twice"', '[jobs.backup] delivery: job: delivery "twice": expected'),
        (f"{JOB}retry = 5", "[jobs.backup] retry = 5: expected a table"),
        (f"{JOB}retry = {{ attempts = 5 }}", "[jobs.backup.retry] attempts is unknown; did you mean max_att"),
        (f"{JOB}retry = {{ max_attempts = 0 }}", "[jobs.backup] retry: retry: max_attempts 0"),
        (f"{JOB}environment = {{ A = 5 }}", "[jobs.backup.environment] A = 5: expected a text"),
        (f"{JOB}environment = {{ 'A=B' = 'x' }}", "[jobs.backup]: environment cannot hold the name"),
        ("[jobs.'a b']\ncommand = ['true']", "[jobs.a b]: job 'a b': expected"),
    ],
)
def test_a_mistake_in_settings_or_jobs_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, text).startswith(said)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('every = "1h"', "[schedules.one] job is missing; expected one of backup"),
        ('job = "bakup"\nevery = "1h"', 'job = "bakup": no such job in this file; did you mean backup?'),
        ('job = "backup"', "[schedules.one]: give exactly one of cron, every, at, rrule and business_day"),
        ('job = "backup"\nevery = "1h"\ncron = "@daily"', "business_day, not cron and every"),
        ('job = "backup"\ncron = "61 * * * *"', '[schedules.one] cron: cron "61 * * * *": minute 61'),
        ('job = "backup"\ncron = 5', "[schedules.one] cron = 5: expected a text"),
        ('job = "backup"\ncron = "@daily"\ntz = "Europe/Berln"', "[schedules.one] tz: time zone"),
        ('job = "backup"\ncron = "@daily"\ndst = { gap = "jump" }', "[schedules.one.dst] gap: "),
        ('job = "backup"\ncron = "@daily"\ndst = { gpa = "skip" }', "gpa is unknown; did you mean gap?"),
        (
            'job = "backup"\nevery = "1h"\ntz = "UTC"',
            "[schedules.one] tz: has no meaning with an exact interval",
        ),
        ('job = "backup"\nevery = "1h"\ndst = { fold = "both" }', "dst: has no meaning with an exact"),
        (
            'job = "backup"\ncron = "@daily"\nanchor = "2026-01-01"',
            "anchor: has no meaning with cron; it belongs to every or rrule",
        ),
        ('job = "backup"\nevery = "5 parsecs"', '[schedules.one] every: every "5 parsecs": expected a step'),
        ('job = "backup"\nevery = "1ms"', "[schedules.one] every: every 1ms: expected at least 100ms"),
        ('job = "backup"\nat = 2026-12-24', "expected one time or a list"),
        ('job = "backup"\nat = []', "[schedules.one] at = []: expected one time or a list"),
        ('job = "backup"\nat = "soon"', '[schedules.one] at: time "soon"'),
        ('job = "backup"\nevery = "1h"\noverlap = "maybe"', '[schedules.one] overlap: overlap "maybe"'),
        ('job = "backup"\nevery = "1h"\ncatch_up = "all"', '[schedules.one] catch_up: catch_up "all"'),
        ('job = "backup"\nevery = "1h"\ncatch_up = 5', "[schedules.one] catch_up = 5: expected a table"),
        (
            'job = "backup"\nevery = "1h"\ncatch_up = { mode = "latest", gate = { waiting = 1 } }',
            "[schedules.one.catch_up.gate] waiting is unknown",
        ),
        (
            'job = "backup"\nevery = "1h"\ncatch_up = { mode = "latest", gate = { failed_share = "x" } }',
            "[schedules.one.catch_up.gate] failed_share = ",
        ),
        (
            'job = "backup"\nevery = "1h"\ncatch_up = { mode = "latest", gate = { failed_share = 3 } }',
            "[schedules.one.catch_up] gate: gate: failed_share 3.0 is not within 0-1",
        ),
        (
            'job = "backup"\ncron = "@daily"\nmax_runs = 3',
            "[schedules.one] max_runs = 3: needs a start to count from",
        ),
        (
            'job = "backup"\ncron = "@daily"\nstart = "2026-01-01"\nmax_runs = 0',
            "[schedules.one] max_runs: limit 0: expected a number from 1",
        ),
        (
            'job = "backup"\nevery = "1h"\ncatch_up = { late = "1h" }',
            "[schedules.one.catch_up] late is unknown",
        ),
        ('job = "backup"\nevery = "1h"\npayload = 5', "[schedules.one] payload = 5: expected a table"),
        ('job = "backup"\nevery = "1h"\npayload = { on = [2026-01-01] }', "payload holds the date or time"),
        ('job = "backup"\nevery = "1h"\nqueue = "a b"', "[schedules.one] queue: queue 'a b'"),
        ('job = "backup"\nevery = "1h"\npriority = 0', "[schedules.one] priority = 0"),
        ('job = "backup"\nevery = "1h"\nlabels = { a = 1 }', "[schedules.one.labels] a = 1: expected a text"),
        ('job = "backup"\nevry = "1h"', "evry is unknown; did you mean every?"),
    ],
)
def test_a_mistake_in_a_schedule_is_one_line(lines: str, said: str, tmp_path: Path) -> None:
    assert said in refusal(tmp_path, f"{JOB}[schedules.one]\n{lines}\n")


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load(tmp_path / "absent.toml")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"store = '\xe9'")
    with pytest.raises(UsageError, match="expected UTF-8 text"):
        load(tmp_path / "latin.toml")
