"""A command that a server carries out says the same as one that opens the store: the same words, the same
documents, the same refusals, the same exit codes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.beats import beat, keys, spoil
from tests.cli.calls import call
from tests.cli.processes import started
from tests.cli.test_audit import DELETE
from tests.cli.test_dead import burn_many
from tests.servers.ports import free_port

TOKEN = "a-token-of-the-tests-with-32-characters"
HANG = """
    UPDATE runs SET state = 'running', finished_at = NULL, alive_until = started_at + 3600000000
     WHERE run_key = ?
"""
MANIFEST = """
[jobs.greet]
command = ["/bin/true"]
"""


@dataclass(frozen=True)
class Both:
    """A store, and a server before it."""

    store: str
    server: str
    fire_time: str

    def here(self, *command: str) -> Result:
        return call(*command, "--store", self.store)

    def there(self, *command: str) -> Result:
        return call(*command, "--server", self.server, "--token", TOKEN)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A beat with a tick that is missing and one that hangs, and three dead runs."""
    folder = tmp_path_factory.mktemp("served")
    store = f"sqlite:///{folder / 'store.db'}"
    beat(store)
    *_, gone, silent = keys(store)[:6]
    asyncio.run(burn_many(store, 3))
    spoil(store, DELETE, gone)
    spoil(store, HANG, silent)
    manifest = folder / "fencepost.toml"
    manifest.write_text(MANIFEST)
    place = f"127.0.0.1:{free_port()}"
    web = ("web", str(manifest), "--bind", place, "--store", store)
    with started(*web, folder=folder, FENCEPOST_TOKEN=TOKEN) as process:
        process.wait_for("web serving")
        yield Both(store, f"http://{place}", gone.split("#")[1])


def said(result: Result) -> tuple[int, str, str]:
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("dead", "list"),
        ("dead", "list", "--limit", "2", "--error", "fuel", "--since", "1h", "--json"),
        ("dead", "list", "--job", "report"),
        ("dead", "show", "burn#1"),
        ("dead", "show", "burn#1", "--json"),
        ("dead", "show", "burn#9"),
        ("dead", "replay", "--all", "--dry-run", "--rate", "1/m"),
        ("dead", "replay", "burn#1", "burn#0", "--dry-run", "--json"),
        ("dead", "replay", "burn#1", "burn#9"),
        ("dead", "replay"),
        ("why", "beat", "FIRE_TIME"),
        ("why", "beat#FIRE_TIME#1", "--json"),
        ("why", "burn#1"),
        ("why", "beatt", "FIRE_TIME"),
        ("why", "beat"),
        ("audit", "beat", "--from", "FIRE_TIME", "--to", "FIRE_TIME"),
        ("audit", "beat", "--from", "FIRE_TIME", "--to", "FIRE_TIME", "--json"),
        ("audit", "beatt"),
        ("audit", "--from", "1h", "--to", "2h"),
        ("log", "--until", "FIRE_TIME"),
        ("log", "--action", "schedule.put", "--json"),
        ("log", "--limit", "1"),
        ("log", "--action", "run.repaly"),
        ("jobs", "list"),
        ("jobs", "list", "--text", "re", "--json"),
        ("jobs", "show", "burn"),
        ("jobs", "show", "bern"),
        ("runs", "stuck", "--older-than", "ages"),
        ("runs", "cancel", "burn#0", "burn#9"),
        ("runs", "cancel", "burn#0", "burn#9", "--json"),
        ("enqueue", "greeet"),
        ("enqueue", "report", "--payload", '{"x": 1}'),
        ("enqueue", "report", "--key", "a#b"),
    ],
    ids=" ".join,
)
def test_both_say_the_same(command: tuple[str, ...], both: Both) -> None:
    meant = tuple(one.replace("FIRE_TIME", both.fire_time) for one in command)
    assert said(both.there(*meant)) == said(both.here(*meant))


def test_both_compare_a_list_alike(both: Both, tmp_path: Path) -> None:
    path = tmp_path / "sent.csv"
    path.write_text(f"run_key\nburn#0\nburn#9\nbeat#{both.fire_time}#1\n")
    for command in (
        ("audit", "--against", str(path)),
        ("audit", "beat", "--against", str(path), "--job", "report"),
    ):
        bounds = ("--from", "2026-01-01T00:00:00Z", "--to", both.fire_time)
        there, here = (said(one(*command, *bounds)) for one in (both.there, both.here))
        assert there == here
        assert there[0] == 1
        assert there[1]


def stuck(result: Result) -> Any:
    """What is stuck, but for how long it has been."""
    assert result.exit_code == 1
    return [{**one, "why": None, "age_s": None} for one in json.loads(result.stdout)]


def test_what_is_stuck_is_stuck_there_too(both: Both) -> None:
    command = ("runs", "stuck", "--older-than", "1s", "--json")
    assert stuck(both.there(*command)) == stuck(both.here(*command)) != []


def test_what_a_server_does_is_done_once_and_in_the_tokens_name(both: Both) -> None:
    first = both.there("enqueue", "report", "--key", "k", "--reason", "a try")
    assert said(first) == (0, "report#k\n", "")
    assert said(both.here("enqueue", "report", "--key", "k")) == said(
        both.there("enqueue", "report", "--key", "k")
    )
    (entry,) = json.loads(both.here("log", "--subject", "report#k", "--json").stdout)
    assert (entry["action"], entry["reason"]) == ("run.enqueue", "a try")
    assert entry["source"].startswith("api")


def test_a_replay_and_a_repair_by_a_server(both: Both) -> None:
    replayed = both.there("dead", "replay", "--error", "fuel", "--yes", "--reason", "refuelled")
    assert said(replayed) == (0, "3 replayed\n", "")
    assert both.here("dead", "list").stderr == "no runs\n"
    again = both.there("dead", "replay", "burn#0")
    assert (again.exit_code, again.stderr) == (2, both.here("dead", "replay", "burn#0").stderr)
    key = f"beat#{both.fire_time}#1"
    repair = ("audit", "beat", "--from", both.fire_time, "--to", both.fire_time, "--repair", "--json")
    assert json.loads(both.there(*repair).stdout)["repaired"] == [key]
    assert json.loads(both.here("runs", "show", key, "--json").stdout)["state"] in ("planned", "ready")
    assert json.loads(both.there(*repair).stdout)["repaired"] == []
