"""The words of a command in `fencepost.toml`: what they mean, and one line where they mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.errors import InvalidSpec, UsageError
from fencepost.executors.command import CommandExecutor
from fencepost.manifest import load
from fencepost.model.identifiers import JobName
from tests.executors.runs import make_run

JOB = '[jobs.backup]\ncommand = ["true"]\n'
WORDS = """
[jobs.backup]
command = ["sh", "-c", "pwd;umask; ulimit -c; ulimit -n; echo $REGION $MODE; ulimit -f; ulimit -t; ulimit -v"]
environment = { MODE = "fast" }
pass_environment = ["REGION"]
limits = { cpu = "1h", memory = "2GiB", files = 256, processes = 4000, file_size = "1GiB" }
cwd = "/usr"
umask = "027"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "fencepost.toml"
    path.write_text(text)
    return path


async def test_every_word_reaches_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGION", "eu")
    executor = load(written(tmp_path, WORDS), {}).jobs[JobName("backup")].executor
    output = await executor.execute(make_run())
    # A shell counts files in blocks of 512 bytes, and memory in kilobytes.
    assert (output or "").split() == ["/usr", "0027", "0", "256", "eu", "fast", "2097152", "3600", "2097152"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("limits = 5", "[jobs.backup] limits = 5: expected a table"),
        ("limits = { cpus = 1 }", "[jobs.backup]: limits: cpus is unknown; expected one of cpu, memory"),
        ("limits = { cpu = 'long' }", '[jobs.backup]: limits: cpu: duration "long": expected'),
        ("limits = { cpu = 0 }", "[jobs.backup]: limits: cpu 0: expected more than nothing"),
        ("limits = { memory = '2 parsecs' }", '[jobs.backup]: limits: memory: size "2 parsecs": expected'),
        ("limits = { files = '256' }", '[jobs.backup]: limits: files: "256": expected a whole number'),
        ("limits = { processes = true }", "[jobs.backup]: limits: processes: True: expected a whole number"),
        ("limits = { file_size = 0 }", "[jobs.backup]: limits: file_size 0: expected more than nothing"),
        ("cwd = 'here'", '[jobs.backup]: cwd "here": expected the whole path of a folder'),
        ("cwd = 5", "[jobs.backup] cwd = 5: expected a text"),
        ("umask = 27", "[jobs.backup] umask = 27: expected a text"),
        ("umask = '999'", '[jobs.backup]: umask "999": expected three octal digits'),
        ("pass_environment = 'HOME'", '[jobs.backup] pass_environment = "HOME": expected a list of texts'),
        (
            "pass_environment = ['A=B']",
            '[jobs.backup]: pass_environment "A=B": expected the name of a variable',
        ),
        (
            "pass_environment = ['FENCEPOST_FENCE']",
            "[jobs.backup]: environment FENCEPOST_FENCE: only the run itself says that",
        ),
        (
            "environment = { FENCEPOST_RUN_KEY = 'x' }",
            "[jobs.backup]: environment FENCEPOST_RUN_KEY: only the run itself says that",
        ),
    ],
)
def test_a_word_that_means_nothing_is_one_line(words: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, JOB + words)
    with pytest.raises(InvalidSpec) as caught:
        load(path, {})
    assert str(caught.value).removeprefix(f"{path}: ").startswith(said)
    assert "\n" not in str(caught.value)


def test_a_program_relative_to_nowhere_is_refused_and_to_a_folder_is_not(tmp_path: Path) -> None:
    job = '[jobs.backup]\ncommand = ["bin/backup"]\n'
    with pytest.raises(InvalidSpec, match=r'command "bin/backup": is relative to wherever the worker was'):
        load(written(tmp_path, job), {})
    load(written(tmp_path, f"{job}cwd = '/srv'"), {})


def test_a_program_outside_the_allow_list_is_refused_when_the_file_is_read(tmp_path: Path) -> None:
    top = "[settings]\ncommands_allowed = ['/usr/bin/env', '/usr/lib/']\n"
    path = written(tmp_path, f'{top}[jobs.backup]\ncommand = ["/usr/bin/tail"]\n')
    with pytest.raises(InvalidSpec) as caught:
        load(path, {})
    listed = "is not among the programs allowed here (/usr/bin/env, /usr/lib/)"
    assert str(caught.value) == f"{path}: [jobs.backup]: command /usr/bin/tail: {listed}"
    app = load(written(tmp_path, f'{top}[jobs.backup]\ncommand = ["env"]\n'), {})
    assert isinstance(app.jobs[JobName("backup")].executor, CommandExecutor)


def test_the_allow_list_is_of_absolute_paths(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\[settings\] commands_allowed 'bin/': expected absolute paths"):
        load(written(tmp_path, "[settings]\ncommands_allowed = ['bin/']\n"), {})
    app = load(written(tmp_path, JOB), {"FENCEPOST_COMMANDS_ALLOWED": "/usr/bin/, /bin/"})
    assert app.settings.commands_allowed == ("/usr/bin/", "/bin/")
