"""The same commands at a store and through a server: the same words, documents and exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.calls import call, called, called_json
from tests.cli.processes import SIGINT, started
from tests.servers.ports import free_port
from tests.servers.process import wait_until

SHOP = """
from fencepost import Every, Fencepost

app = Fencepost()

@app.job(schedule=Every("1h", anchor="2026-01-01T00:30:00Z"), labels={"team": "ops"})
async def report() -> None: ...
"""
RANGE = ("--from", "2026-01-01T00:30:00Z", "--to", "2026-01-01T05:30:00Z")


@dataclass(frozen=True)
class Shop:
    """A store, and a server of it with tokens that are good for various things."""

    folder: Path
    store: str
    server: str
    admin: str
    viewer: str

    def here(self, *arguments: str) -> Result:
        return call(*arguments, "--store", self.store)

    def there(self, *arguments: str, token: str | None = None) -> Result:
        return call(*arguments, FENCEPOST_SERVER=self.server, FENCEPOST_TOKEN=token or self.admin)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    store, port = f"sqlite:///{folder / 'store.db'}", free_port()
    called("migrate", "--store", store)
    create = ("token", "create", "--store", store)
    admin = called(*create, "boss", "--role", "admin", "--namespace", "*").strip()
    viewer = called(*create, "eye", "--role", "viewer", "--namespace", "billing").strip()
    arguments = ("run", "shop:app", "--bind", f"127.0.0.1:{port}", "--store", store)
    with started(
        *arguments, folder=folder, FENCEPOST_TOKEN="a-token-of-the-tests-with-32-characters"
    ) as process:
        process.wait_for("web serving")
        yield Shop(folder, store, f"http://127.0.0.1:{port}", admin, viewer)
        process.signal(SIGINT)
        process.ended()


def told(result: Result) -> tuple[int, str, str]:
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    "question",
    [
        ("gate", "list"),
        ("gate", "list", "--json"),
        ("gate", "open", "report"),
        ("gate", "drop", "report"),
        ("thaw",),
        ("thaw", "--label", "x"),
        ("queues", "resume", "nothing", "--json"),
        ("queues", "pause", "a b"),
        ("backfill", "report", *RANGE, "--dry-run"),
        ("backfill", "report", *RANGE, "--dry-run", "--json", "--parallel", "3"),
        ("backfill", "reprt", *RANGE, "--dry-run"),
        ("backfill", "report", "--from", "1d", "--to", "2999-01-01", "--dry-run"),
        ("backfills", "show", "99"),
        ("drain", "nobody"),
        ("drain", "nobody", "--json"),
        ("reshard", "8", "--json"),
        ("token", "list", "--namespace", "billing"),
        ("token", "rotate", "t1"),
    ],
    ids=" ".join,
)
def test_a_server_says_what_the_store_says(question: tuple[str, ...], shop: Shop) -> None:
    here, there = told(shop.here(*question)), told(shop.there(*question))
    if question == ("queues", "pause", "a b"):
        assert here[0] == there[0] == 2
    else:
        assert there == here


@pytest.mark.parametrize("question", [("status",), ("leases",), ("queues", "list"), ("backfills", "list")])
def test_documents_have_the_same_names(question: tuple[str, ...], shop: Shop) -> None:
    here, there = (json.loads(one(*question, "--json").stdout) for one in (shop.here, shop.there))
    assert type(here) is type(there)
    assert [*here] == [*there] if isinstance(here, dict) else len(here) == len(there)


def test_a_freeze_through_a_server_is_one_of_the_store(shop: Shop) -> None:
    frozen = shop.there("freeze", "--label", "team=ops", "--reason", "inventory")
    assert told(frozen) == (0, "frozen: label team=ops, 1 schedule\n", "")
    assert told(shop.here("freeze", "--label", "team=ops"))[:2] == (1, "label team=ops: was frozen already\n")
    (entry,) = called_json("log", "--action", "freeze", "--limit", "1", "--store", shop.store)
    assert (entry["author"], entry["reason"]) == ("boss", "inventory")
    assert entry["source"].startswith("api from 127.0.0.1")
    assert told(shop.there("thaw", "--label", "team=ops")) == (0, "thawed: label team=ops, 1 schedule\n", "")


def test_a_backfill_is_filled_and_watched_through_a_server(shop: Shop) -> None:
    result = shop.there("backfill", "report", *RANGE)
    assert result.exit_code == 0, result.output
    assert re.search(r"^to run +6$", result.stdout, re.MULTILINE)
    assert "6 (6 succeeded)" in result.stdout
    assert "started" in result.stderr
    again = shop.there("backfill", "report", *RANGE, "--json")
    assert json.loads(again.stdout)["to_run"] == 0


def test_ctrl_c_leaves_a_backfill_to_the_server(shop: Shop) -> None:
    shop.here("freeze", "--schedule", "report")
    watched = ("backfill", "report", "--from", "2025-01-01T00:30:00Z", "--to", "2025-01-01T03:30:00Z")
    run_context = {"FENCEPOST_SERVER": shop.server, "FENCEPOST_TOKEN": shop.admin}
    with started(*watched, folder=shop.folder, **run_context) as process:
        process.wait_for("started")
        wait_until(lambda: latest(shop)["runs"].get("ready") == 4, lambda: f"not filled: {latest(shop)}")
        process.signal(SIGINT)
        assert process.ended() == 130, process.said
    assert "it goes on by itself; watch it with: fencepost backfills watch" in process.said
    assert "Traceback" not in process.said
    shop.here("thaw", "--schedule", "report")
    number = str(latest(shop)["backfill_id"])
    assert json.loads(shop.there("backfills", "watch", number, "--json").stdout)["runs"] == {"succeeded": 4}


def latest(shop: Shop) -> dict[str, Any]:
    found: dict[str, Any] = called_json("backfills", "list", "--limit", "1", "--store", shop.store)[0]
    return found


def test_a_token_is_told_what_it_is_good_for_and_stopped_at_the_rest(shop: Shop) -> None:
    who = json.loads(shop.there("whoami", "--json", token=shop.viewer).stdout)
    assert (who["role"], who["namespace"], who["came"]) == ("viewer", "billing", "token")
    for verb in (("queues", "pause", "mail"), ("reshard", "3"), ("token", "list"), ("drain", "x", "--undo")):
        result = shop.there(*verb, token=shop.viewer)
        code = 1 if verb[0] == "drain" else 2
        assert (result.exit_code, result.stdout) == (code, ""), verb
    assert "report" not in shop.there("status", "--json", token=shop.viewer).stdout


def test_a_token_that_is_made_through_a_server_opens_it_until_it_is_revoked(shop: Shop) -> None:
    made = json.loads(shop.there("token", "create", "ci", "--role", "viewer", "--json").stdout)
    assert shop.there("status", token=made["token"]).exit_code == 0
    assert shop.there("token", "revoke", made["token_id"]).exit_code == 0
    wait_until(lambda: shop.there("whoami", token=made["token"]).exit_code == 2, lambda: "it is still let in")
    for file in shop.folder.glob("store.db*"):
        assert made["token"].encode() not in file.read_bytes()


def test_the_lease_store_of_a_server_is_its_own(shop: Shop) -> None:
    result = shop.there("status", "--leases", "redis://127.0.0.1:1")
    assert result.exit_code == 2
    assert "--leases: a server looks at its own" in result.stderr
