"""The house keeps its own rules."""

import os
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.tidy import rules

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "fencepost"
CLOCK = SOURCE / "clock.py"
HIDDEN_BUT_OURS = frozenset({".ci"})
WORLD = ROOT / "tests" / "simulation"
AROUND_THE_WORLD = frozenset({"ban.py", "campaign.py", "__main__.py"})
"""What runs worlds stands outside of them."""
STORES = SOURCE / "stores"
STATEMENT_MAKERS = frozenset(
    {STORES / "statements.py", STORES / "sqlite" / "rows.py", STORES / "postgres" / "rows.py"}
)
"""What makes statements from the declarations of the tables."""
REWRITTEN_LATER = tuple(SOURCE / part for part in ("cli", "operations", "services/verbs", "web/dashboard"))
"""Packages whose words are still to be looked at."""
MIGRATIONS = frozenset({"migrations"})
"""They stay as they were released."""
BUILT = frozenset({"__pycache__", "build", "dist", "node_modules"})

Rule = Callable[[str], Iterable[rules.Fault]]


def test_no_clock_is_read_outside_the_clock() -> None:
    assert faults(rules.clock_reads, (path for path in python_files(SOURCE) if path != CLOCK)) == []


def test_nothing_real_is_reached_for_in_a_simulated_world() -> None:
    inside = (
        path
        for path in python_files(WORLD)
        if path.name not in AROUND_THE_WORLD and not path.name.startswith("test_")
    )
    assert faults(rules.real_things, inside) == []
    deciding = (path for part in ("core", "model") for path in python_files(SOURCE / part))
    assert faults(rules.real_things, deciding) == []


def test_no_sql_outside_sql_files() -> None:
    written = (path for path in python_files(SOURCE) if path not in STATEMENT_MAKERS)
    assert faults(rules.sql_literals, written) == []


def test_no_statement_locks_rows_in_a_query_that_may_be_asked_twice() -> None:
    assert faults(rules.repeatable_locks, (SOURCE / "stores" / "postgres").glob("*.sql")) == []


def test_no_suppression_without_a_code() -> None:
    assert faults(rules.bare_suppressions, python_files(ROOT)) == []


def test_no_module_without_a_docstring() -> None:
    assert faults(rules.missing_docstring, python_files(ROOT)) == []


def test_no_word_hides_who_acts() -> None:
    sources = (
        path
        for path in files(SOURCE)
        if not any(path.is_relative_to(part) for part in REWRITTEN_LATER) and not MIGRATIONS & {*path.parts}
    )
    pages = (ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *files(ROOT / "docs" / "decisions"))
    assert faults(rules.vague_words, (*sources, *pages)) == []


def test_no_registry_host_in_any_file() -> None:
    assert faults(rules.registry_hosts, files(ROOT)) == []


def test_no_address_in_a_lock() -> None:
    locks = sorted(ROOT.glob("requirements*.lock"))
    assert len(locks) == 5
    locks += sorted((ROOT / "examples").glob("*/*/package-lock.json"))
    assert len(locks) == 6
    assert faults(rules.addresses, locks) == []


@pytest.mark.parametrize("name", ["demo", "image"])
def test_nothing_is_locked_to_other_versions_than_the_tests(name: str) -> None:
    chosen, tested = (pinned(ROOT / file) for file in (f"requirements-{name}.lock", "requirements.lock"))
    assert chosen
    assert chosen <= tested


def pinned(lock: Path) -> set[str]:
    """What a lock file pins, as `name==version`."""
    return {line.split()[0] for line in text(lock).splitlines() if "==" in line.split("#")[0]}


def test_no_file_outgrows_its_limit() -> None:
    sizes = {relative(path): len(text(path).splitlines()) for path in python_files(ROOT)}
    assert list(rules.ratchet_faults(sizes, rules.FILE_LINES_MAX, ratchet("files"))) == []


def test_no_function_outgrows_its_limit() -> None:
    sizes = {
        f"{relative(path)}::{name}": lines
        for path in python_files(ROOT)
        for name, lines in rules.function_lines(text(path)).items()
    }
    assert list(rules.ratchet_faults(sizes, rules.FUNCTION_LINES_MAX, ratchet("functions"))) == []


def test_imports_stand_at_the_head_of_their_module() -> None:
    found = Counter(
        path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for path in python_files(SOURCE)
        for _ in rules.imports_in_functions(text(path))
    )
    assert dict(found) == ratchet("imports"), "it may only fall"


def faults(rule: Rule, paths: Iterable[Path]) -> list[str]:
    return [f"{relative(path)}:{fault.line}: {fault.text}" for path in paths for fault in rule(text(path))]


def files(folder: Path) -> Iterator[Path]:
    """Every file of ours below the folder."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_ours(name))
        yield from (Path(parent, name) for name in sorted(names))


def python_files(folder: Path) -> Iterator[Path]:
    return (path for path in files(folder) if path.suffix == ".py")


def is_ours(name: str) -> bool:
    return name in HIDDEN_BUT_OURS or not (name.startswith(".") or name in BUILT)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def ratchet(table: str) -> dict[str, int]:
    known = tomllib.loads(text(ROOT / "tests" / "tidy" / "ratchet.toml"))[table]
    return {name: int(size) for name, size in known.items()}
