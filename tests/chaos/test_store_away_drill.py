"""The store stands still for longer than a heartbeat timeout while 20 runs are in progress: none is lost.

It takes about 25 s: the store stands still for longer than a heartbeat timeout, which must be long enough for
the workers to be heard on a loaded machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from fencepost.clock import SystemClock
from fencepost.model.identifiers import DEFAULT_NAMESPACE, DEFAULT_QUEUE, JobName, job_key
from fencepost.model.job import PRIORITY_DEFAULT
from fencepost.model.run import NewRun
from fencepost.stores.postgres import migrate, open_store
from tests.chaos.away_app import GO, app
from tests.chaos.fleet import Fleet, Member, eventually
from tests.servers.postgres import PostgresServer

RUNS = 20
AWAY_S = 1.5 * app.settings.heartbeat_timeout_s
ALIVE = "SELECT count(*) FROM fencepost.runs WHERE state = 'running' AND alive_until > clock_timestamp()"

pytestmark = [pytest.mark.proof, pytest.mark.chaos, pytest.mark.postgres, pytest.mark.timeout(300)]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture
async def fleet(server: PostgresServer, tmp_path: Path) -> AsyncIterator[Fleet]:
    url = server.create_empty_database()
    await migrate(url, shards=2)
    fleet = Fleet(url, tmp_path, ticking=0)
    for number in range(2):
        place = number, url, tmp_path, "tests.chaos.away_app:app"
        fleet.members.append(Member("worker", *place, FENCEPOST_TEST_DRILL=str(tmp_path)))
    yield fleet
    fleet.close()


async def test_a_store_that_stands_still_takes_no_run_from_a_living_worker(
    fleet: Fleet, server: PostgresServer, tmp_path: Path
) -> None:
    await _enqueue(fleet.url)
    await _all_are_alive(fleet)
    server.pause()
    await asyncio.sleep(AWAY_S)
    server.resume()
    await eventually(lambda: _told(fleet), "a reaper gives grace", 60, fleet.logs)
    await _all_are_alive(fleet)
    (tmp_path / GO).touch()
    await eventually(lambda: _ended(fleet), "all runs end", 60, fleet.logs)
    begun = (tmp_path / "begun").read_text().splitlines()
    assert len(begun) == RUNS, begun
    ended = await fleet.query("SELECT state, attempt, count(*) FROM fencepost.runs GROUP BY 1, 2")
    assert [tuple(one) for one in ended] == [("succeeded", 1, RUNS)]


async def _enqueue(url: str) -> None:
    names = [JobName(name) for name in ("again", "once")] * (RUNS // 2)
    runs = [
        NewRun(job_key(name, str(number)), name, {}, DEFAULT_QUEUE, PRIORITY_DEFAULT)
        for number, name in enumerate(names)
    ]
    store = await open_store(url, clock=SystemClock())
    await store.ledger.enqueue(DEFAULT_NAMESPACE, runs)
    await store.close()


async def _all_are_alive(fleet: Fleet) -> None:
    async def holds() -> bool:
        return await fleet.value(ALIVE) == RUNS

    await eventually(holds, "all runs are alive", 60, fleet.logs)


async def _told(fleet: Fleet) -> bool:
    event = "rescues wait: the store or the whole fleet was away"
    return any(one.told(event) for one in fleet.members)


async def _ended(fleet: Fleet) -> bool:
    return await fleet.value("SELECT count(*) FROM fencepost.runs WHERE finished_at IS NULL") == 0
