"""Floods without a credential against `fencepost run`, each beside a control that nothing disturbs.

Both are processes of the same application, on a store each, at the same moment on the same machine. What is
asked: whether the flooded one runs its ticks, how late, and whether it keeps its leases.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.cli.calls import called, called_json
from tests.cli.processes import Process, started
from tests.servers.ports import free_port
from tests.servers.postgres import PostgresDatabases
from tests.servers.process import wait_until

ROOT = Path(__file__).parents[2]
SHARDS = 8
RAN_MIN = 0.99
LATER_MAX_S = 1.0
SETTLED_WITHIN_S = 60.0
LOOK_AGAIN_S = 0.5
CLIENT_WITHIN_S = 120.0


@dataclass(frozen=True, eq=False)
class Node:
    """One `fencepost run`."""

    store: str
    port: int
    process: Process

    def epochs(self) -> dict[int, int]:
        """By shard."""
        shards = called_json("status", "--store", self.store)["shards"]
        return {one["shard"]: one["epoch"] for one in shards}

    def runs(self, since: datetime, until: datetime) -> list[dict[str, Any]]:
        """The ticks of that time, once they have all ended, within reason."""
        give_up_at = time.monotonic() + SETTLED_WITHIN_S
        span = ("--since", since.isoformat(), "--until", until.isoformat(), "--limit", "1000")
        while True:
            runs: list[dict[str, Any]] = called_json("runs", "list", "--store", self.store, *span)
            is_over = all(one["state"] not in ("planned", "ready", "running") for one in runs)
            if is_over or time.monotonic() > give_up_at:
                return runs
            time.sleep(LOOK_AGAIN_S)


@dataclass(frozen=True)
class Ticks:
    """What became of those of one node."""

    due: int
    ran: int
    worst_s: float
    leases_lost: int


@dataclass(frozen=True)
class Outcome:
    """One flood and its control."""

    store: str
    kind: str
    answers: Counter[str]
    flooded: Ticks
    control: Ticks

    @property
    def faults(self) -> list[str]:
        """What was promised and not kept."""
        told = []
        if self.flooded.ran < RAN_MIN * self.flooded.due:
            told.append(f"{self.flooded.ran} of {self.flooded.due} ticks ran")
        if self.flooded.worst_s > self.control.worst_s + LATER_MAX_S:
            told.append(f"{self.flooded.worst_s:.2f} s late, the control {self.control.worst_s:.2f} s")
        if self.flooded.leases_lost:
            told.append(f"{self.flooded.leases_lost} leases lost")
        return told

    @property
    def row(self) -> str:
        """Of the table."""
        seen = ", ".join(f"{count} × {status}" for status, count in sorted(self.answers.items()) if count)
        ran = [f"{one.ran} of {one.due}" for one in (self.flooded, self.control)]
        worst = [f"{one.worst_s:.2f} s" for one in (self.flooded, self.control)]
        cells = (self.store, self.kind, seen, *ran, *worst, str(self.flooded.leases_lost))
        return f"| {' | '.join(cells)} |"


HEAD = """| store | flood | connections and answers | ticks run | control | latest | control | leases lost |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def sqlite_stores(folder: Path) -> tuple[str, str]:
    """One to flood, one for the control."""
    return f"sqlite:///{folder / 'flooded.db'}", f"sqlite:///{folder / 'control.db'}"


def postgres_stores(server: PostgresDatabases) -> tuple[str, str]:
    """The same on one server."""
    return server.create_empty_database(), server.create_empty_database()


@contextmanager
def running(store: str) -> Iterator[Node]:
    """A node that leads all shards and has a web."""
    called("migrate", "--store", store)
    port = free_port()
    bind = ("--bind", f"127.0.0.1:{port}", "--store", store)
    with started("run", "tests.floods.app:app", *bind, folder=ROOT) as process:
        process.wait_for("web serving")
        wait_until(lambda: _all_are_led(store), lambda: process.said)
        yield Node(store, port, process)


def _all_are_led(store: str) -> bool:
    shards = called_json("status", "--store", store)["shards"]
    return len(shards) == SHARDS and all(one["holder"] for one in shards)


def run_floods(kinds: Sequence[str], stores: tuple[str, str], for_s: float) -> Iterator[Outcome]:
    """One flood after the other against a node on the first store, and a control on the other."""
    with running(stores[0]) as flooded, running(stores[1]) as control:
        for kind in kinds:
            yield _flood(kind, flooded, control, for_s)
        assert "Traceback" not in flooded.process.said, flooded.process.said


def _flood(kind: str, flooded: Node, control: Node, for_s: float) -> Outcome:
    before = {node: node.epochs() for node in (flooded, control)}
    since = datetime.now().astimezone()
    answers = flood(kind, flooded.port, for_s)
    until = datetime.now().astimezone() - timedelta(seconds=1)
    ticks = [_ticks(node, since, until, epochs) for node, epochs in before.items()]
    return Outcome(flooded.store.partition(":")[0], kind, answers, *ticks)


def flood(kind: str, port: int, for_s: float) -> Counter[str]:
    """Connections that were opened, and answers by their status."""
    client = [sys.executable, "-m", "tests.floods.client", kind, str(port), str(for_s)]
    done = subprocess.run(client, cwd=ROOT, capture_output=True, text=True, timeout=for_s + CLIENT_WITHIN_S)
    assert done.returncode == 0, done.stderr
    return Counter(json.loads(done.stdout))


def _ticks(node: Node, since: datetime, until: datetime, before: dict[int, int]) -> Ticks:
    runs = node.runs(since, until)
    ran = [one for one in runs if one["state"] == "succeeded"]
    late = [_read(one["started_at"]) - _read(one["run_at"]) for one in ran]
    after = node.epochs()
    lost = sum(after.get(shard) != epoch for shard, epoch in before.items())
    due = int((until - since).total_seconds())
    return Ticks(max(due, len(runs)), len(ran), max(late, default=timedelta()).total_seconds(), lost)


def _read(time: str) -> datetime:
    return datetime.fromisoformat(time)
