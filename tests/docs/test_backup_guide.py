"""The guide's commands, run as they are written: back up, run on, restore; no fence is given out twice.

It takes longer than five seconds, because real processes start three times and tick in between.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from signal import SIGCONT
from time import sleep
from typing import Any

import pytest

from tests.cli.calls import call, called, called_json
from tests.cli.processes import SIGTERM, Process, clean_environment, started
from tests.servers.binaries import binaries

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "backup-and-restore.md"
TICKING = """
[jobs.tick]
command = ["true"]

[schedules.tick]
job = "tick"
every = "1s"
overlap = "allow"
"""
RUNS = 5
PATIENCE_S = 90


def blocks(heading: str) -> tuple[str, str]:
    """How to back up and how to restore, by the guide."""
    (section,) = re.findall(
        rf"^## {heading}\n(.*?)(?=^## )", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    back_up, restore = re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return back_up, restore


@dataclass
class Place:
    """A store and how a careless person overwrites it under a running process."""

    heading: str
    url: str
    folder: Path
    overwrite: Callable[[Process], None]

    def shell(self, script: str) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), str(binaries()), os.environ["PATH"]])
        environment = {**clean_environment(), "FENCEPOST_STORE": self.url, "PATH": path}
        done = subprocess.run(["bash", "-ec", script], cwd=self.folder, env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()

    def runs(self) -> list[dict[str, Any]]:
        found = called_json("runs", "list", "--limit", "1000", "--store", self.url)
        return [one for one in found if one["fence"]]

    def last_fence(self) -> int:
        return max(int(one["fence"]) for one in self.runs())

    def fence_past(self, kept: int) -> int:
        """The last fence, once it is well past this one."""
        for _ in range(PATIENCE_S):
            if (last := self.last_fence()) > kept + RUNS:
                return last
            sleep(1)
        raise AssertionError(f"no fence past {kept + RUNS}")


def ticked(process: Process) -> None:
    for _ in range(RUNS):
        process.wait_for("succeeded")


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Place:
    path = tmp_path / "fencepost.db"

    def overwrite(_: Process) -> None:
        backup, live = (sqlite3.connect(one, timeout=30) for one in (tmp_path / "fencepost-backup.db", path))
        with closing(backup), closing(live):
            backup.backup(live)

    return Place("SQLite", f"sqlite:///{path}", tmp_path, overwrite)


@pytest.fixture
def on_postgres(postgres_url: str, tmp_path: Path) -> Place:
    def overwrite(process: Process) -> None:
        process.stop()
        here.shell(blocks("PostgreSQL")[1].splitlines()[0])
        process.signal(SIGCONT)

    here = Place("PostgreSQL", postgres_url, tmp_path, overwrite)
    return here


@pytest.fixture(
    params=["on_sqlite", pytest.param("on_postgres", marks=[pytest.mark.postgres, pytest.mark.proof])]
)
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    (found.folder / "fencepost.toml").write_text(TICKING)
    return found


@pytest.mark.timeout(600)
def test_no_fence_is_given_out_twice_over_a_restore(place: Place) -> None:
    """About 10 s: the commands of the guide, with real nodes before and after."""
    back_up, restore = blocks(place.heading)
    words = ("run", "fencepost.toml", "--store", place.url)
    with started(*words, folder=place.folder) as across:
        ticked(across)
        place.shell(back_up)
        kept = place.last_fence()
        last = place.fence_past(kept)
        place.overwrite(across)
        assert across.ended() == 2
    assert "older than it was" in across.lines[-1], across.said
    assert "fencepost migrate --restored" in across.lines[-1]
    with started(*words, folder=place.folder) as too_early:
        assert too_early.ended() == 2
    assert "older than it was" in too_early.lines[-1]
    assert call("restore-check", "--store", place.url).exit_code == 1
    place.shell(restore)
    called("restore-check", "--store", place.url, "--fence", str(last))
    with started(*words, folder=place.folder) as after:
        ticked(after)
        after.signal(SIGTERM)
        assert after.ended() == 0
    fences = [one["fence"] for one in place.runs() if one["fence"] > kept]
    assert len(fences) >= RUNS
    assert min(fences) > last
    (entry,) = called_json("log", "--action", "ledger.restore", "--store", place.url)
    assert entry["after"]["fence"] > last


def test_a_guard_that_is_ahead_tells_of_an_older_ledger(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'fencepost.db'}"
    called("migrate", "--store", url)
    called("restore-check", "--store", url)
    told = call("restore-check", "--store", url, "--fence", "874")
    assert told.exit_code == 1
    assert "fence 874 was seen, and the last of the ledger is 0" in told.stdout
    called("migrate", "--restored", "--store", url)
    called("restore-check", "--store", url, "--fence", "874")
