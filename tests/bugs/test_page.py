"""The page about the bank has every bug as the bank has it, and no other."""

from __future__ import annotations

from pathlib import Path

from tests.bugs.bank import BANK
from tests.bugs.table import Line, table_of

PROOF = Path(__file__).parents[2] / "docs" / "proof"


def test_no_bug_is_missing_on_the_page_and_none_is_made_up() -> None:
    planted = [Line(one.area, one.name, one.trap, one.caught_by, None, one.caught_by) for one in BANK]
    assert _rows((PROOF / "bugs.md").read_text("utf-8")) == _rows(table_of(planted))


def test_the_pages_do_not_count_fewer_bugs_than_there_are() -> None:
    count = len(BANK)
    assert f"{count} of {count} bugs were noticed" in (PROOF / "bugs.md").read_text("utf-8")
    assert f"{count} bugs, {count} noticed" in (PROOF / "README.md").read_text("utf-8")


def _rows(text: str) -> list[str]:
    """Those of the table, without how many worlds it took: that is for a run to say."""
    return [line.rpartition(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
