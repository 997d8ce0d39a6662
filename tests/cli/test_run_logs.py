"""`fencepost runs logs`, and what `runs show` says of a run that works."""

import asyncio
import logging
import subprocess
import sys

import pytest

from fencepost import Fencepost, Retry, Run
from fencepost.operations import runs as run_operations
from tests.cli.calls import call, called, called_json, refused


@pytest.fixture
def talked(url: str) -> str:
    """The address of a store with a run of two attempts that wrote something, and one that did not."""
    asyncio.run(_talk(url))
    return url


async def _talk(url: str) -> None:
    app = Fencepost(url, run_log_max=4096)
    over = asyncio.Event()

    @app.job(retry=Retry(2, base="1ms", cap="1ms"))
    async def talk(run: Run) -> None:
        run.log(f"attempt {run.attempt}\x1b[31m with ?token=sesame")
        run.heartbeat(0.25 * run.attempt, note="in the middle")
        if run.attempt == 1:
            for number in range(1_000):
                run.log(f"line {number}")
            raise ConnectionError("no line")
        logging.getLogger("shop").warning("almost there")
        assert await run.once("charge", lambda: {"id": 7}) == {"id": 7}

    @app.job()
    async def listen() -> None:
        over.set()

    async with app, app.running():
        await app.enqueue(talk, key="1")
        await app.enqueue(listen, key="1")
        async with asyncio.timeout(30):
            await over.wait()
            while (await _state(app, "talk#1")) != "succeeded":  # noqa: ASYNC110 - another loop's doing
                await asyncio.sleep(0.02)


async def _state(app: Fencepost, run_key: str) -> str:
    run, _ = await run_operations.run_with_attempts(await app.control(), run_key)
    return str(run.state)


def test_a_log_is_shown_by_attempts_with_what_is_missing(talked: str) -> None:
    lines = called("runs", "logs", "talk#1", "--store", talked).splitlines()
    assert lines[0] == "attempt 1:"
    assert lines[1] == "  attempt 1 [31m with ?token=***"
    assert lines[2] == "  line 0"
    (gap,) = (line for line in lines if "not kept" in line)
    assert gap.startswith("  … ")
    second = lines.index("attempt 2:")
    assert lines[second - 1] == "  line 999"
    assert lines[-1].endswith("warning shop almost there")
    kept = sum(line.startswith("  line ") for line in lines)
    assert int(gap.split()[1]) + kept == 1_000


def test_one_attempt_is_shown_alone(talked: str) -> None:
    lines = called("runs", "logs", "talk#1", "--attempt", "2", "--store", talked).splitlines()
    assert lines[0] == "attempt 2:"
    assert len(lines) == 3


def test_a_log_in_json_says_where_each_line_stands(talked: str) -> None:
    chunks = called_json("runs", "logs", "talk#1", "--store", talked)
    assert {one["attempt"] for one in chunks} == {1, 2}
    assert all(one["at"].endswith("Z") for one in chunks)
    first = [one for one in chunks if one["attempt"] == 1]
    assert first[-1]["line"] + len(first[-1]["lines"]) == 1_001
    assert sum(len(one["lines"]) for one in first) < 1_001


def test_following_a_run_that_has_ended_ends(talked: str) -> None:
    followed = called("runs", "logs", "talk#1", "--follow", "--store", talked)
    assert followed == called("runs", "logs", "talk#1", "--store", talked)


def test_a_run_without_a_log_says_so(talked: str) -> None:
    result = call("runs", "logs", "listen#1", "--store", talked)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "nothing is logged\n")


def test_the_log_of_an_unknown_run_is_refused(talked: str) -> None:
    assert "nobody" in refused("runs", "logs", "nobody#1", "--store", talked)
    assert "--follow" in refused("runs", "logs", "talk#1", "--follow", "--json", "--store", talked)


def test_a_run_is_shown_with_its_progress_and_the_end_of_its_log(talked: str) -> None:
    shown = called("runs", "show", "talk#1", "--store", talked)
    assert "log of attempt 2, its last lines" in shown
    assert "almost there" in shown
    run = called_json("runs", "show", "talk#1", "--store", talked)
    assert {"progress", "note", "progress_at"} <= set(run)


def test_a_process_that_has_set_up_no_logging_keeps_info_lines_and_shows_none(url: str) -> None:
    program = f"""
import asyncio, logging
from fencepost import Fencepost
app = Fencepost({url!r})
over = asyncio.Event()
@app.job()
async def talk():
    logging.getLogger("shop").info("quietly")
    logging.getLogger("shop").warning("loudly")
    over.set()
async def main():
    async with app, app.running():
        await app.enqueue(talk, key="1")
        await asyncio.wait_for(over.wait(), 30)
asyncio.run(main())
"""
    asked = [sys.executable, "-c", program]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert "loudly" in done.stderr
    assert "quietly" not in done.stderr
    lines = called("runs", "logs", "talk#1", "--store", url).splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["quietly", "loudly"]


def test_what_is_said_after_the_run_s_own_commit_is_not_lost(url: str) -> None:
    """Such a run has ended before its function has, and nobody reports it."""
    asyncio.run(_commit_and_talk(url))
    lines = called("runs", "logs", "pay#1", "--store", url).splitlines()
    assert lines == ["attempt 1:", "  before", "  after"]


async def _commit_and_talk(url: str) -> None:
    app = Fencepost(url)
    over = asyncio.Event()

    @app.job()
    async def pay(run: Run) -> None:
        run.log("before")
        async with run.transaction() as tx:
            await tx.execute("CREATE TABLE paid (fence INTEGER)")
        run.log("after")
        over.set()

    async with app, app.running():
        await app.enqueue(pay, key="1")
        await asyncio.wait_for(over.wait(), 30)
