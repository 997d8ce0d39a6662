"""Jobs that harm the process they run in: it goes on, and it ends when it is asked to."""

from pathlib import Path

import pytest

from tests.cli.calls import called
from tests.cli.processes import SIGTERM, Process

JOBS = """
import asyncio, multiprocessing, os, sys, time
from fencepost import Fencepost

app = Fencepost(grace_s=0.2)

@app.job()
async def closes_the_object():
    sys.stderr.close()

@app.job()
async def closes_the_descriptor():
    os.close(2)

@app.job()
async def forks():
    print("forked", os.fork(), flush=True)
    await asyncio.sleep(0)

@app.job()
def forks_in_a_thread():
    print("forked", os.fork(), flush=True)

@app.job()
async def has_a_child():
    child = multiprocessing.get_context("fork").Process(target=os.write, args=(1, b"hello from a child\\n"))
    child.start()
    await asyncio.to_thread(child.join)

@app.job()
async def blocks():
    print("blocks", flush=True)
    time.sleep(3600)

@app.job()
async def fine():
    print("fine", file=sys.stderr, flush=True)
"""
HASTY = (
    "import fencepost.cli.serving as s; s.LAST_RESORT_S = 0.5; from fencepost.cli.main import main; main()"
)


class HastyProcess(Process):
    """One whose last resort comes soon."""

    head = ("-c", HASTY)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(JOBS)
    return tmp_path


@pytest.fixture
def process(folder: Path, url: str) -> Process:
    return Process(("run", "jobs:app", "--store", url), folder, {})


def begun(process: Process, job: str, url: str) -> None:
    process.wait_for("node started")
    called("enqueue", job, "--key", "a", "--store", url)


def stopped(process: Process) -> int:
    process.signal(SIGTERM)
    try:
        return process.ended()
    finally:
        process.close()


@pytest.mark.parametrize("job", ["closes_the_object", "closes_the_descriptor"])
def test_a_job_that_closes_stderr_does_not_take_the_worker_with_it(
    job: str, process: Process, url: str
) -> None:
    begun(process, job, url)
    process.wait_for(f"succeeded run_key={job}#a")
    called("enqueue", "fine", "--key", "a", "--store", url)
    process.wait_for("fine")
    process.wait_for("succeeded run_key=fine#a")
    assert stopped(process) == 0, process.said


@pytest.mark.parametrize("job", ["forks", "forks_in_a_thread"])
def test_a_copy_that_a_job_forked_does_not_live_on_in_the_worker(
    job: str, process: Process, url: str
) -> None:
    begun(process, job, url)
    process.wait_for(f"succeeded run_key={job}#a")
    called("enqueue", "fine", "--key", "a", "--store", url)
    process.wait_for("succeeded run_key=fine#a")
    assert stopped(process) == 0, process.said
    assert process.said.count(f"succeeded run_key={job}#a") == 1
    assert process.has_hung_up, "somebody else still has its output open"


def test_a_child_that_does_not_return_to_the_worker_is_not_disturbed(process: Process, url: str) -> None:
    begun(process, "has_a_child", url)
    process.wait_for("hello from a child")
    process.wait_for("succeeded run_key=has_a_child#a")
    assert stopped(process) == 0, process.said


def test_a_job_that_blocks_the_event_loop_does_not_keep_the_process_from_ending(
    folder: Path, url: str
) -> None:
    process = HastyProcess(("run", "jobs:app", "--store", url), folder, {})
    begun(process, "blocks", url)
    process.wait_for("blocks")
    assert stopped(process) == 1, process.said
    assert "could not stop in time" in process.said
