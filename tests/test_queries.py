"""Blocks of SQL files, and the parts that they have in common."""

from pathlib import Path

import pytest

from fencepost.stores.queries import load_queries

PARTS = """
-- part: waits
run.held = 0
"""
FILE = """
-- A part of this file alone.
-- part: first(runs, most)
(SELECT 1 FROM runs AS run WHERE {{runs}} LIMIT {most})

-- name: one
SELECT {first(waits; $1)};

-- name: two
SELECT '{}' FROM runs AS run WHERE {waits};
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "some_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "parts.sql").write_text(PARTS)
    (folder / "file.sql").write_text(FILE)
    (folder / "twice.sql").write_text("-- name: one\n\n-- name: one\n")
    (folder / "unknown.sql").write_text("-- name: one\nSELECT {nothing};\n")
    (folder / "wrong.sql").write_text(FILE.replace("(waits; $1)", "(waits)"))
    monkeypatch.syspath_prepend(tmp_path)
    return folder.name


def test_a_part_stands_where_it_is_named(package: str) -> None:
    assert load_queries(package, "file.sql") == {
        "one": "SELECT (SELECT 1 FROM runs AS run WHERE run.held = 0 LIMIT $1);",
        "two": "SELECT '{}' FROM runs AS run WHERE run.held = 0;",
    }


def test_a_part_is_not_used_without_what_it_needs(package: str) -> None:
    with pytest.raises(ValueError, match="zip"):
        load_queries(package, "wrong.sql")


def test_what_is_no_part_is_not_left_in_a_statement(package: str) -> None:
    with pytest.raises(AssertionError, match="one names no part"):
        load_queries(package, "unknown.sql")


def test_a_name_does_not_stand_twice(package: str) -> None:
    with pytest.raises(AssertionError, match="one stands twice"):
        load_queries(package, "twice.sql")
