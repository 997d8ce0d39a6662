"""A process that dies in mid-run: what it had recorded is not done again, and what it had not is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, os, pathlib, sys
from fencepost import Fencepost, Run

url, till, point = sys.argv[1:]
app = Fencepost(url, heartbeat_every_s=0.5, heartbeat_timeout_s=3, reap_every_s=0.1, poll_s=0.1)
over = asyncio.Event()

def die_at(here):
    if here == point:
        os._exit(9)

def charge():
    with open(till, "a") as file:
        file.write("charged\\n")
    die_at("between the step and its record")
    return {"id": 7}

@app.job()
def pay(run: Run):
    receipt = run.once("charge", charge)
    die_at("after the record")
    assert receipt == {"id": 7}
    app_loop.call_soon_threadsafe(over.set)

async def main():
    global app_loop
    app_loop = asyncio.get_running_loop()
    async with app, app.running():
        await app.enqueue(pay, key="1")
        await asyncio.wait_for(over.wait(), 90)

asyncio.run(main())
"""


def work(url: str, till: Path, point: str) -> int:
    """One process, which dies at that point; how it ended."""
    asked = [sys.executable, "-c", PROGRAM, url, str(till), point]
    return subprocess.run(asked, timeout=120, check=False, env={**os.environ}).returncode


@pytest.mark.parametrize(
    ("point", "charged"), [("after the record", 1), ("between the step and its record", 2), ("never", 1)]
)
def test_a_killed_process_does_not_cost_a_recorded_step(tmp_path: Path, point: str, charged: int) -> None:
    url, till = f"sqlite:///{tmp_path / 'store.db'}", tmp_path / "till"
    assert work(url, till, point) == (0 if point == "never" else 9)
    if point != "never":
        assert work(url, till, "never") == 0
    assert till.read_text().splitlines() == ["charged"] * charged
