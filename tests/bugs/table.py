"""The table of the bank: which bug is noticed by whom, and how soon.

Worlds are tried in the order of their seeds, as if nobody knew which of them shows what.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

from tests.bugs.bank import BY_NAME
from tests.bugs.hunt import hunt

PROCESSES = 2


@dataclass(frozen=True)
class Line:
    """One bug of the table."""

    area: str
    name: str
    trap: str
    caught_by: str
    worlds: int | None
    """How many it took; none where a test is enough."""
    violation: str | None
    """What was said; nothing where the bug went unnoticed."""


def hunted(names: Sequence[str], seeds_max: int) -> Iterator[Line]:
    """Each bug as soon as it is known who noticed it."""
    with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as pool:
        hunts = [pool.submit(_line, name, seeds_max) for name in names]
        for one in as_completed(hunts):
            yield one.result()


def _line(name: str, seeds_max: int) -> Line:
    bug = BY_NAME[name]
    catch = hunt(bug, seeds_max, blindly=True)
    worlds = catch.worlds if catch is not None and bug.by_a_world else None
    said = None if catch is None else catch.violation
    return Line(bug.area, bug.name, bug.trap, bug.caught_by, worlds, said)


def table_of(lines: Sequence[Line]) -> str:
    rows = ["| area | bug | the trap | noticed by | worlds |", "| --- | --- | --- | --- | ---: |"]
    rows += [
        f"| {one.area} | {one.name.replace('_', ' ')} | {one.trap} | {_by(one)} | {_worlds(one)} |"
        for one in lines
    ]
    noticed = sum(one.violation is not None for one in lines)
    by_worlds = sum(one.worlds is not None for one in lines)
    rows += ["", f"{noticed} of {len(lines)} bugs were noticed, {by_worlds} of them in simulated worlds."]
    return "\n".join(rows)


def _by(line: Line) -> str:
    if line.violation is None:
        return "nobody"
    path, _, test = line.caught_by.rpartition("::")
    return f"`{test}` ({path.partition('::')[0]})" if path else line.caught_by


def _worlds(line: Line) -> str:
    return "a test" if line.worlds is None else str(line.worlds)
