"""Real processes and a real receiver: one run is one trace, whoever wrote its spans."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from fencepost.model.identifiers import DEFAULT_NAMESPACE, Fence, RunKey
from fencepost.model.run import Ticket
from fencepost.telemetry.traces.ids import dispatch_name, trace_text
from tests.cli.calls import called, called_json
from tests.cli.processes import SIGTERM, Process, started
from tests.servers.ports import free_port
from tests.traces.receiver import VERBS, Receiver, Seen, receiving, serving

SHOP = Path(__file__).with_name("shop.py")
LOOK_AGAIN_S = 0.1
LOOKS_MAX = 600
STORE_STEP_NS = 1_000_000
"""A store may read its clock once for the attempt and once more for the run."""
HASTY = {
    "FENCEPOST_HEARTBEAT_EVERY_S": "1",
    "FENCEPOST_HEARTBEAT_TIMEOUT_S": "4",
    "FENCEPOST_REAP_EVERY_S": "0.2",
}


@dataclass
class Fleet:
    """A planner, workers, and what they were told."""

    store: str
    folder: Path
    environment: dict[str, str]

    @contextmanager
    def process(self, verb: str, service: str, *more: str) -> Iterator[Process]:
        told = {**self.environment, "OTEL_SERVICE_NAME": service}
        arguments = (verb, "shop:app", "--store", self.store, "--log-json", *more)
        with started(*arguments, folder=self.folder, **told) as process:
            process.wait_for('"event": "started"')
            yield process

    @property
    def seen(self) -> dict[str, str]:
        """What commands were given, by run key."""
        lines = (self.folder / "seen.txt").read_text("utf-8").splitlines()
        return {line.split(" ")[0]: line.split(" ")[1] for line in lines}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'store.db'}"


def fleet_at(store: str, folder: Path, endpoint: str, **more: str) -> Fleet:
    shutil.copy(SHOP, folder / "shop.py")
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
        "SHOP_SEEN": str(folder / "seen.txt"),
        **more,
    }
    called("migrate", "--store", store)
    return Fleet(store, folder, environment)


def verbs(spans: list[Seen]) -> list[str]:
    return [one.verb for one in spans if one.verb != "inside"]


def only(spans: list[Seen], verb: str, attempt: int | None = None) -> Seen:
    found = [one for one in spans if one.verb == verb]
    (one,) = found if attempt is None else [one for one in found if one.said["fencepost.attempt"] == attempt]
    return one


def check_tree(spans: list[Seen]) -> None:
    """One trace, named after the run; each span hangs where it should, none twice, none outside of time."""
    key = spans[0].said["fencepost.run_key"]
    ticket = Ticket(DEFAULT_NAMESPACE, RunKey(key), 1, Fence(1))
    assert {one.trace for one in spans} == {trace_text(ticket)}
    assert len({one.span for one in spans}) == len(spans)
    run, first = only(spans, "run"), f"{dispatch_name(ticket, 1, 0).span:016x}"
    assert run.parent == first
    for one in spans:
        assert one.start_ns <= one.end_ns
        if one.verb == "plan":
            assert one.parent == ""
        if one.verb == "dispatch" and one.span == first:
            assert one.parent == only(spans, "plan").span
        elif one.verb in ("attempt", "rescue", "dispatch"):
            assert one.parent == run.span
        if one.verb == "attempt":
            assert run.start_ns <= one.start_ns + STORE_STEP_NS
            assert one.end_ns <= run.end_ns


def test_one_run_is_one_whole_trace_across_a_planner_and_two_workers(store: str, tmp_path: Path) -> None:
    """Three processes, one after the other."""
    asked: dict[str, str] = {}

    class Target(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked[self.headers["Idempotency-Key"]] = self.headers.get("traceparent", "")
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ExitStack() as stack:
        receiver = stack.enter_context(receiving())
        port = stack.enter_context(serving(Target))
        fleet = fleet_at(store, tmp_path, receiver.endpoint, SHOP_TARGET=f"http://127.0.0.1:{port}/hook")
        stack.enter_context(fleet.process("scheduler", "planner"))
        workers = [stack.enter_context(fleet.process("worker", f"worker-{one}")) for one in (1, 2)]
        check_retried(receiver.until_run("flaky", (*VERBS, "dispatch", "attempt")), workers)
        check_command(receiver.until_run("echo"), fleet)
        check_call(receiver.until_run("call"), asked)
        check_child(receiver.until_run("crunch"), fleet)
        receiver.until(lambda _: any(one.title == "inside" for one in receiver.spans))
        inside = next(one for one in receiver.spans if one.title == "inside")
        receiver.until(lambda _: any(one.span == inside.parent for one in receiver.spans))
        check_inside(inside, receiver)


def check_retried(spans: list[Seen], workers: list[Process]) -> None:
    check_tree(spans)
    assert sorted(verbs(spans)) == ["attempt", "attempt", "dispatch", "dispatch", "plan", "run"]
    assert only(spans, "plan").service == "planner"
    first, second, run = only(spans, "attempt", 1), only(spans, "attempt", 2), only(spans, "run")
    assert {first.service, second.service, run.service} <= {"worker-1", "worker-2"}
    assert (first.is_error, first.events, first.said["fencepost.outcome"]) == (True, ("exception",), "retry")
    assert (second.is_error, second.events, second.said["fencepost.outcome"]) == (False, (), "succeeded")
    assert (run.is_error, run.said["fencepost.attempts"]) == (False, 2)
    assert second.said["fencepost.fence"] > first.said["fencepost.fence"]
    assert only(spans, "dispatch", 2).end_ns == second.start_ns
    lines = [line for one in workers for line in list(one.lines) if first.said["fencepost.run_key"] in line]
    assert lines
    assert all(f'"trace_id": "{first.trace}"' in line for line in lines)


def check_command(spans: list[Seen], fleet: Fleet) -> None:
    check_tree(spans)
    attempt = only(spans, "attempt")
    assert fleet.seen[attempt.said["fencepost.run_key"]] == f"00-{attempt.trace}-{attempt.span}-01"


def check_call(spans: list[Seen], asked: dict[str, str]) -> None:
    check_tree(spans)
    attempt = only(spans, "attempt")
    assert asked[attempt.said["fencepost.run_key"]] == f"00-{attempt.trace}-{attempt.span}-01"


def check_child(spans: list[Seen], fleet: Fleet) -> None:
    check_tree(spans)
    attempt = only(spans, "attempt")
    shown = called_json("runs", "show", attempt.said["fencepost.run_key"], "--store", fleet.store)
    expected = f"00-{attempt.trace}-{attempt.span}-01 {attempt.trace} {attempt.span}"
    assert [one["output"] for one in shown["attempts"]] == [expected]


def check_inside(inside: Seen, receiver: Receiver) -> None:
    """A span of the job's own, made in a thread, is the attempt's child."""
    attempt = next(one for one in receiver.spans if one.span == inside.parent)
    assert (attempt.title, attempt.trace) == ("attempt threaded", inside.trace)


def wait_for_state(store: str, run_key: str, state: str) -> None:
    for _ in range(LOOKS_MAX):
        if called_json("runs", "show", run_key, "--store", store)["state"] == state:
            return
        time.sleep(LOOK_AGAIN_S)
    raise AssertionError(f"{run_key} is not {state}")


def test_a_run_whose_worker_was_killed_goes_on_in_the_same_trace(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with receiving() as receiver, ExitStack() as stack:
        fleet = fleet_at(url, tmp_path, receiver.endpoint, **HASTY)
        stack.enter_context(fleet.process("worker", "first"))
        called("enqueue", "lethal", "--key", "1", "--store", url)
        # Only once it runs is the second one there to rescue it, and not to do it.
        wait_for_state(url, "lethal#1", "running")
        stack.enter_context(fleet.process("worker", "second"))
        spans = receiver.until_run("lethal", ("dispatch", "rescue", "run", "attempt"))
    check_tree(spans)
    rescue = only(spans, "rescue")
    assert rescue.is_error
    assert rescue.said["fencepost.attempt"] == 1
    assert [one.said["fencepost.attempt"] for one in spans if one.verb == "attempt"] == [2]
    assert only(spans, "run").said["fencepost.state"] == "succeeded"


def test_a_dead_receiver_costs_the_runs_nothing_and_says_so_in_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    dead = f"http://127.0.0.1:{free_port()}"
    fleet = fleet_at(url, tmp_path, dead, OTEL_EXPORTER_OTLP_TIMEOUT="1")
    with fleet.process("run", "alone") as process:
        process.wait_for("spans cannot be delivered")
        for _ in range(3):
            process.wait_for('"event": "succeeded"')
        process.signal(SIGTERM)
        assert process.ended() == 0
    assert process.said.count("spans cannot be delivered") == 1
    assert [line for line in process.lines if not line.startswith("{")] == []
