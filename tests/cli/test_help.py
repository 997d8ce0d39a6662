"""Help is complete, and quick to come."""

import subprocess
import sys

import click
import pytest

import fencepost
from fencepost.cli.main import cli
from fencepost.cli.written_help import written_help
from scripts.docs import commands, helps
from tests.cli.calls import called

HELPS = dict(helps(cli, None))
ASKED_FOR_JSON = (
    *("next", "explain", "enqueue", "status", "migrate", "schedules", "calendars", "runs"),
    *("dead", "freeze", "thaw", "gate", "log", "backfill", "backfills", "drain", "reshard"),
    *("audit", "why", "simulate", "jobs"),
)
CHANGING = (
    *("enqueue", "freeze", "thaw", "backfill", "backfills cancel", "dead replay", "calendars set"),
    *("calendars remove", "gate open", "gate latest", "gate drop", "drain", "reshard"),
    *(f"runs {verb}" for verb in ("cancel", "skip", "hold", "release", "replay")),
    *(f"schedules {verb}" for verb in ("add", "edit", "pause", "resume", "remove", "trigger")),
    *(f"schedules {verb}" for verb in ("skip", "hold", "release")),
)
HEAVY = ("asyncio", "apsw", "msgspec", "fencepost.app", "fencepost.triggers", "fencepost.services")


@pytest.mark.parametrize("path", HELPS)
def test_every_command_has_an_example(path: str) -> None:
    assert f"Example:\n    {path}" in HELPS[path] or path in (
        "fencepost",
        "fencepost calendars",
        "fencepost runs",
        "fencepost schedules",
    )
    assert "Example:\n    fencepost" in HELPS[path]


@pytest.mark.parametrize(
    "path", [path for path in HELPS if path.split()[1:2] and path.split()[1] in ASKED_FOR_JSON]
)
def test_every_command_that_prints_data_takes_json(path: str) -> None:
    assert "--json" in HELPS[path] or "COMMAND" in HELPS[path]


@pytest.mark.parametrize("path", CHANGING)
def test_every_command_that_changes_something_takes_a_reason(path: str) -> None:
    assert "--reason TEXT" in HELPS[f"fencepost {path}"]


@pytest.mark.parametrize("path", ["run", "scheduler", "status", "doctor"])
def test_who_holds_or_shows_leases_can_be_told_where_they_live(path: str) -> None:
    assert "--leases URL" in HELPS[f"fencepost {path}"]
    assert "--leases URL" not in HELPS["fencepost worker"]


@pytest.mark.parametrize("path", [path for path in HELPS if "COMMAND" in HELPS[path]])
def test_no_line_of_help_is_cut(path: str) -> None:
    assert "..." not in HELPS[path].partition("Commands:")[2]


@pytest.mark.parametrize("width", [50, 80, 132])
def test_help_that_loads_no_command_does_not_differ_from_that_of_the_command(width: int) -> None:
    for command, context in commands(cli, None):
        path = context.command_path.removeprefix("fencepost ")
        if isinstance(command, click.Group):
            assert written_help(path) is None
        else:
            context.terminal_width = width
            assert written_help(path, terminal_width=width) == command.get_help(context), path


def test_the_version_is_said() -> None:
    assert called("--version") == f"fencepost {fencepost.__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from fencepost.cli.main import cli; "
        "cli.get_help(cli.make_context('', ['status'])); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(HEAVY) & set(done.stdout.split()) == set()
