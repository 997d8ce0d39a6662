"""The page on policies says what the code does: its words are accepted, and its table is the judge's own."""

from __future__ import annotations

import re
from pathlib import Path

from fencepost.core import verdict
from fencepost.manifest import load
from fencepost.model.policies import CatchUpMode, GateTerms, OverlapKind, parse_overlap

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "policies.md"
TEXT = PAGE.read_text("utf-8")


def _table_after(heading: str) -> list[list[str]]:
    section = TEXT.split(heading, 1)[1]
    rows = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert rows is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows[0].splitlines()[2:]]


def test_every_overlap_policy_is_in_the_table_and_nothing_else() -> None:
    words = [
        word for row in _table_after("## Overlap") for word in re.findall(r"`([a-z_]+(?:\(n\))?)`", row[0])
    ]
    assert {parse_overlap(word.replace("(n)", "(2)")).kind for word in words} == set(OverlapKind)


def test_every_catch_up_mode_is_in_the_table_and_nothing_else() -> None:
    words = [re.findall(r"`([a-z]+)(?:\(n\))?`", row[0])[0] for row in _table_after("## Catch-up")]
    assert words == [str(mode) for mode in CatchUpMode]


def test_the_precedence_is_the_table_of_the_judge() -> None:
    page = _table_after("## Lateness first, then overlap")
    rows = re.findall(r"^\| (?!the tick|---)(.*) \|$", verdict.__doc__ or "", re.MULTILINE)
    assert len(page) == len(rows)


def test_the_example_is_accepted(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    path = tmp_path / "fencepost.toml"
    path.write_text('[jobs.send]\ncommand = ["true"]\n' + example, "utf-8")
    (spec,) = load(path).code_schedules.values()
    assert (spec.overlap.kind, spec.overlap.number) == (OverlapKind.BUFFER_ALL, 20)
    assert spec.catch_up.gate == GateTerms(waiting_max=500, failed_share=0.3, of_last=20)


def test_the_defaults_of_the_gate_are_as_the_page_says() -> None:
    assert GateTerms() == GateTerms(waiting_max=1_000, failed_share=0.5, of_last=10)
    assert "`waiting_max` (1,000)" in TEXT
    assert "`of_last` (10)" in TEXT
    assert "`failed_share` (0.5)" in TEXT
