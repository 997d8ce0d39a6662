"""A process that dies around the end of a run: what follows it is there exactly where the end is."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.config import Settings
from fencepost.model.identifiers import DEFAULT_NAMESPACE, RunKey
from fencepost.model.run import RunState
from fencepost.wiring import open_store

RUN, LOAD = RunKey("extract#1"), RunKey("load#after#extract#1")
PROGRAM = """
import asyncio, os, signal, sys
from fencepost import Fencepost
from fencepost.rules import runs
from fencepost.services.reporter import Reporter

url, point = sys.argv[1:]
app = Fencepost(url, poll_s=0.1)

def die_at(here):
    if here == point:
        os.kill(os.getpid(), signal.SIGKILL)

follow = runs.follow

async def followed(tx, ended):
    die_at("before what follows is written" if ended else "")
    await follow(tx, ended)
    die_at("before the commit" if ended else "")

runs.follow = followed

@app.job()
def extract():
    return "7 rows"

@app.job(after=extract)
async def load(run):
    assert run.after[0].result == "7 rows"
    die_at("after the commit")
    over.set()

async def main():
    global over
    over = asyncio.Event()
    async with app, app.running(plans=False):
        await app.enqueue(extract, key="1")
        await asyncio.wait_for(over.wait(), 60)

asyncio.run(main())
"""


def work(url: str, point: str) -> int:
    """One process, which dies at that point; how it ended."""
    asked = [sys.executable, "-c", PROGRAM, url, point]
    return subprocess.run(asked, timeout=120, check=False, env={**os.environ}).returncode


async def found(url: str) -> tuple[RunState | None, RunState | None]:
    """How the run and what follows it stand."""
    store = await open_store(Settings(store=url))
    try:
        runs = [await store.ledger.get(DEFAULT_NAMESPACE, key) for key in (RUN, LOAD)]
    finally:
        await store.close()
    first, second = (None if run is None else run.state for run in runs)
    return first, second


POINTS = [
    ("before what follows is written", (RunState.RUNNING, None)),
    ("before the commit", (RunState.RUNNING, None)),
    ("after the commit", (RunState.SUCCEEDED, RunState.RUNNING)),
]


@pytest.mark.parametrize(("point", "left"), POINTS, ids=[point for point, _ in POINTS])
@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_killed_process_does_not_part_an_end_from_what_follows_it(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    store: str,
    point: str,
    left: tuple[RunState | None, RunState | None],
) -> None:
    sqlite = f"sqlite:///{tmp_path / 'store.db'}"
    url = sqlite if store == "sqlite" else request.getfixturevalue("postgres_url")
    assert work(url, point) == -9
    assert asyncio.run(found(url)) == left
