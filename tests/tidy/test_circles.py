"""Modules import each other in one direction: at their head, in functions and for types alike."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

TRIGGERS = "fencepost.triggers"
KNOWN = {
    (f"{TRIGGERS}.series", f"{TRIGGERS}.business.calendar"),
    (f"{TRIGGERS}.business.calendar", f"{TRIGGERS}.business.trigger"),
    (f"{TRIGGERS}.business.calendar", f"{TRIGGERS}.localtime.times"),
    (f"{TRIGGERS}.combine", f"{TRIGGERS}.narrow"),
}
"""A trigger's own verbs make triggers that are made of it. May only shrink."""


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {name_of(path): path for path in (SOURCE / "fencepost").rglob("*.py")}
    graph = {name: {*imports(path)} & paths.keys() - {name} for name, path in paths.items()}
    assert {(one, other) for one, others in graph.items() for other in others} >= KNOWN
    straight = {name: {one for one in others if (name, one) not in KNOWN} for name, others in graph.items()}
    TopologicalSorter(straight).prepare()


def name_of(path: Path) -> str:
    """The module's name."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """What a file imports, wherever it does: a name may be a module, or stand in one."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for name in (f"{node.module}.{alias.name}" for alias in node.names):
                yield name if is_module(name) else node.module


def is_module(name: str) -> bool:
    place = SOURCE.joinpath(*name.split("."))
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()
