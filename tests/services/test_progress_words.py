"""How a progress deadline is said: in code, in a file, and by the output of a command."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from fencepost import Fencepost
from fencepost.errors import InvalidSpec, UsageError
from fencepost.executors.command import CommandExecutor
from fencepost.manifest import load
from fencepost.model.identifiers import JobName
from tests.executors.runs import make_run


def test_a_job_in_code_may_have_a_progress_deadline() -> None:
    app = Fencepost("sqlite:///never-opened.db")

    @app.job(progress_deadline="5m")
    async def report() -> None: ...

    assert app.jobs[JobName("report")].spec.progress_deadline == timedelta(minutes=5)
    with pytest.raises(InvalidSpec, match="progress_deadline"):
        app.job("other", progress_deadline="0s")(report)


def test_a_command_in_a_file_may_have_a_progress_deadline(tmp_path: Path) -> None:
    path = tmp_path / "fencepost.toml"
    path.write_text('[jobs.backup]\ncommand = ["true"]\nprogress_deadline = "90s"\n')
    assert load(path, {}).jobs[JobName("backup")].spec.progress_deadline == timedelta(seconds=90)


def test_a_call_that_can_show_no_progress_may_have_none(tmp_path: Path) -> None:
    path = tmp_path / "fencepost.toml"
    path.write_text('[jobs.ping]\nhttp = { url = "https://example.org" }\nprogress_deadline = "90s"\n')
    with pytest.raises(UsageError, match="progress_deadline is not for HTTP calls"):
        load(path, {})


async def test_a_command_says_by_its_output_that_it_gets_on() -> None:
    loud, silent = make_run(), make_run()
    await CommandExecutor(["/bin/sh", "-c", "echo begun; echo done"]).execute(loud)
    await CommandExecutor(["/bin/sh", "-c", "true"]).execute(silent)
    assert loud.marks > 0
    assert silent.marks == 0
