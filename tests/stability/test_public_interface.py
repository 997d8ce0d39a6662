"""What users build on does not change unnoticed: Python names, HTTP, commands, settings, metrics, extras.

The files beside this test hold the interface, one promise a line. `make interface` writes them anew.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest

from fencepost import Fencepost
from fencepost.cli.main import cli
from fencepost.config import setting_names
from fencepost.telemetry import catalogue
from scripts import public_interface
from scripts.public_interface import FOLDER, interface

POLICY = "docs/guides/versions-and-deprecation.md"
REFRESH = "make interface"


@pytest.fixture(scope="module")
def current() -> dict[str, list[str]]:
    return interface()


@pytest.mark.parametrize("name", sorted(one.name for one in FOLDER.glob("*.txt")))
def test_no_promise_of_the_interface_is_broken_or_made_unnoticed(
    name: str, current: dict[str, list[str]]
) -> None:
    before = (FOLDER / name).read_text("utf-8").splitlines()
    report = "\n".join(differences(before, current[name]))
    assert not report, report


def test_no_part_of_the_interface_is_without_its_file(current: dict[str, list[str]]) -> None:
    assert {one.name for one in FOLDER.glob("*.txt")} == set(current)


def differences(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """What broke, what is new, and what is owed for it; nothing where all is as it was."""
    gone, new = sorted(set(before) - set(now)), sorted(set(now) - set(before))
    if gone:
        yield "The public interface broke. These lines are gone, or read otherwise now:"
        yield from (f"  - {one}" for one in gone)
    if new:
        yield "These lines are new:"
        yield from (f"  + {one}" for one in new)
    if gone:
        yield f"Keep what users call until its deprecation has run out: {POLICY}."
        yield f"Where it may go: name it in CHANGELOG.md under Removed or Changed, then run: {REFRESH}"
    elif new:
        yield f"Name what users gain in CHANGELOG.md under Added, then run: {REFRESH}"


def test_a_broken_promise_is_not_told_without_what_broke_and_what_is_owed() -> None:
    told = "\n".join(differences(["def a(x: int)", "def b()"], ["def a(x: str)", "def b()"]))
    assert "  - def a(x: int)\n" in told
    assert "  + def a(x: str)\n" in told
    assert "def b()" not in told
    assert POLICY in told
    assert "CHANGELOG.md" in told
    assert (Path(__file__).parents[2] / POLICY).exists()


def test_a_new_promise_is_not_told_as_broken() -> None:
    told = "\n".join(differences(["def a()"], ["def a()", "def b()"]))
    assert "broke" not in told
    assert REFRESH in told


def test_a_changed_signature_does_not_go_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def node(self: Fencepost, plans: bool) -> None: ...

    monkeypatch.setattr(Fencepost, "node", node)
    (gone,) = gone_from("python.txt")
    assert gone.startswith("async def fencepost.Fencepost.node(self, *, plans: bool = True")


def test_a_lost_option_a_lost_field_and_a_lost_setting_do_not_go_unnoticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with cli.make_context("fencepost", [], resilient_parsing=True) as context:
        audit = cli.get_command(context, "audit")
    assert audit is not None
    monkeypatch.setattr(audit, "params", [one for one in audit.params if not is_named(one, "--json")])
    monkeypatch.setattr(catalogue, "RUNS", None)
    assert "fencepost audit --json: flag" in gone_from("commands.txt")
    assert any(one.startswith("metric job_run_total ") for one in gone_from("names.txt"))
    assert f"setting {setting_names()[0]}" in lines("names.txt")


def is_named(one: click.Parameter, option: str) -> bool:
    return option in one.opts


def gone_from(name: str) -> set[str]:
    return set((FOLDER / name).read_text("utf-8").splitlines()) - set(lines(name))


def lines(name: str) -> list[str]:
    makers = {
        "python.txt": lambda: [*public_interface.python_lines(), *public_interface.error_lines()],
        "commands.txt": public_interface.command_lines,
        "names.txt": public_interface.name_lines,
    }
    return sorted(set(makers[name]()))
