"""Three schedulers and two workers on PostgreSQL, 200 ticks a second, and everything that can go wrong.

One drill after the other on one fleet, then the accounting: every tick of every schedule has exactly one row,
every row has ended, and whatever a stale node still tried to write was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from fencepost.stores.postgres import migrate
from tests.chaos.accounting import account
from tests.chaos.fleet import Fleet, Member, eventually
from tests.chaos.fleet_app import SLOW, app
from tests.servers.postgres import PostgresServer, free_port
from tests.servers.proxy import Proxy

TTL_S = app.settings.lease_ttl_s
LATE_S = 2.0
SHARDS = 8
ENDED = "('succeeded', 'dead', 'skipped', 'missed', 'cancelled', 'withdrawn')"
PLAN_BYTES = 8_000
"""A planning write of a hundred ticks is larger than anything else that names ticks."""

pytestmark = [pytest.mark.chaos, pytest.mark.postgres, pytest.mark.timeout(600)]


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    server = PostgresServer(durable=True)
    yield server
    server.close()


@pytest.fixture(params=[200])
async def fleet(
    server: PostgresServer, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Fleet]:
    url = server.create_empty_database()
    await migrate(url, shards=SHARDS)
    fleet = Fleet(url, tmp_path, ticking=request.param)
    yield fleet
    fleet.close()


@pytest.fixture
async def proxies(server: PostgresServer) -> AsyncIterator[list[Proxy]]:
    """One for each scheduler: whichever leads can be stalled in mid write."""
    proxies = [Proxy("127.0.0.1", server.port) for _ in range(3)]
    for proxy in proxies:
        await proxy.start(free_port())
    yield proxies
    for proxy in proxies:
        await proxy.close()


@pytest.mark.proof
async def test_every_tick_is_accounted_for_once_whatever_is_killed(
    fleet: Fleet, server: PostgresServer, proxies: list[Proxy]
) -> None:
    """Takes long: five drills, which wait until leases and heartbeats have run out by the real clock."""
    behind = {fleet.start("scheduler", _through(fleet.url, proxy)): proxy for proxy in proxies}
    workers = [fleet.start("worker"), fleet.start("worker")]
    await _ticking(fleet)

    await _not_late(fleet, *await _kill_a_leader(fleet))
    await _stall_in_mid_write(fleet, behind)
    await _kill_a_worker(fleet, workers)
    await _restart_the_store(fleet, server)
    await _kill_all_schedulers(fleet)

    await _account(fleet)


@pytest.mark.parametrize("fleet", [10], indirect=True)
async def test_no_tick_is_lost_with_a_leader_and_a_worker(fleet: Fleet) -> None:
    """The smoke of the drills; about 40 s: processes start, a lease runs out, a heartbeat too."""
    for _ in range(2):
        fleet.start("scheduler")
    workers = [fleet.start("worker"), fleet.start("worker")]
    await _ticking(fleet)

    await _kill_a_leader(fleet)
    await _kill_a_worker(fleet, workers)

    await _account(fleet)


async def _ticking(fleet: Fleet) -> None:
    async def holds() -> bool:
        done = await fleet.value("SELECT count(*) FROM fencepost.runs WHERE state = 'succeeded'")
        return isinstance(done, int) and done > 3 * fleet.ticking

    await eventually(holds, "the fleet ticks", 60, fleet.logs)


async def _a_leader(fleet: Fleet) -> Member:
    """Some node that leads a shard, once all shards are led: nothing says which nodes will."""
    found: list[Member] = []

    async def led() -> bool:
        shards = {one: await fleet.leads(one) for one in fleet.members if one.alive}
        found[:] = [one for one, count in shards.items() if count]
        return sum(shards.values()) == SHARDS

    await eventually(led, "every shard is led", 60, fleet.logs)
    return found[0]


async def _kill_a_leader(fleet: Fleet) -> tuple[datetime, datetime]:
    """Its shards move. The span of a term, in which the ticks that it had planned should run on time."""
    leader = await _a_leader(fleet)
    since = await _now(fleet)
    leader.kill()
    await _a_leader(fleet)
    until = since + timedelta(seconds=TTL_S)

    async def passed() -> bool:
        return await _now(fleet) > until

    await eventually(passed, "a term passes, although the takeover was quicker", 2 * TTL_S)
    return since, until


async def _stall_in_mid_write(fleet: Fleet, behind: dict[Member, Proxy]) -> None:
    """Frozen with a planning write on its way, until another leads its shards; the ledger must refuse it."""
    stalled = await _a_leader(fleet)
    proxy = behind[stalled]
    await proxy.hold_from(PLAN_BYTES, at_most_s=30, saying=b"tick-")
    stalled.freeze()

    async def replaced() -> bool:
        return await fleet.leads(stalled) == 0 and (await _a_leader(fleet)) is not stalled

    await eventually(replaced, "others lead the shards of the stalled node", 60, fleet.logs)
    stalled.thaw()
    proxy.release()

    async def holds() -> bool:
        return "write refused: the epoch is stale" in stalled.log

    await eventually(holds, "the stale write is refused and logged", 30, fleet.logs)


async def _kill_a_worker(fleet: Fleet, workers: list[Member]) -> None:
    """What it ran runs again elsewhere, under a higher fence. Either may win all slow work: kill that one."""
    running = (
        "SELECT run_key, fence FROM fencepost.runs "
        "WHERE state = 'running' AND job = 'slow' AND worker LIKE $1 "
        "AND started_at > clock_timestamp() - interval '2 seconds'"
    )

    async def held_by(worker: Member) -> dict[str, int]:
        rows = await fleet.query(running, f"%-{worker.pid}-%")
        return {row["run_key"]: row["fence"] for row in rows}

    orphans: dict[str, int] = {}

    async def caught_at_work() -> bool:
        """One that is frozen ends nothing while it is asked what it holds."""
        for one in workers:
            one.freeze()
            orphans.update(await held_by(one))
            if orphans:
                one.kill()
                return True
            one.thaw()
        return False

    await eventually(caught_at_work, "a worker has slow work", 60, fleet.logs)
    fleet.start("worker")
    again = (
        "SELECT run_key, attempt, fence FROM fencepost.runs WHERE run_key = ANY($1) AND state = 'succeeded'"
    )

    async def rescued() -> bool:
        return len(await fleet.query(again, list(orphans))) == len(orphans)

    await eventually(rescued, f"{len(orphans)} runs are rescued and run again", 60, fleet.logs)
    for row in await fleet.query(again, list(orphans)):
        assert row["attempt"] > 1
        assert row["fence"] > orphans[row["run_key"]]
    lost = await fleet.query("SELECT run_key FROM fencepost.attempts WHERE outcome = 'lost'")
    assert orphans.keys() <= {row["run_key"] for row in lost}


async def _restart_the_store(fleet: Fleet, server: PostgresServer) -> None:
    """Killed like a machine without power, then back; every process finds it again by itself."""
    await asyncio.to_thread(server.kill)
    await asyncio.sleep(2)
    await asyncio.to_thread(server.start)
    since = await _now(fleet)

    async def holds() -> bool:
        sql = "SELECT count(*) FROM fencepost.runs WHERE state = 'succeeded' AND fire_time > $1"
        return int(str(await fleet.value(sql, since))) > 5 * fleet.ticking

    await eventually(holds, "the fleet ticks again", 60, fleet.logs)
    assert sum(one.alive for one in fleet.members) == len(fleet.members) - 2, (
        "but for the two that were killed"
    )


async def _kill_all_schedulers(fleet: Fleet) -> None:
    """The horizon at work: nobody plans, and the ticks of the next while still run on time."""
    for one in fleet.members:
        if one.name.startswith("scheduler") and one.alive:
            one.kill()
    since = await _now(fleet)
    until = since + timedelta(seconds=app.settings.horizon_s - 10)

    async def holds() -> bool:
        return await _now(fleet) > until

    await eventually(holds, "the horizon passes", app.settings.horizon_s)
    await _not_late(fleet, since, until)
    successor = fleet.start("scheduler")

    async def plans() -> bool:
        return await fleet.leads(successor) == SHARDS

    await eventually(plans, "a new scheduler plans on", 30, fleet.logs)


async def _not_late(fleet: Fleet, since: datetime, until: datetime) -> None:
    """Every tick of the span was started, 99 in 100 of them without delay."""
    sql = (
        "SELECT count(*), count(started_at), percentile_cont(0.99) WITHIN GROUP "
        "(ORDER BY extract(epoch FROM started_at - fire_time)) "
        "FROM fencepost.runs WHERE job = 'tick' AND fire_time > $1 AND fire_time <= $2"
    )

    async def started() -> bool:
        planned, begun, _ = (await fleet.query(sql, since, until))[0]
        return bool(planned == begun)

    await eventually(started, "all ticks of the span are started", 10, fleet.logs)
    planned, _, p99_s = (await fleet.query(sql, since, until))[0]
    seconds = int((until - since).total_seconds())
    assert planned >= (seconds - 1) * fleet.ticking
    assert p99_s < LATE_S


async def _account(fleet: Fleet) -> None:
    until = await _now(fleet)
    open_runs = f"SELECT count(*) FROM fencepost.runs WHERE fire_time <= $1 AND state NOT IN {ENDED}"

    async def ended() -> bool:
        return await fleet.value(open_runs, until) == 0

    await eventually(ended, "every run has ended", 90, fleet.logs)
    versions = await fleet.query(
        "SELECT schedule_id, version, spec, in_force_from FROM fencepost.schedule_versions"
    )
    assert len(versions) == fleet.ticking + SLOW
    recorded = await fleet.query(
        "SELECT schedule_id, fire_time FROM fencepost.runs WHERE fire_time <= $1", until
    )
    found = account(versions, recorded, until)
    assert found.is_exact, found
    by_state = "SELECT state, count(*) FROM fencepost.runs WHERE fire_time <= $1 GROUP BY 1"
    states = {row["state"]: row["count"] for row in await fleet.query(by_state, until)}
    assert sum(states.values()) == found.expected
    assert states["succeeded"] >= 0.98 * found.expected
    assert set(states) <= {"succeeded", "missed"}
    for one in fleet.members:
        if one.alive:
            assert one.end(at_most_s=20) == 0


async def _now(fleet: Fleet) -> datetime:
    now = await fleet.value("SELECT clock_timestamp()")
    assert isinstance(now, datetime)
    return now


def _through(url: str, proxy: Proxy) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"postgres@127.0.0.1:{proxy.port}"))
