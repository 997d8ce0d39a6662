"""Every example of the page on time does what the page says."""

from __future__ import annotations

import doctest
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from fencepost.manifest import load
from tests.cli.calls import called

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "time.md"
TEXT = PAGE.read_text("utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = [(found[1], found[2], TEXT[: found.start()].count("\n") + 2) for found in FENCE.finditer(TEXT)]
JOBS = '[jobs.backup]\ncommand = ["true"]\n'


def python_lines() -> str:
    """The page with everything but its Python blanked out, so that errors name the page's own lines."""
    kept = [""] * (TEXT.count("\n") + 2)
    for language, body, line in BLOCKS:
        if language == "python":
            kept[line - 1 : line - 1 + body.count("\n")] = body.splitlines()
    return "\n".join(kept)


def test_every_python_example_is_right() -> None:
    examples = doctest.DocTestParser().get_doctest(python_lines(), {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 40
    said: list[str] = []
    result = doctest.DocTestRunner().run(examples, out=said.append)
    assert result.failed == 0, "".join(said)


CALLS = [
    (command, output)
    for language, body, _ in BLOCKS
    if language == "console"
    for command, output in re.findall(r"^\$ fencepost (.*)\n((?:(?!\$ ).*\n)*)", body, re.MULTILINE)
]


@pytest.mark.parametrize(("command", "output"), CALLS, ids=[command for command, _ in CALLS])
def test_every_command_prints_what_the_page_shows(command: str, output: str) -> None:
    assert called(*shlex.split(command)).rstrip() == output.rstrip()


@pytest.mark.parametrize("body", [body for language, body, _ in BLOCKS if language == "toml"])
def test_every_file_example_is_accepted(body: str, tmp_path: Path) -> None:
    path = tmp_path / "fencepost.toml"
    path.write_text(JOBS + body, "utf-8")
    assert tomllib.loads(path.read_text("utf-8"))
    assert load(path).code_schedules


def test_no_block_goes_untested() -> None:
    assert {language for language, _, _ in BLOCKS} == {"python", "console", "toml"}
