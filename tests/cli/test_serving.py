"""`run`, `scheduler` and `worker` as real processes: what they serve, and how they end."""

import json
from pathlib import Path
from signal import Signals
from typing import Any

import pytest

from tests.cli.calls import called, called_json
from tests.cli.processes import SIGINT, SIGKILL, SIGTERM, Process, started
from tests.servers.process import wait_until

SHOP = """
import asyncio, gc, threading
from fencepost import Every, Fencepost

app = Fencepost("sqlite:///elsewhere.db", grace_s=20)
patient = Fencepost(grace_s=0.2)

@app.job(schedule=Every("200ms"), overlap="allow")
async def tick(): ...

@app.job()
async def long(seconds: float) -> None:
    print("long has begun", flush=True)
    await asyncio.sleep(seconds)

@app.job()
async def settled() -> None:
    print(f"settled: {gc.get_freeze_count() > 10_000}", flush=True)

@patient.job()
async def deaf() -> None:
    print("deaf has begun", flush=True)
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

@patient.job()
def stubborn() -> None:
    print("stubborn has begun", flush=True)
    threading.Event().wait(3600)
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    return tmp_path


def served(process: Process) -> None:
    process.wait_for("node started")


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_one_signal_stops_cleanly(number: Signals, shop: Path, url: str) -> None:
    with started("run", "shop:app", "--store", url, folder=shop) as process:
        process.wait_for("succeeded")
        process.signal(number)
        assert process.ended() == 0, process.said
    status = called_json("status", "--store", url)
    assert (status["nodes"], status["workers"], status["queue"]["running"]) == ([], [], 0)
    assert {shard["holder"] for shard in status["shards"]} == {None}
    assert not (shop / "elsewhere.db").exists()


def test_it_says_what_it_serves(shop: Path, url: str) -> None:
    with started("run", "shop:app", "--queues", "default,bulk", folder=shop, FENCEPOST_STORE=url) as process:
        assert "url=sqlite:///elsewhere.db" in process.wait_for("serving store")
        assert "schedules=1" in process.wait_for("serving plans")
        assert "jobs=long,settled,tick queues=default,bulk concurrency=20" in process.wait_for(
            "serving works"
        )


def test_what_was_loaded_is_not_looked_through_for_garbage_again(shop: Path, url: str) -> None:
    with started("run", "shop:app", "--store", url, folder=shop) as process:
        served(process)
        called("enqueue", "settled", "--store", url)
        assert "True" in process.wait_for("settled: ")


def test_a_running_job_may_finish_within_the_grace(shop: Path, url: str) -> None:
    with started("run", "shop:app", "--store", url, folder=shop) as process:
        served(process)
        called("enqueue", "long", "--key", "a", "--payload", '{"seconds": 1}', "--store", url)
        process.wait_for("long has begun")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    assert called_json("runs", "show", "long#a", "--store", url)["state"] == "succeeded"


def test_a_second_signal_waits_for_nothing(shop: Path, url: str) -> None:
    with started("run", "shop:app", "--store", url, folder=shop) as process:
        served(process)
        called("enqueue", "long", "--key", "a", "--payload", '{"seconds": 3600}', "--store", url)
        process.wait_for("long has begun")
        process.signal(SIGINT)
        process.wait_for("stopping")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    assert called_json("runs", "show", "long#a", "--store", url)["state"] in ("ready", "running")


def test_a_thread_that_cannot_be_stopped_does_not_hold_the_process(shop: Path, url: str) -> None:
    with started("run", "shop:patient", "--store", url, folder=shop) as process:
        served(process)
        called("enqueue", "stubborn", "--key", "a", "--store", url)
        process.wait_for("stubborn has begun")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert called_json("runs", "show", "stubborn#a", "--store", url)["state"] == "running"


def test_a_scheduler_plans_and_a_worker_works(shop: Path, url: str) -> None:
    with started("scheduler", "shop:app", "--store", url, folder=shop) as scheduler:
        scheduler.wait_to_lead(range(8))
        (node,) = called_json("status", "--store", url)["nodes"]
        assert node["pid"] == scheduler.pid
        assert called_json("runs", "list", "--state", "succeeded", "--store", url) == []
        with started("worker", "shop:app", "--store", url, folder=shop) as worker:
            worker.wait_for("succeeded")
            status = called_json("status", "--store", url)
            assert [one["pid"] for one in status["workers"]] == [worker.pid]
            assert {one["holder"] for one in status["shards"]} == {node["node_id"]}
            assert f"{worker.pid}" in called("status", "--store", url)


def test_a_node_that_was_given_a_name_shows_it_and_no_two_are_the_same(shop: Path, url: str) -> None:
    scheduler = ("scheduler", "shop:app", "--node", "planner-1", "--store", url)
    with started(*scheduler, folder=shop) as first, started(*scheduler, folder=shop) as second:
        for process in (first, second):
            process.wait_for("started node=planner-1-")
        nodes = wait_until(lambda: both_alive(url), lambda: "they give no sign of life")
        assert all(one["node_id"].startswith("planner-1-") for one in nodes)
        assert len({one["node_id"] for one in nodes}) == len(nodes)
        assert {one["pid"] for one in nodes} == {first.pid, second.pid}


def both_alive(url: str) -> list[dict[str, Any]] | None:
    """Two nodes, once both have given a sign of life: they do so after they have started."""
    nodes: list[dict[str, Any]] = called_json("status", "--store", url)["nodes"]
    return nodes if len(nodes) == len(("first", "second")) else None


def test_log_lines_are_json_on_request(shop: Path, url: str) -> None:
    with started("run", "shop:app", "--log-json", "--store", url, folder=shop) as process:
        line = json.loads(process.wait_for('"succeeded"'))
    assert line["run_key"].startswith("tick#")
    assert line["time"].endswith("Z")


def test_a_killed_process_loses_nothing(shop: Path, url: str) -> None:
    with started("run", "shop:app", "--store", url, folder=shop) as process:
        process.wait_for("succeeded")
        process.signal(SIGKILL)
        assert process.ended() == -SIGKILL
    before = {run["run_key"] for run in called_json("runs", "list", "--limit", "9999", "--store", url)}
    with started("run", "shop:app", "--store", url, folder=shop) as process:
        process.wait_for("succeeded")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    after = {run["run_key"] for run in called_json("runs", "list", "--limit", "9999", "--store", url)}
    assert before <= after


BROKEN = [
    ("x:app", "import nothing_like_it\n", "No module named 'nothing_like_it'"),
    ("x:app", "1 / 0\n", "ZeroDivisionError: division by zero"),
    ("x:app", "def f(:\n", "SyntaxError"),
    ("x:app", "from fencepost import Fencepost\napplication = Fencepost()\n", "did you mean x:application?"),
    ("x:app", "app = 1\n", "holds no Fencepost()"),
    ("x:app", "from fencepost import *\napp = Fencepost('sqlite:///a.db', concurency=1)\n", "concurrency?"),
]


@pytest.mark.parametrize(("target", "source", "said"), BROKEN)
def test_a_broken_target_is_one_line(target: str, source: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(source)
    with started("run", target, folder=tmp_path) as process:
        assert process.ended() == 2, process.said
    (line,) = process.lines
    assert line.startswith(f"fencepost: target {target}: ")
    assert said in line


def test_a_job_that_swallows_its_cancellation_does_not_keep_the_process(shop: Path, url: str) -> None:
    with started("run", "shop:patient", "--store", url, folder=shop) as process:
        served(process)
        called("enqueue", "deaf", "--key", "a", "--store", url)
        process.wait_for("deaf has begun")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert called_json("runs", "show", "deaf#a", "--store", url)["state"] == "running"


ENDLESS = """
import threading
from fencepost import Every, Fencepost
from fencepost.services.offload import THOUGHT_THREAD

app = Fencepost()
next_after = Every.next_after

def search(trigger, after):
    if threading.current_thread().name.startswith(THOUGHT_THREAD):
        print("search has begun", flush=True)
        threading.Event().wait(3600)
    return next_after(trigger, after)

Every.next_after = search

@app.job(schedule=Every("1s"))
async def tick(): ...
"""


def test_a_search_that_goes_on_does_not_hold_the_process(tmp_path: Path, url: str) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    with started("run", "endless:app", "--store", url, folder=tmp_path) as process:
        process.wait_for("search has begun")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
