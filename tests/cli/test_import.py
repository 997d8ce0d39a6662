"""`fencepost import`."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from fencepost.cli import import_
from fencepost.cli.main import cli
from fencepost.manifest import load
from tests.cli.calls import RUNNER, call, called, called_json, refused

CRONTAB = "MAILTO=ops\n30 2 * * * /usr/local/bin/backup --all\n@reboot x\n"
DUMP = [
    {"model": "django_celery_beat.intervalschedule", "pk": 1, "fields": {"every": 10, "period": "seconds"}},
    {
        "model": "django_celery_beat.periodictask",
        "pk": 1,
        "fields": {"name": "tick", "task": "shop.tick", "interval": 1, "args": "[]", "kwargs": "{}"},
    },
]


@pytest.fixture
def crontab(tmp_path: Path) -> str:
    path = tmp_path / "crontab"
    path.write_text(CRONTAB)
    return str(path)


def piped(data: bytes, *arguments: str) -> Result:
    return RUNNER.invoke(cli, arguments, input=data)


def test_a_crontab_becomes_a_file_that_loads(crontab: str, tmp_path: Path) -> None:
    out = tmp_path / "fencepost.toml"
    result = call("import", "crontab", crontab, "--tz", "Europe/Berlin", "--out", str(out))
    assert (result.exit_code, result.stdout) == (0, "")
    app = load(out)
    (spec,) = app.code_schedules.values()
    assert spec.trigger["tz"] == "Europe/Berlin"
    assert list(app.jobs) == ["backup"]


def test_the_file_goes_to_stdout_and_the_report_to_stderr(crontab: str) -> None:
    result = call("import", "crontab", crontab, "--tz", "UTC")
    assert list(tomllib.loads(result.stdout)["schedules"]) == ["backup"]
    first, left_out, look, *_ = result.stderr.splitlines()
    assert first == "1 carried over, 1 left out, 1 to look at"
    assert left_out.startswith("left out  line 3: @reboot: ")
    assert look.startswith("look at   line 1: MAILTO: mail is not sent")


def test_json_is_one_document_with_the_report(crontab: str, tmp_path: Path) -> None:
    found = called_json("import", "crontab", crontab, "--tz", "UTC")
    assert (found["file"], found["schedules"]) == (None, ["backup"])
    assert tomllib.loads(found["text"])
    assert found["remarks"][1]["weight"] == "left_out"
    out = str(tmp_path / "out.toml")
    written = called_json("import", "crontab", crontab, "--tz", "UTC", "--out", out)
    assert (written["file"], written["text"]) == (out, None)
    assert Path(out).read_text() == found["text"]


def test_with_strict_something_left_out_is_a_no(crontab: str, tmp_path: Path) -> None:
    assert call("import", "crontab", crontab, "--strict").exit_code == 1
    (tmp_path / "fine").write_text("@daily x\n")
    assert call("import", "crontab", str(tmp_path / "fine"), "--strict").exit_code == 0


def test_a_file_is_not_overwritten_unless_forced(crontab: str, tmp_path: Path) -> None:
    out = tmp_path / "fencepost.toml"
    out.write_text("mine")
    assert "is there already" in refused("import", "crontab", crontab, "--out", str(out))
    assert out.read_text() == "mine"
    assert call("import", "crontab", crontab, "--out", str(out), "--force").exit_code == 0
    assert load(out).jobs


def test_a_crontab_comes_from_stdin_too() -> None:
    result = piped(b"@daily backup\n", "import", "crontab", "-", "--tz", "UTC")
    assert result.exit_code == 0
    assert "# Imported from stdin by" in result.stdout


@pytest.mark.parametrize(
    ("path", "system"),
    [
        ("/etc/crontab", True),
        ("/etc/cron.d/backup", True),
        ("/etc/cron.d/deep/backup", False),
        ("/var/spool/cron/crontabs/root", False),
        ("crontab", False),
        ("-", False),
    ],
)
def test_the_path_says_whether_there_is_a_user_column(path: str, system: bool) -> None:
    assert import_._is_system(path) is system


@pytest.mark.parametrize(("flag", "schedule"), [("--system", "backup"), ("--user", "root")])
def test_a_flag_says_it_too(flag: str, schedule: str) -> None:
    result = piped(b"@daily root backup\n", "import", "crontab", "-", flag, "--json")
    assert json.loads(result.stdout)["schedules"] == [schedule]


@pytest.mark.parametrize(
    ("environment", "tz"), [("Asia/Tokyo", "Asia/Tokyo"), (":Asia/Tokyo", "Asia/Tokyo"), ("CET-1CEST", "UTC")]
)
def test_without_a_zone_it_is_the_machines_own(crontab: str, environment: str, tz: str) -> None:
    result = call("import", "crontab", crontab, TZ=environment)
    assert tomllib.loads(result.stdout)["schedules"]["backup"]["tz"] == tz
    assert f"read in {tz}, this machine's own" in result.stderr


@pytest.mark.parametrize(
    "data",
    [
        b"@daily x \xff\n",
        b"\xff\xfe@\0d\0",
        b"\x80" * 100,
    ],
)
@pytest.mark.parametrize("source", ["crontab", "apscheduler", "celery-beat"])
def test_what_is_no_utf_8_is_one_line(data: bytes, source: str) -> None:
    result = piped(data, "import", source, "-")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("fencepost: -: expected UTF-8 text, byte ")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"@daily x\0y\n",
        b"x" * 300_000,
        b"@daily 'x\n",
        b"\xef\xbb\xbf@daily x\r\n",
        b"\n" * 1_000,
    ],
)
def test_a_hostile_crontab_is_reported_and_not_more(data: bytes, tmp_path: Path) -> None:
    out = tmp_path / "fencepost.toml"
    result = piped(data, "import", "crontab", "-", "--out", str(out))
    assert result.exit_code == 0
    assert load(out) is not None
    assert all(len(line) < 1_000 for line in result.stderr.splitlines())


def test_a_terminal_is_not_steered_by_a_crontab() -> None:
    result = piped(b"61 * * * \x1b[2J x\n", "import", "crontab", "-")
    assert "\x1b" not in result.stderr


def test_a_dump_of_celery_beat_becomes_a_module(tmp_path: Path) -> None:
    path = tmp_path / "beat.json"
    path.write_text(json.dumps(DUMP))
    text = called("import", "celery-beat", str(path))
    assert 'trigger=Every("10s"),' in text
    names: dict[str, Any] = {}
    exec(text, names)
    assert list(names["app"].code_schedules) == ["tick"]


def test_an_export_of_apscheduler_becomes_a_module() -> None:
    result = piped(b'{"version": 1, "scheduler_version": "3.11.3", "jobs": []}', "import", "apscheduler", "-")
    assert result.exit_code == 0
    assert "app = Fencepost()" in result.stdout


@pytest.mark.parametrize("store", ["sqlite:///jobs.sqlite", "postgresql://me:secret@db/jobs", "jobs.sqlite"])
def test_a_job_store_of_pickles_is_refused_with_the_mend(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.sqlite").write_bytes(b"SQLite format 3\0" + bytes(100))
    line = refused("import", "apscheduler", store)
    assert "to load a pickle is to run the code in it" in line
    assert "export_jobs('jobs.json')" in line
    assert "secret" not in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("import", "crontab"), "Missing argument 'FILE'"),
        (("import", "crontab", "nowhere"), "nowhere: cannot be read: No such file"),
        (("import", "crontab", "."), ".: cannot be read: Is a directory"),
        (("import", "crontab", "fine", "--tz", "Europe/Berln"), "--tz: time zone"),
        (("import", "crontab", "fine", "--out", "no/such/folder"), "--out no/such/folder: cannot be written"),
        (("import", "crontab", "fine", "--out", "."), "is there already"),
        (("import", "celery-beat", "fine"), "fine: not JSON"),
        (("import", "apscheduler", "fine"), "fine: not JSON"),
        (("import", "apscheduler", "empty.json"), "scheduler.export_jobs"),
        (("import", "celery-beat", "empty.json"), "manage.py dumpdata django_celery_beat"),
        (("import", "cron"), "No such command 'cron'"),
    ],
)
def test_a_wrong_call_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fine").write_text("@daily x\n")
    (tmp_path / "empty.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert said in refused(*arguments)


def test_a_file_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch, crontab: str) -> None:
    monkeypatch.setattr(import_, "BYTES_MAX", 10)
    assert "is longer than 10 bytes" in refused("import", "crontab", crontab)
