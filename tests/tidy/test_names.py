"""One class name means one thing within a layer.

A layer is a package of `fencepost`. Parallel adapters implement one port, each for its own server, and use
the same names by design: `stores/sqlite` and `stores/postgres` both have a `Database`. There the rule holds
for the package of one adapter together with the modules that the adapters of the layer share.
"""

import ast
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "fencepost"
ADAPTERS = frozenset({"brokers", "leases", "stores"})
"""The layers whose packages are adapters."""


def test_no_class_name_stands_twice_within_a_layer() -> None:
    layers = (path for path in sorted(SOURCE.iterdir()) if path.is_dir())
    assert [fault for layer in layers for scope in scopes(layer) for fault in repeated(scope)] == []


def test_a_name_that_stands_twice_is_found(tmp_path: Path) -> None:
    layer = written(tmp_path / "services", {"a.py": "class One: ...", "deep/b.py": "class One: ..."})
    (scope,) = scopes(layer)
    assert repeated(scope) == ["One: a.py, deep/b.py"]


def test_adapters_may_share_a_name_and_not_with_what_they_have_in_common(tmp_path: Path) -> None:
    ledgers = {"sqlite/ledger.py": "class Ledger: ...", "postgres/ledger.py": "class Ledger: ..."}
    assert not any(repeated(scope) for scope in scopes(written(tmp_path / "stores", ledgers)))
    layer = written(tmp_path / "stores", {"rows.py": "class Ledger: ..."})
    assert all(repeated(scope) for scope in scopes(layer))


def test_a_class_inside_another_has_the_name_of_both(tmp_path: Path) -> None:
    nested = "class {}:\n    class Meta: ..."
    layer = written(tmp_path / "contrib", {"a.py": nested.format("One"), "b.py": nested.format("Two")})
    assert not any(repeated(scope) for scope in scopes(layer))


def scopes(layer: Path) -> Iterator[list[Path]]:
    """The files within which a name stands once."""
    packages = sorted(path for path in layer.iterdir() if path.is_dir())
    if layer.name not in ADAPTERS:
        yield sorted(layer.rglob("*.py"))
        return
    shared = sorted(layer.glob("*.py"))
    for package in packages:
        yield [*shared, *sorted(package.rglob("*.py"))]


def repeated(scope: list[Path]) -> list[str]:
    """The names that more than one class of these files has."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in scope:
        for name in class_names(path):
            found[name].append(path)
    folder = os.path.commonpath(scope) if scope else ""
    return [
        f"{name}: {', '.join(path.relative_to(folder).as_posix() for path in paths)}"
        for name, paths in sorted(found.items())
        if len(paths) > 1
    ]


def class_names(path: Path) -> Iterator[str]:
    """The classes of a module; not those inside of others."""
    yield from (one.name for one in ast.parse(path.read_text("utf-8")).body if isinstance(one, ast.ClassDef))


def written(layer: Path, files: dict[str, str]) -> Path:
    """A layer with these files."""
    for name, source in files.items():
        (layer / name).parent.mkdir(parents=True, exist_ok=True)
        (layer / name).write_text(source, "utf-8")
    return layer
