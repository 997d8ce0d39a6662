"""The compose files: the Compose Specification takes them, and they start processes that exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from fencepost.cli.main import cli
from fencepost.cli.serving import LAST_RESORT_S
from fencepost.config import settings_from
from fencepost.model.variables import PREFIX
from tests.deploy.promtool import PROMETHEUS, needs_promtool, promtool

FOLDER = Path(__file__).parents[2] / "deploy" / "compose"
FLEETS = (
    ("compose.yaml",),
    ("compose.yaml", "compose.etcd.yaml"),
    ("compose.mongodb.yaml",),
)
VARIABLE = re.compile(r"\$\{(\w+):\?[^}]*\}")
each_fleet = pytest.mark.parametrize("files", FLEETS, ids="+".join)

Service = dict[str, Any]


def compose_tool() -> Path | None:
    """See scripts/compose-tool."""
    given = os.environ.get("FENCEPOST_TEST_COMPOSE")
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost"
    return Path(given) if given else next(iter(sorted(cached.glob("compose-spec-*"))), None)


TOOL = compose_tool()


@pytest.mark.skipif(TOOL is None, reason="no program for compose files: scripts/compose-tool builds it")
@each_fleet
def test_the_specification_takes_the_files(files: tuple[str, ...]) -> None:
    command = [str(TOOL), "-no-interpolation", "-format", "json", *files]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert {*json.loads(done.stdout)["services"]} == {*services(files)}


@each_fleet
def test_three_plan_and_five_work(files: tuple[str, ...]) -> None:
    replicas = {name: one["deploy"]["replicas"] for name, one in services(files).items() if one.get("deploy")}
    assert replicas == {"scheduler": 3, "worker": 5}


@each_fleet
def test_every_process_is_a_command_with_settings_that_exist(files: tuple[str, ...]) -> None:
    for one in ours(files).values():
        name, *arguments = one["command"]
        with click.Context(cli) as context:
            command = cli.get_command(context, name)
            assert command is not None
            command.make_context(name, arguments, parent=context).close()
        settings = settings_from(environment=filled(one["environment"]))
        grace_s = settings.grace_s
        assert int(one["stop_grace_period"].removesuffix("s")) > grace_s + LAST_RESORT_S


@each_fleet
def test_every_server_that_an_address_names_is_waited_for(files: tuple[str, ...]) -> None:
    """Those of a store by the migration, which comes first."""
    known = services(files)
    for name, one in ours(files).items():
        addresses = " ".join(
            value for key, value in one["environment"].items() if key in (f"{PREFIX}STORE", f"{PREFIX}BROKER")
        )
        named = {server for server in known if re.search(rf"[@/,]{server}\b", addresses)}
        assert named
        assert named <= waited_for(name, known) | {name}


@each_fleet
def test_no_process_is_root_or_writes_to_its_file_system(files: tuple[str, ...]) -> None:
    for one in ours(files).values():
        assert one["read_only"]
        assert one["cap_drop"] == ["ALL"]
        assert one["security_opt"] == ["no-new-privileges:true"]


@each_fleet
def test_every_variable_is_in_the_example(files: tuple[str, ...]) -> None:
    example = set(re.findall(r"^(\w+)=", (FOLDER / "example.env").read_text(), re.MULTILINE))
    used = {name for file in files for name in VARIABLE.findall((FOLDER / file).read_text())}
    assert used <= example


@each_fleet
def test_only_this_host_reaches_a_port(files: tuple[str, ...]) -> None:
    ports = [port for one in services(files).values() for port in one.get("ports", ())]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


@each_fleet
def test_every_file_that_is_mounted_is_there(files: tuple[str, ...]) -> None:
    mounted = [
        volume.split(":")[0]
        for one in services(files).values()
        for volume in one.get("volumes", ())
        if volume.startswith(".")
    ]
    assert [path for path in mounted if not (FOLDER / path).is_file()] == []


@needs_promtool
def test_prometheus_takes_its_file(tmp_path: Path) -> None:
    for path in (FOLDER / "prometheus.yml", PROMETHEUS / "fencepost.rules.yml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    done = promtool("check", "config", tmp_path / "prometheus.yml")
    assert done.returncode == 0, done.stdout.decode()


@cache
def services(files: tuple[str, ...]) -> dict[str, Service]:
    """The services of all files: those of a later one add to those before."""
    found: dict[str, Service] = {}
    for file in files:
        for name, one in yaml.safe_load((FOLDER / file).read_text())["services"].items():
            before = found.get(name, {})
            both = {
                key: before[key] | one[key]
                for key in before.keys() & one.keys()
                if isinstance(before[key], dict)
            }
            found[name] = before | one | both
    return found


def ours(files: tuple[str, ...]) -> dict[str, Service]:
    return {name: one for name, one in services(files).items() if one.get("image") == "shop"}


def waited_for(name: str, known: dict[str, Service]) -> set[str]:
    """What is up before a service starts, and before those."""
    direct = set(known[name].get("depends_on", ()))
    return direct.union(*(waited_for(one, known) for one in direct))


def filled(environment: dict[str, str]) -> dict[str, str]:
    """With something in place of each variable."""
    return {name: VARIABLE.sub("x" * 32, value) for name, value in environment.items()}
