"""The page on chains says what the code does: its examples are accepted, and its table is the core's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fencepost import Fencepost
from fencepost.core import successors
from fencepost.core.successors import counts, follows
from fencepost.manifest.file import load_file
from fencepost.model.identifiers import JobName
from fencepost.model.job import AfterOn
from fencepost.model.run import RunState
from fencepost.model.text import RESULT_LENGTH_MAX

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "chains.md"
TEXT = PAGE.read_text("utf-8")
ENDS = {one for one in RunState if one not in (RunState.PLANNED, RunState.READY, RunState.RUNNING)}
JOB = JobName("extract")


def _rows(text: str) -> list[list[str]]:
    lines = re.search(r"^\| the run ended .*\n\| ---.*\n((?:^\|.*\n)+)", text, re.MULTILINE)
    assert lines is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1].splitlines()]


def test_the_table_of_ends_is_what_the_core_decides() -> None:
    said: dict[RunState, set[str]] = {}
    for ended, *answers in _rows(TEXT):
        for name in re.findall(r"`([a-z]+)`", ended):
            said[RunState(name)] = {str(on) for on, one in zip(AfterOn, answers, strict=True) if one == "yes"}
    assert said == {
        state: {str(on) for on in AfterOn if counts(state) and follows(on, [JOB], {JOB: {state}})}
        for state in ENDS
    }
    assert len(_rows(successors.__doc__ or "")) == len(_rows(TEXT))


def test_the_examples_are_accepted(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    found: dict[str, Any] = {}
    exec(program, found)
    app = found["app"]
    assert isinstance(app, Fencepost)
    assert app.specs()["report"].after == ("load", "rates")
    (manifest,) = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    file = tmp_path / "fencepost.toml"
    file.write_text(manifest, "utf-8")
    assert load_file(file).specs()["load"].after == ("extract",)


def test_the_bound_of_a_result_is_as_the_page_says() -> None:
    assert f"{RESULT_LENGTH_MAX:,} characters" in TEXT
