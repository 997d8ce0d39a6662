"""`fencepost init` writes an application that runs, and writes over nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fencepost.version import VERSION
from tests.cli.calls import called, called_json, refused
from tests.cli.processes import SIGTERM, started

FILES = {"Dockerfile", "app.py", "fencepost.service", "fencepost.toml"}


def test_the_application_that_it_writes_runs(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    said = called("init", str(folder))

    assert {path.name for path in folder.iterdir()} == FILES
    assert said.endswith(f"start it: cd {folder} && fencepost run app:app\n")
    with started("run", "app:app", folder=folder) as process:
        process.wait_for("succeeded run_key=hello#")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    url = f"sqlite:///{folder / 'fencepost.db'}"
    schedules = {one["schedule_id"] for one in called_json("schedules", "list", "--store", url)}
    assert schedules == {"hello", "disk-every-night"}


def test_doctor_finds_no_failure_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    called("init")
    assert called("doctor", "fencepost.toml", "--offline")


def test_nothing_is_written_beside_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert refused("init", str(tmp_path)) == (
        f"folder {tmp_path}: it is not empty, it holds notes.txt; choose an empty one"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("mine")
    assert refused("init", str(tmp_path / "shop")).startswith(f"folder {tmp_path / 'shop'}: ")


def test_the_dockerfile_is_on_top_of_the_image_of_this_version(tmp_path: Path) -> None:
    called("init", str(tmp_path / "shop"))
    text = (tmp_path / "shop" / "Dockerfile").read_text()
    assert f"FROM fencepost:{VERSION}\n" in text
    (copy,) = (line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY"))
    assert set(copy) == {"app.py", "fencepost.toml"}


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None and not os.environ.get("CI"),
    reason="no systemd-analyze: apt-get install systemd",
)
@pytest.mark.parametrize("name", ["shop", "the 50% shop"])
def test_systemd_takes_the_unit(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    called("init", str(folder))
    command = ["systemd-analyze", "verify", "--man=no", str(folder / "fencepost.service")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
