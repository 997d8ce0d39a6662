"""The units of systemd: it takes them, they give jobs time to end, and reach little of the host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from fencepost.cli.main import cli
from fencepost.cli.serving import LAST_RESORT_S
from fencepost.config import Settings, settings_from

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
PROGRAM = "/opt/fencepost/bin/fencepost"
EXPOSURE_MAX = 2.0
"""Of systemd's ten: what is left are a network and the memory that Python writes code to."""

each_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None and not os.environ.get("CI"),
    reason="no systemd-analyze: apt-get install systemd",
)


@needs_systemd
@each_unit
def test_systemd_takes_it(unit: Path, tmp_path: Path) -> None:
    """With a program that is there in place of ours."""
    copy = tmp_path / unit.name.replace("@", "@default")
    copy.write_text(unit.read_text().replace(PROGRAM, "/bin/true"))
    assert analyzed("verify", "--man=no", str(copy)) == ""


@needs_systemd
@each_unit
def test_a_process_reaches_little_of_the_host(unit: Path) -> None:
    said = analyzed("security", "--offline=yes", "--no-pager", str(unit))
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", said)
    assert float(exposure) <= EXPOSURE_MAX


@each_unit
def test_it_starts_a_command_that_exists(unit: Path) -> None:
    (line,) = settings_of(unit)["ExecStart"]
    program, name, *arguments = line.replace("${TARGET}", "app:app").replace("%i", "default").split()
    assert program == PROGRAM
    with click.Context(cli) as context:
        command = cli.get_command(context, name)
        assert command is not None
        command.make_context(name, arguments, parent=context).close()


@each_unit
def test_nothing_is_killed_while_it_may_still_wait_for_its_jobs(unit: Path) -> None:
    own = settings_of(unit)
    assert own["KillMode"] == ["mixed"], "the commands of jobs are not to be stopped before their process"
    assert float(own["TimeoutStopSec"][0]) > Settings().grace_s + LAST_RESORT_S


@each_unit
def test_it_comes_back(unit: Path) -> None:
    own = settings_of(unit)
    assert (own["Restart"], own["StartLimitIntervalSec"]) == (["always"], ["0"])


def test_the_units_differ_only_in_what_they_start() -> None:
    own = [settings_of(unit) for unit in UNITS]
    for one in own:
        del one["ExecStart"], one["Description"]
    assert {json.dumps(one) for one in own} == {json.dumps(own[0])}


def test_the_example_of_the_environment_has_settings_that_exist() -> None:
    lines = (FOLDER / "environment.example").read_text().splitlines()
    pairs = [line.removeprefix("# ").split("=", 1) for line in lines if re.match(r"(# )?[A-Z_]+=", line)]
    given = dict(one for one in pairs if one[0].startswith("FENCEPOST_"))
    assert {"FENCEPOST_STORE", "FENCEPOST_METRICS", "FENCEPOST_GRACE_S"} == given.keys()
    settings_from(environment=given)


def analyzed(*arguments: str) -> str:
    done = subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def settings_of(unit: Path) -> dict[str, list[str]]:
    """What each word is set to, in order."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found
