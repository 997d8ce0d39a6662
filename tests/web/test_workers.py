"""The reference workers against a real server, with everything going wrong that may."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.calls import called
from tests.cli.processes import SIGKILL
from tests.marks import in_proof
from tests.servers.proxy import Proxy
from tests.web.serving import HASTY, PATIENT, TOOLS, WORKERS, Server, kill, worker

LINES_MAX = 60
ENDLESS = 100_000
WAIT_S = 60.0

both = pytest.mark.parametrize("program", TOOLS)
one = pytest.mark.parametrize("program", ["worker.mjs", *in_proof("worker.sh")])
"""Of those that take long, only one is tried in `make test`."""
on_both_stores = pytest.mark.parametrize(
    "server", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.proof])])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Server:
    if request.param == "postgres":
        return Server(request.getfixturevalue("postgres_url"))
    return Server(f"sqlite:///{tmp_path / 'store.db'}")


@pytest.fixture
async def proxy(server: Server) -> AsyncIterator[Proxy]:
    made = Proxy("127.0.0.1", server.port)
    await made.start()
    yield made
    await made.close()


@both
def test_a_reference_worker_fits_on_a_page(program: str) -> None:
    assert len((WORKERS / program).read_text("utf-8").splitlines()) <= LINES_MAX


@one
@on_both_stores
def test_a_worker_does_its_runs_and_stops_when_told(program: str, server: Server, tmp_path: Path) -> None:
    with server.process(tmp_path, **PATIENT), worker(program, server.port, server.worker_token()):
        hard = server.enqueue("a/b:%✓", to=2)
        done = server.until(hard, lambda run: run["state"] == "succeeded")
        assert done["attempt"] == 1
        long = server.enqueue("long", to=ENDLESS, pause_s=0.1)
        server.until(long, lambda run: run["progress"] is not None)
        called("runs", "cancel", long, "--store", server.store)
        stopped = server.until(long, lambda run: run["state"] != "running")
        assert (stopped["state"], stopped["reason"]) == ("cancelled", "stopped on request")


@one
def test_a_run_of_a_worker_that_was_killed_is_done_by_another_and_the_dead_ones_report_refused(
    program: str, server: Server, tmp_path: Path
) -> None:
    """Takes long: the dead worker's run is given out again after the heartbeat timeout of 8 s."""
    with server.process(tmp_path, **HASTY):
        key = server.enqueue("1", to=ENDLESS, pause_s=0.1)
        with worker(program, server.port, server.worker_token()) as first:
            begun = server.until(key, lambda run: run["progress"] is not None)
            kill(first)
        server.until(key, lambda run: run["fence"] > begun["fence"])
        stale = {"run_key": key, "attempt": begun["attempt"], "fence": begun["fence"]}
        assert server.report(stale, "complete").problem == "run-lost"
        with worker(program, server.port, server.worker_token()):
            again = server.until(key, lambda run: run["attempt"] > 1 and run["state"] == "running")
            # A worker that the machine kept waiting may have been taken for dead as well.
            assert again["fence"] > begun["fence"]
            for verb, words in [("heartbeat", {}), ("complete", {}), ("fail", {"error": "x"})]:
                late = server.report(stale, verb, **words)
                assert (late.status, late.problem) == (409, "run-lost")
            assert server.run(key)["state"] in ("running", "ready")
            called("runs", "cancel", key, "--store", server.store)
            server.until(key, lambda run: run["state"] == "cancelled")


@one
def test_a_run_outlives_a_restart_of_the_server(program: str, server: Server, tmp_path: Path) -> None:
    """Takes long: the run needs 6 s, so that the server is killed and started again within it."""
    with server.process(tmp_path, **PATIENT) as before:
        key = server.enqueue("1", to=60, pause_s=0.1)
        with worker(program, server.port, server.worker_token()):
            begun = server.until(key, lambda run: run["progress"] is not None)
            assert begun["state"] == "running"
            before.signal(SIGKILL)
            before.ended()
            with server.process(tmp_path, **PATIENT):
                done = server.until(key, lambda run: run["state"] != "running")
    assert (done["state"], done["attempt"], done["fence"]) == ("succeeded", 1, begun["fence"])


@both
async def test_a_report_whose_answer_was_lost_is_repeated_and_counts_once(
    program: str, server: Server, proxy: Proxy, tmp_path: Path
) -> None:
    with server.process(tmp_path, **PATIENT) as process, worker(program, proxy.port, server.worker_token()):
        proxy.lose_next_answer(to=b"/complete")
        key = await asyncio.to_thread(server.enqueue, "1")
        await proxy.lost(WAIT_S)
        await asyncio.to_thread(process.wait_for, "receipt=repeated")
        done = await asyncio.to_thread(server.run, key)
        assert (done["state"], done["attempt"]) == ("succeeded", 1)
        assert process.said.count("receipt=accepted") == 1


@both
async def test_a_claim_whose_answer_was_lost_is_adopted(
    program: str, server: Server, proxy: Proxy, tmp_path: Path
) -> None:
    with server.process(tmp_path, **PATIENT):
        key = await asyncio.to_thread(server.enqueue, "1")
        proxy.lose_next_answer(to=b"/claims")
        with worker(program, proxy.port, server.worker_token()):
            await proxy.lost(WAIT_S)
            done = await asyncio.to_thread(server.until, key, lambda run: run["state"] == "succeeded")
        assert done["attempt"] == 1
