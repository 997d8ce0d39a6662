"""`fencepost drain`: a node that lets go, and whoever waits for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import call, called, called_json, refused
from tests.cli.processes import SIGINT, Process, started
from tests.servers.process import wait_until

BRISK = {
    "FENCEPOST_LEASE_TTL_S": "4",
    "FENCEPOST_LEASE_RENEW_DEADLINE_S": "2.5",
    "FENCEPOST_LEASE_RETRY_PERIOD_S": "0.3",
}
SHOP = """
from pathlib import Path
import asyncio
from fencepost import Fencepost

app = Fencepost()

@app.job()
async def long(until: str) -> None:
    print("long has begun", flush=True)
    while not Path(until).exists():
        await asyncio.sleep(0.02)
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


@contextmanager
def serving(shop: Path, url: str, verb: str = "run") -> Iterator[Process]:
    with started(verb, "shop:app", "--store", url, folder=shop, **BRISK) as process:
        process.wait_for("node started")
        if verb != "worker":
            process.wait_for("leads shard")
        yield process


def node_of(process: Process, url: str) -> Any:
    """The node of a process, whatever it does, once it has given its first sign of life."""

    def look() -> Any:
        status = called_json("status", "--store", url)
        return next(
            (one for one in (*status["nodes"], *status["workers"]) if one["pid"] == process.pid), None
        )

    return wait_until(look, lambda: f"the node never showed up:\n{process.said}")


def enqueue(key: str, until: Path, url: str) -> None:
    """A run that goes on until there is such a file."""
    payload = json.dumps({"until": str(until)})
    called("enqueue", "long", "--key", key, "--payload", payload, "--store", url)


def test_a_drained_node_hands_over_its_shards_and_is_taken_back(shop: Path, url: str) -> None:
    with serving(shop, url) as first, serving(shop, url) as second:
        name, other = node_of(first, url)["node_id"], node_of(second, url)["node_id"]
        result = call("drain", name, "--reason", "new kernel", "--json", "--store", url)
        assert result.exit_code == 0, result.output
        drained = {"node_id": name, "changed": True, "state": "drained", "leads": 0, "running": 0}
        assert json.loads(result.stdout) == drained
        second.wait_for("leads shard")
        status = called_json("status", "--store", url)
        assert {one["node_id"]: one["draining"] for one in status["nodes"]} == {name: True, other: False}
        assert "draining" in called("status", "--store", url)

        again = called("drain", name, "--store", url)
        assert f"{name}: drained, it leads and runs nothing" in again
        assert called("drain", name, "--undo", "--store", url) == f"{name}: plans and works again\n"
        assert called("drain", name, "--undo", "--store", url) == f"{name}: was not draining\n"
        first.wait_for("leads shard")
        log = called_json("log", "--subject", name, "--store", url)
        assert [one["action"] for one in log] == ["node.undrain", "node.drain"]
        assert log[1]["reason"] == "new kernel"


def test_a_drain_waits_for_what_runs_and_starts_nothing_more(shop: Path, url: str) -> None:
    with serving(shop, url, "worker") as worker:
        name, go = node_of(worker, url)["node_id"], shop / "go"
        enqueue("a", go, url)
        worker.wait_for("long has begun")
        result = call("drain", name, "--timeout", "2s", "--store", url)
        assert result.exit_code == 1
        assert f"{name}: not drained within 2s: it leads no shards and has 1 run going" in result.stdout
        assert "warning: no other node works\n" in result.stderr
        enqueue("b", go, url)
        go.touch()
        assert called_json("drain", name, "--store", url)["state"] == "drained"
        states = {one["run_key"]: one["state"] for one in called_json("runs", "list", "--store", url)}
        assert states == {"long#a": "succeeded", "long#b": "ready"}
        called("drain", name, "--undo", "--store", url)
        worker.wait_for("long has begun")


def test_ctrl_c_ends_the_waiting_and_not_the_drain(shop: Path, url: str) -> None:
    with serving(shop, url) as node:
        name = node_of(node, url)["node_id"]
        enqueue("a", shop / "never", url)
        node.wait_for("long has begun")
        with started("drain", name, "--store", url, folder=shop) as drain:
            drain.wait_for("waiting for it to be idle")
            drain.signal(SIGINT)
            assert drain.ended() == 130, drain.said
        assert drain.lines[-1] == (
            f"it goes on draining by itself; take it back with: fencepost drain {name} --undo"
        )
        assert "Traceback" not in drain.said
        assert node_of(node, url)["draining"] is True


def test_who_takes_a_node_back_ends_anothers_waiting(shop: Path, url: str) -> None:
    with serving(shop, url) as node:
        name = node_of(node, url)["node_id"]
        enqueue("a", shop / "never", url)
        node.wait_for("long has begun")
        with started("drain", name, "--store", url, folder=shop) as drain:
            drain.wait_for("waiting for it to be idle")
            called("drain", name, "--undo", "--store", url)
            assert drain.ended() == 1, drain.said
        assert drain.lines[-1] == f"{name}: was taken back meanwhile"


def test_a_node_that_stops_meanwhile_needs_no_more_waiting(shop: Path, url: str) -> None:
    with serving(shop, url) as node:
        name = node_of(node, url)["node_id"]
        enqueue("a", shop / "never", url)
        node.wait_for("long has begun")
        with started("drain", name, "--store", url, folder=shop) as drain:
            drain.wait_for("waiting for it to be idle")
            node.signal(SIGINT)
            node.wait_for("stopping")
            node.signal(SIGINT)
            assert drain.ended() == 0, drain.said
        assert drain.lines[-1] == f"{name}: is not alive any more"


def test_without_waiting_it_is_only_asked(shop: Path, url: str) -> None:
    with serving(shop, url) as node:
        name = node_of(node, url)["node_id"]
        prefix = name.rpartition("-")[0]
        asked = called_json("drain", prefix, "--no-wait", "--store", url)
        assert (asked["node_id"], asked["state"], asked["changed"]) == (name, "draining", True)
        again = called("drain", prefix, "--no-wait", "--store", url)
        assert again.startswith(f"{name}: draining, it leads ")


def test_a_node_that_is_not_there_is_a_no(used: str) -> None:
    result = call("drain", "web-9", "--store", used)
    said = "node web-9: no live node is called so; see: fencepost status\n"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", said)
    result = call("drain", "web-9", "--json", "--store", used)
    assert result.exit_code == 1
    nobody = {"node_id": None, "changed": False, "state": "absent", "leads": 0, "running": 0}
    assert json.loads(result.stdout) == nobody


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'NODE'"),
        (("",), "expected an id or the beginning of one"),
        (("x", "--timeout", "soon"), '--timeout: duration "soon"'),
        (("x", "--timeout", "1m", "--undo"), "--timeout: has no meaning with --no-wait or --undo"),
    ],
)
def test_a_wrong_call_is_refused(arguments: tuple[str, ...], said: str, used: str) -> None:
    assert said in refused("drain", *arguments, "--store", used)
