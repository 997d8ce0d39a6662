"""The numbered files of a store's schema: the first makes the schema of its number, each other the next.

In a file `{tables}` and `{run_indexes}` stand for the files of these names, which all stores share. Any other
word in braces is what the database calls a kind of column."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

from fencepost.errors import SchemaMismatch
from fencepost.model.dataclasses import dataclass
from fencepost.model.tables import UNFINISHED, unfinished_copy

SHARED = ("tables", "run_indexes")
_WORD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Migration:
    """One numbered step."""

    number: int
    name: str
    script: str


def read_migrations(package: str, words: Mapping[str, str]) -> list[Migration]:
    """All steps of a store, in order, in the words of its database."""
    folder = resources.files(package).joinpath("migrations")
    files = [file for file in folder.iterdir() if file.name.endswith(".sql")]
    steps = [
        Migration(int(file.name[:4]), file.name.removesuffix(".sql"), _worded(file.read_text("utf-8"), words))
        for file in sorted(files, key=lambda file: file.name)
    ]
    first = steps[0].number
    assert [one.number for one in steps] == list(range(first, first + len(steps)))
    return steps


def _worded(script: str, words: Mapping[str, str]) -> str:
    for name in SHARED:
        if f"{{{name}}}" in script:
            text = resources.files(__package__).joinpath(f"{name}.sql").read_text("utf-8")
            script = script.replace(f"{{{name}}}", text)
    return _WORD.sub(lambda found: words[found[1]], script)


def missing(steps: list[Migration], schema: int, store: str) -> list[Migration]:
    """What a store of this schema still needs; 0 is a store without one."""
    first, last = steps[0].number, steps[-1].number
    if schema > UNFINISHED:
        raise SchemaMismatch(unfinished_copy(store))
    if schema > last:
        raise SchemaMismatch(
            f"store {store}: its schema is {schema} and this program knows only {last}; "
            "upgrade it: pip install --upgrade fencepost"
        )
    if 0 < schema < first:
        raise SchemaMismatch(
            f"store {store}: its schema is {schema} and this program migrates from {first} on; "
            "first run the fencepost migrate of an earlier commit, whose migrations begin at 1"
        )
    return [one for one in steps if one.number > schema]


def check_newest(steps: list[Migration], schema: int, store: str, *, unfinished: bool = False) -> None:
    """Refuse a store whose schema is not this program's, and one that is the `unfinished` target of a copy
    unless that is what is asked for."""
    schema = schema % UNFINISHED if unfinished else schema
    if missing(steps, schema, store):
        has = (
            f"its schema is {schema} and this program needs {steps[-1].number}"
            if schema
            else "it has no schema yet"
        )
        raise SchemaMismatch(f"store {store}: {has}; run: fencepost migrate --store {store}")
