"""Every bug of the bank is noticed by whoever should notice it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from tests.bugs.bank import BANK
from tests.bugs.bug import Bug
from tests.bugs.hunt import hunt, violations

BUGS_MIN = 30
OURS = ("fencepost", "tests.simulation")
FIRST_OF_AREAS = {bug.area: bug for bug in reversed(BANK)}
CASES = [
    pytest.param(bug, id=bug.name, marks=[] if bug is FIRST_OF_AREAS[bug.area] else pytest.mark.proof)
    for bug in BANK
]
WORLDS = sorted({(one.seed, one.hours) for one in BANK if one.by_a_world})


@pytest.mark.parametrize("bug", CASES)
def test_no_bug_goes_unnoticed(bug: Bug) -> None:
    """Some seconds for each bug: a world, or a test in a process of its own."""
    assert hunt(bug) is not None, f"{bug.caught_by} did not notice: {bug.explanation}"


@pytest.mark.proof
@pytest.mark.parametrize(("seed", "hours"), WORLDS)
def test_without_a_bug_nothing_is_noticed(seed: int, hours: float) -> None:
    """Some seconds for each world: hours of a whole fleet are simulated."""
    assert not violations(seed, hours)


def test_there_are_many_and_no_two_are_called_the_same() -> None:
    assert len(BANK) >= BUGS_MIN
    assert len({one.name for one in BANK}) == len(BANK)


def test_every_bug_says_what_goes_wrong() -> None:
    assert not [one.name for one in BANK if not (one.explanation and one.trap)]


def test_whoever_is_to_notice_a_bug_is_there() -> None:
    assert not [one.caught_by for one in BANK if not one.by_a_world and not _is_there(one.caught_by)]


def test_no_bug_leaves_anything_behind() -> None:
    """That each plants something, its own test shows: it goes noticed."""
    before = dict(_attributes())
    for bug in BANK:
        with bug.plant():
            pass
    assert dict(_attributes()) == before


def _is_there(test: str) -> bool:
    path, *names = test.partition("[")[0].split("::")
    found: object = import_module(path.removesuffix(".py").replace("/", "."))
    for name in names:
        found = getattr(found, name, None)
    return found is not None


def _attributes() -> Iterator[tuple[tuple[str, ...], int]]:
    """What every name of ours stands for: in modules, in their classes and in their tables of queries."""
    for module_name, module in sorted(sys.modules.items()):
        if module_name.startswith(OURS):
            for name, value in list(vars(module).items()):
                yield (module_name, name), id(value)
                for inner, what in _inside(value):
                    yield (module_name, name, inner), id(what)


def _inside(value: Any) -> list[tuple[str, Any]]:
    # By its real type: what only stands for something else, as Django's settings do, would look for it.
    if issubclass(type(value), type):
        return list(vars(value).items())
    if issubclass(type(value), dict):
        return [(str(key), what) for key, what in value.items() if isinstance(what, str)]
    return []
