"""What a program loads before it does anything. The number of modules decides how long a start takes, and
it does not depend on the load of the machine."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

IMPORT = "from fencepost import Fencepost"
DEFINE = f"""{IMPORT}
app = Fencepost("sqlite:///none.db")
@app.job()
def charge(invoice_id: int) -> None: ...
"""
COMMAND_LINE = "from fencepost.cli.main import main; main()"
VERSION = "sys.argv = ['fencepost', '--version']; from fencepost.__main__ import main; main()"

NODE = tuple(
    f"fencepost.{part}"
    for part in ("cli", "leases", "operations", "rules", "services", "stores", "web", "wiring")
)
DRIVERS = ("aiohttp", "apsw", "asyncpg", "click", "jinja2", "litestar", "opentelemetry", "prometheus_client")
LISTING_MAX = 300
SLOW = ("email", "importlib.metadata", "zoneinfo")


CALLED = """import sys
from contextlib import suppress
from fencepost.cli.main import main
sys.argv = ["fencepost", *{words}]
with suppress(SystemExit):
    main()"""


def loaded(program: str) -> set[str]:
    """What a fresh process loads for this program beyond what the interpreter itself does."""
    counting = f"import sys; before = set(sys.modules)\n{program}\nprint(*set(sys.modules) - before)"
    done = subprocess.run(
        [sys.executable, "-c", counting], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def ours(modules: set[str]) -> set[str]:
    return {one for one in modules if one.partition(".")[0] == "fencepost"}


def others(modules: set[str]) -> set[str]:
    """The packages that are neither ours nor the standard library's, which keeps its settings in a module
    that it does not list."""
    packages = {one.partition(".")[0] for one in modules - ours(modules)} - sys.stdlib_module_names
    return {one for one in packages if not one.startswith("_sysconfigdata")}


@pytest.mark.parametrize(("program", "most"), [(IMPORT, 56), (DEFINE, 57)])
def test_an_application_that_only_defines_jobs_loads_no_node(program: str, most: int) -> None:
    modules = loaded(program)
    assert modules & {*NODE, *DRIVERS, *SLOW, "fencepost.triggers"} == set()
    assert others(modules) <= {"msgspec", "typing_extensions"}
    assert len(ours(modules)) <= most, sorted(ours(modules))


@pytest.mark.parametrize(("trigger", "most"), [("Cron", 26), ("Every", 22), ("RRule", 30)])
def test_a_trigger_does_not_load_the_other_kinds(trigger: str, most: int) -> None:
    modules = loaded(f"from fencepost import {trigger}")
    assert modules & {"asyncio", "fencepost.app", "fencepost.triggers.solar"} == set()
    assert others(modules) == set()
    assert len(ours(modules)) <= most, sorted(ours(modules))


def test_the_version_is_said_without_the_command_line() -> None:
    modules = loaded(VERSION)
    assert modules & {*NODE, *DRIVERS, *SLOW, "typing"} == set()
    assert others(modules) == set()
    assert len(ours(modules)) <= 5, sorted(ours(modules))


HELP = [["--help"], ["schedules", "--help"], ["schedules", "list", "--help"], ["backfill", "-h"]]


@pytest.mark.parametrize("words", [["schedulse"], [], *HELP])
def test_help_loads_no_command(words: list[str]) -> None:
    modules = loaded(CALLED.format(words=words))
    assert modules & {*NODE, *DRIVERS, *SLOW, "asyncio", "msgspec"} - {"fencepost.cli", "click"} == set()
    assert ours(modules) <= {
        *(f"fencepost.cli{part}" for part in ("", ".main", ".groups", ".faults", ".nouns", ".written_help")),
        *("fencepost", "fencepost.errors", "fencepost.version", "fencepost.model", "fencepost.model.lazy"),
    }


def test_a_list_of_schedules_loads_no_node_no_server_and_no_job(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/fencepost.db"
    modules = loaded(CALLED.format(words=["migrate", "--store", store]))
    listing = loaded(CALLED.format(words=["schedules", "list", "--store", store]))
    assert "fencepost.stores.sqlite.store" in modules & listing
    parts = ("app", "assembly", "cli.remote", "executors", "manifest", "services.node", "web")
    assert listing & {f"fencepost.{part}" for part in parts} == set()
    assert len(ours(listing)) <= LISTING_MAX, sorted(ours(listing))


def test_a_command_that_a_server_carries_out_loads_no_store() -> None:
    words = ["queues", "list", "--server", "http://127.0.0.1:1", "--token", "a-token-of-32-characters-or-so-"]
    modules = loaded(CALLED.format(words=words))
    assert "fencepost.cli.remote" in modules
    assert modules & {"fencepost.stores", "fencepost.wiring", "fencepost.cli.local", "apsw"} == set()


def test_the_script_is_the_module() -> None:
    (script,) = entry_points(group="console_scripts", name="fencepost")
    assert script.value == "fencepost.__main__:main"


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["--versoin"]])
def test_the_module_says_what_the_command_line_says(words: list[str]) -> None:
    assert said("-m", "fencepost", *words) == said("-c", COMMAND_LINE, *words)


def said(*call: str) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, *call], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr
