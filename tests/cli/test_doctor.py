"""`fencepost doctor`: what it says of a target, and how it exits."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.doctor import POINT_NAMES
from fencepost.core.checkup import POINTS
from tests.cli.calls import call, called, refused

SOUND = """
[jobs.sweep]
command = ["true"]
timeout = "1m"
retry = {max_attempts = 2}

[jobs.guard]
command = ["fencepost", "audit"]
timeout = "1m"
retry = {max_attempts = 1}

[jobs.lag]
command = ["/usr/bin/fencepost", "status", "--json"]
timeout = "1m"
retry = {max_attempts = 1}

[schedules.sweep]
job = "sweep"
cron = "7 * * * *"

[schedules.guard]
job = "guard"
cron = "17 * * * *"

[schedules.lag]
job = "lag"
cron = "27 * * * *"
"""

LATE = """
[settings]
retention_s = "2d"

[jobs.sweep]
command = ["true"]

[schedules.sweep]
job = "sweep"
cron = "30 2 * * *"
tz = "Europe/Berlin"
dst = {gap = "skip"}
catch_up = {mode = "latest", max_lateness = "3d"}
"""

SHOP = """
from fencepost import Every, Fencepost, Run

app = Fencepost("sqlite:///nowhere.db")

@app.job(schedule=Every("1h"))
def blind(region: str = "eu") -> None: ...

@app.job(schedule=Every("1h"), timeout="1m")
async def seeing(run: Run) -> None: ...
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "sound.toml").write_text(SOUND)
    (tmp_path / "late.toml").write_text(LATE)
    (tmp_path / "doctored.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("doctored", None)


def examined(*arguments: str, code: int = 0) -> Any:
    """The document, of a call that ends with that exit code."""
    result = call("doctor", *arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def reasons(found: Any, severity: str) -> dict[str, str]:
    return {one["point"]: one["reason"] for one in found["findings"] if one["severity"] == severity}


def test_the_points_that_can_be_chosen_are_those_that_there_are() -> None:
    assert POINT_NAMES == POINTS


def test_a_sound_target_is_well_as_far_as_can_be_seen_without_a_store() -> None:
    found = examined("sound.toml")
    promised = ["target", "at", "store_asked", "schedules", "jobs", "points", "findings", "fleet", "broker"]
    assert list(found) == promised
    assert found["fleet"] is None
    assert found["broker"] is None
    assert (found["store_asked"], found["schedules"], found["jobs"]) == (False, 3, 3)
    assert found["points"] == {
        **dict.fromkeys(POINT_NAMES, "ok"),
        "replay": "unknown",
        "fencing": "unknown",
    }
    assert "there is no store at sqlite:///fencepost.db yet" in reasons(found, "unknown")["replay"]
    assert not Path("fencepost.db").exists()


def test_what_breaks_the_promise_exits_with_1() -> None:
    found = examined("late.toml", "--offline", code=1)
    assert set(reasons(found, "fail")) == {"retention"}
    assert found["points"]["dst"] == "warn"
    (fail,) = (one for one in found["findings"] if one["severity"] == "fail")
    assert list(fail) == ["severity", "point", "schedules", "reason", "remedy", "example"]
    assert (fail["schedules"], fail["remedy"]) == (
        ["sweep"],
        'retention_s = "4d" or more in every process, or a shorter max_lateness',
    )


def test_a_warning_exits_with_1_only_where_that_was_asked_for() -> None:
    assert examined("late.toml", "--offline", "--only", "dst")["points"] == {"dst": "warn"}
    examined("late.toml", "--offline", "--only", "dst", "--strict", code=1)
    examined("sound.toml", "--strict")


def test_a_finding_is_one_line_with_its_reason_and_the_mend() -> None:
    result = call("doctor", "late.toml", "--offline", "--only", "retention", "--only", "replay")
    fail, unknown, empty, note, summary = result.stdout.splitlines()
    assert fail.startswith("fail     retention  sweep: runs are kept for 2d and max_lateness is 3d: ")
    assert '; fix: retention_s = "4d" or more' in fail
    assert unknown.startswith("unknown  replay     the store was not asked (--offline)")
    assert (empty, note) == ("", "the store was not asked (--offline): only the code was looked at")
    assert summary == "1 schedule, 1 job; 2 points: 1 unknown, 1 fail"


def test_the_example_stands_below_its_finding() -> None:
    lines = called("doctor", "late.toml", "--offline", "--only", "alerts").splitlines()
    assert lines[1:3] == ["    [jobs.fencepost-audit]", '    command = ["fencepost", "audit"]']


def test_a_function_without_a_run_is_found_in_a_module() -> None:
    found = examined("doctored:app", "--only", "run-key", "--only", "overlap")
    assert "job blind: its function takes no run" in reasons(found, "warn")["run-key"]
    assert reasons(found, "ok")["run-key"] == "1 job is handed the run key"


def test_what_the_store_has_seen_counts(used: str) -> None:
    found = examined("sound.toml", "--store", used)
    assert found["store_asked"]
    assert found["schedules"] == 4
    assert "burn#bad is dead, and no run has ever been replayed here" in reasons(found, "warn")["replay"]
    assert "remembers no run that was taken from a silent worker" in reasons(found, "unknown")["fencing"]
    assert "its code is not in this target" in reasons(found, "unknown")["run-key"]


def test_a_store_that_was_not_to_be_asked_is_not(used: str) -> None:
    assert examined("sound.toml", "--store", used, "--offline")["schedules"] == 3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("missing.toml",), "missing.toml: cannot be read: No such file or directory"),
        (("missing:app",), "target missing:app: no module missing in"),
        (("sound.toml", "--store", "gopher://x"), 'store "gopher://…": expected sqlite:///'),
        (("sound.toml", "--store", "postgresql://"), 'store "postgresql://": expected'),
        (("sound.toml", "--only", "weather"), "Invalid value for '--only': 'weather' is not one of"),
    ],
)
def test_a_mistake_is_one_line_and_no_traceback(arguments: tuple[str, ...], line: str) -> None:
    assert refused("doctor", *arguments).startswith(line)


def test_a_file_that_is_no_store_is_a_mistake(folder: Path) -> None:
    (folder / "junk.db").write_text("this is no database, and long enough to be seen as none" * 20)
    assert "not a SQLite database" in refused("doctor", "sound.toml", "--store", "sqlite:///junk.db")
