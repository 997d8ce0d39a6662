"""How late one namespace is while another asks for 4,000 runs a second: `python -m benchmarks.noisy_tenant`.

Two tenants share a store, each with a process of its own (`fencepost run`). The busy one has 400 schedules of
100 ms, the calm one ten of a second. The control is the calm one alone, in the same store before that.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fencepost.config import settings_from
from fencepost.model.identifiers import Namespace
from fencepost.model.run import RunFilter, RunRecord
from fencepost.wiring import open_store

TENANT = """
from fencepost import Every, Fencepost

app = Fencepost()

@app.job()
async def work() -> None: ...

for number in range({count}):
    app.add_schedule(f"beat-{{number:03}}", job="work", trigger=Every("{every}"), overlap="allow")
"""
TENANTS = {"calm": (10, "1s"), "busy": (400, "100ms")}
CALM = Namespace("calm")
PAGE = 100
START_S = 10.0


@contextmanager
def tenant(name: str, folder: Path, store: str) -> Iterator[None]:
    """One process that plans and works for its namespace."""
    count, every = TENANTS[name]
    (folder / f"{name}.py").write_text(TENANT.format(count=count, every=every))
    command = [sys.executable, "-m", "fencepost", "run", f"{name}:app", "--store", store]
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "FENCEPOST_NAMESPACE": name, "PYTHONPATH": paths}
    with (folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=log, stdout=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=120)


async def calm_runs(store_url: str, since: float, until: float) -> list[RunRecord]:
    """The runs of the calm tenant that were due in that time."""
    store = await open_store(settings_from({}, overrides={"store": store_url}))
    found: list[RunRecord] = []
    for second in range(int(since), int(until)):
        span = [datetime.fromtimestamp(at, UTC) for at in (second, second + 1)]
        found += await store.ledger.list(CALM, RunFilter(since=span[0], until=span[1], limit=PAGE))
    await store.close()
    return found


def report(title: str, runs: list[RunRecord], lasts_s: float) -> None:
    late = sorted(one.started_at.timestamp() - one.run_at.timestamp() for one in runs if one.started_at)
    expected = round(lasts_s * 10)
    shown = [f"{late[int(share * (len(late) - 1))]:.3f}" for share in (0.5, 0.99, 1)] if late else ["-"] * 3
    print(f"| {title} | {expected} | {len(late)} | {' | '.join(shown)} |", flush=True)


def measure(title: str, store: str, lasts_s: float) -> None:
    time.sleep(START_S)
    began = time.time()
    time.sleep(lasts_s)
    report(title, asyncio.run(calm_runs(store, began, began + lasts_s - 2)), lasts_s - 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", help="a fresh store; SQLite in a temporary folder unless given")
    parser.add_argument("--lasts", type=float, default=60.0, help="seconds of each part")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = given.store or f"sqlite:///{folder}/ledger.db"
        print("| | ticks | started | late p50 s | p99 s | most s |\n| --- | --- | --- | --- | --- | --- |")
        with tenant("calm", folder, store):
            measure("calm alone", store, given.lasts)
            with tenant("busy", folder, store):
                measure("beside 400 schedules of 100 ms", store, given.lasts)


if __name__ == "__main__":
    main()
