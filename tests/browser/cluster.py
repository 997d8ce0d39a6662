"""A live cluster: a process that plans, works and serves, one that works, and what the ledger says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.cli.calls import called, called_json
from tests.cli.processes import ForkedProcess
from tests.servers.guard import guard
from tests.servers.ports import free_port, wait_until_heard
from tests.servers.process import wait_until

ROOT = Path(__file__).parents[2]
TARGET = "tests.browser.shop_app:app"
PATIENCE_S = 60.0
LINES_SHOWN = 40

T = TypeVar("T")


class Member(ForkedProcess):
    """One process of it, which the guard of the servers ends where these tests cannot."""

    apart = True


class Cluster:
    """Where it is to be found, and its ledger, asked by the commands that operators have."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.port = free_port()
        self.members: list[Member] = []
        self.address = f"http://127.0.0.1:{self.port}"

    def told(self, *arguments: str) -> str:
        """What a command prints; in a thread of its own: the browser's driver has a loop in this one."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(called, *arguments, "--store", self.store).result().strip()

    def told_json(self, *arguments: str) -> Any:
        """The document that a command prints."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(called_json, *arguments, "--store", self.store).result()

    def until(self, holds: Callable[[], T | None], what: str) -> T:
        """What it gives, once the ledger says so, within reason."""
        return wait_until(holds, lambda: f"it never came true: {what}\n{self.said}", PATIENCE_S)

    def run(self, run_key: str) -> dict[str, Any]:
        found: dict[str, Any] = self.told_json("runs", "show", run_key)
        return found

    def runs(self, *narrowed: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.told_json("runs", "list", *narrowed)
        return found

    def enqueue(self, job: str, key: str, payload: str = "{}") -> str:
        self.told("enqueue", job, "--key", key, "--payload", payload)
        return f"{job}#{key}"

    def until_state(self, run_key: str, state: str) -> dict[str, Any]:
        """The run, once it is in that state."""
        return self.until(
            lambda: run if (run := self.run(run_key))["state"] == state else None,
            f"{run_key} is {state}",
        )

    def until_tried(self, run_key: str, attempt: int) -> None:
        """Until it has come to that attempt."""
        self.until(
            lambda: self.run(run_key)["attempt"] >= attempt, f"{run_key} is tried for the {attempt}th time"
        )

    def schedule(self, schedule_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.told_json("schedules", "show", schedule_id)
        return found

    def logged(self, subject: str) -> list[str]:
        """What people did to it, the newest first."""
        return [one["action"] for one in self.told_json("log") if one["subject"] == subject]

    @property
    def said(self) -> str:
        """The last that its processes wrote."""
        return "\n".join(line for member in self.members for line in member.lines[-LINES_SHOWN:])

    def close_gate(self) -> None:
        """Let the ticks that were frozen from the beginning come late, and see their gate close."""
        if self._is_closed():
            return
        late = "--schedule", "parcels", "--state", "ready", "--until", "12s"
        self.until(lambda: len(self.runs(*late)) > 2, "more than two ticks of parcels are late")
        self.told("thaw", "--schedule", "parcels")
        self.until(self._is_closed, "the gate of parcels is closed")

    def _is_closed(self) -> bool:
        return [one["schedule_id"] for one in self.told_json("gate", "list")] == ["parcels"]


@contextmanager
def cluster_on(store: str) -> Iterator[Cluster]:
    """The processes, killed at the end, and something in every list of the ledger."""
    cluster = Cluster(store)
    cluster.told("migrate")
    cluster.told("freeze", "--schedule", "parcels")
    with ExitStack() as stack:
        for verb in (("run", TARGET, "--bind", f"127.0.0.1:{cluster.port}"), ("worker", TARGET)):
            member = Member((*verb, "--store", store), ROOT, {})
            cluster.members.append(member)
            guard().hold(member.pid)
            stack.callback(guard().let_go, member.pid)
            stack.callback(member.close)
        wait_until_heard(cluster.port)
        furnish(cluster)
        yield cluster


def furnish(cluster: Cluster) -> None:
    """Runs that succeeded, that are dead and that go on, and a schedule that rests."""
    cluster.until(lambda: len(cluster.told_json("jobs", "list")) == 3, "three jobs are registered")
    cluster.enqueue("greet", "first", '{"name": "Anna"}')
    for number in range(2):
        cluster.enqueue("burn", f"kept-{number}", '{"what": "bread"}')
    cluster.enqueue("slow", "kept")
    cluster.told("schedules", "pause", "nightly/eu")
    cluster.until_state("greet#first", "succeeded")
    cluster.until_state("burn#kept-1", "dead")
    cluster.until_state("slow#kept", "running")
    cluster.until(
        lambda: cluster.runs("--schedule", "letters", "--state", "succeeded"), "letters have ticked"
    )
