"""The leader is cut off, stalled, killed and moved, on every lease store at once; each tick stays one row.

Real processes on real servers, each scheduler with a line of its own to the ledger and to the lease store.
Most of a drill is waiting, so the lease stores take it side by side, and what fails is told by name.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.chaos import lease_app, lease_places, ledgers
from tests.chaos.fleet import eventually
from tests.chaos.lease_app import TICKING, app, default_app
from tests.chaos.lease_fleet import LeaseFleet, Scheduler, make_fleet
from tests.chaos.lease_places import ETCD, KUBERNETES, MONGODB, POSTGRES, REDIS, SQLITE, LeasePlace
from tests.chaos.ledgers import Leader
from tests.servers.binaries import ServerMissing
from tests.servers.kubernetes import KubernetesServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import Address

TTL_S = app.settings.lease_ttl_s
TRUST_S = TTL_S - app.settings.lease_margin_s
SLACK_S = 0.8
"""For a machine that is busy; less than the margin, after which another may lead."""
OUTAGE_S = 45.0
LOOK_EVERY_S = 0.02
LATE_S = 2.0
PLAN_BYTES = 4_000
"""A planning write of forty ticks is larger than all else that names ticks; a statement's text names none."""

RAN_OUT = "the lease ran out before a renewal was confirmed"
REFUSED = "the ledger refused a stale epoch"
STALE_WRITE = "write refused: the epoch is stale"
UNANSWERED = "store unavailable"
SWITCHED = "leases come from another place than before"

Drill = Callable[[LeaseFleet], Awaitable[None]]

pytestmark = [
    pytest.mark.proof,
    pytest.mark.chaos,
    pytest.mark.postgres,
    pytest.mark.etcd,
    pytest.mark.redis,
    pytest.mark.mongodb,
    pytest.mark.timeout(400),
]


class Ground:
    """Where fleets are made: the servers, and a folder."""

    def __init__(
        self,
        server: PostgresServer,
        elsewhere: dict[str, Callable[[], LeasePlace]],
        in_mongodb: Callable[[], LeasePlace],
        folder: Path,
    ) -> None:
        self.server = server
        self.in_mongodb = in_mongodb
        self.elsewhere = elsewhere
        self.folder = folder
        self.exits = AsyncExitStack()

    async def fleet(self, place: LeasePlace, app: str = "app", name: str = "") -> LeaseFleet:
        """A fleet with a name by which it is told of."""
        name = name or place.name
        fleet = await make_fleet(place, self.server, self.folder / name, app)
        fleet.name = name
        self.exits.push_async_callback(fleet.close)
        return fleet

    async def fleets(self, *own: str) -> list[LeaseFleet]:
        """One for each lease store: the ledgers' own that are named, and all others."""
        places = [*map(lease_places.own, own), *(make() for make in self.elsewhere.values())]
        return [await self.fleet(place) for place in places]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with closing(PostgresServer(max_connections="300")) as server:
        yield server


@pytest.fixture(scope="module")
def kubernetes_server() -> Iterator[KubernetesServer | None]:
    """The real API server, where somebody has built it."""
    try:
        server = KubernetesServer()
    except ServerMissing:
        yield None
        return
    with closing(server):
        yield server


@pytest.fixture
def elsewhere(
    request: pytest.FixtureRequest, kubernetes_server: KubernetesServer | None, tmp_path: Path
) -> dict[str, Callable[[], LeasePlace]]:
    """How to have fresh leases on each kind of server."""
    etcd, redis, mongodb = (
        request.getfixturevalue(f"{kind}_server").url for kind in ("etcd", "redis", "mongo")
    )
    kinds: dict[str, Callable[[], LeasePlace]] = {
        ETCD: lambda: lease_places.on_etcd(etcd),
        REDIS: lambda: lease_places.on_redis(redis),
        MONGODB: lambda: lease_places.on_mongodb(mongodb),
    }
    if kubernetes_server is not None:
        kinds[KUBERNETES] = lambda: lease_places.on_kubernetes(kubernetes_server, tmp_path)
    return kinds


@pytest.fixture
async def ground(
    server: PostgresServer,
    mongo_server: Address,
    elsewhere: dict[str, Callable[[], LeasePlace]],
    tmp_path: Path,
) -> AsyncIterator[Ground]:
    in_mongodb = partial(lease_places.in_mongodb, mongo_server.url)
    ground = Ground(server, elsewhere, in_mongodb, tmp_path)
    async with ground.exits:
        yield ground


async def test_a_leader_cut_off_from_its_lease_store_does_not_lead_until_it_is_told(ground: Ground) -> None:
    """Beside it, one fleet is switched to another lease store as it runs."""
    fleets = await ground.fleets(POSTGRES)
    switched = await ground.fleet(lease_places.own(POSTGRES), name="switched")

    async def switch(fleet: LeaseFleet) -> None:
        await _switch(fleet, ground.elsewhere[REDIS]())

    await _side_by_side(*((one, _cut_off_from_leases) for one in fleets), (switched, switch))


async def test_no_late_write_of_a_stalled_leader_makes_a_tick_two(ground: Ground) -> None:
    """Beside it, one fleet under the default terms loses all its schedulers for a while."""
    fleets = [*await ground.fleets(POSTGRES, SQLITE), await ground.fleet(ground.in_mongodb())]
    orphaned = await ground.fleet(lease_places.own(POSTGRES), "default_app", "orphaned")
    await orphaned.start(schedulers=2, workers=1)
    await orphaned.settle()
    await _side_by_side(*((one, _stall_and_cut_off) for one in fleets), (orphaned, _lose_all_schedulers))


async def _side_by_side(*drills: tuple[LeaseFleet, Drill]) -> None:
    """All at once and all to their end; then what failed, by name."""
    outcomes = await asyncio.gather(*(drill(fleet) for fleet, drill in drills), return_exceptions=True)
    failures = [
        f"=== {fleet.name}\n{''.join(traceback.format_exception(outcome))}"
        for (fleet, _), outcome in zip(drills, outcomes, strict=True)
        if outcome is not None
    ]
    if failures:
        pytest.fail("\n".join(failures), pytrace=False)


async def _cut_off_from_leases(fleet: LeaseFleet) -> None:
    """For one and a half terms: another leads within two, and the first has stopped by itself before that."""
    await fleet.start(schedulers=3)
    await fleet.settle()
    leader, before = await fleet.leader(), await fleet.registered()
    assert leader.to_leases is not None
    cut_at = ledgers.now()
    leader.to_leases.cut()
    heal = asyncio.get_running_loop().call_later(1.5 * TTL_S, leader.to_leases.heal)
    successor = await fleet.successor(before, at_most_s=2 * TTL_S)
    await asyncio.sleep(max(0.0, heal.when() - asyncio.get_running_loop().time()))
    _stopped_by_its_own_deadline(fleet, leader, cut_at, successor)
    await fleet.settle()
    assert REFUSED not in leader.process.log, fleet.logs()
    await _account(fleet)


def _stopped_by_its_own_deadline(
    fleet: LeaseFleet, leader: Scheduler, cut_at: datetime, successor: Leader
) -> None:
    told = leader.process.told("stepped down")
    assert told, f"it never stepped down\n{fleet.logs()}"
    assert told[-1]["reason"] == RAN_OUT, fleet.logs()
    stopped_at = datetime.fromisoformat(told[-1]["time"])
    assert cut_at <= stopped_at <= cut_at + timedelta(seconds=TRUST_S + SLACK_S), (cut_at, stopped_at)
    assert stopped_at < successor.since, "it stopped only after another led"


async def _stall_and_cut_off(fleet: LeaseFleet) -> None:
    """The leader is away for two terms and more, each time with a write on its way, and comes back."""
    await fleet.start(schedulers=3)
    await fleet.settle()
    await _stall_in_mid_write(fleet)
    await fleet.settle()
    if fleet.place.name != SQLITE:
        await _cut_off_in_mid_write(fleet)
        await fleet.settle()
    await _account(fleet)


async def _stall_in_mid_write(fleet: LeaseFleet) -> None:
    leader, before = await fleet.leader(), await fleet.registered()
    if leader.to_ledger is not None:
        await leader.to_ledger.hold_from(PLAN_BYTES, at_most_s=30, saying=lease_app.PREFIX.encode())
    await fleet.stall(leader)
    await asyncio.sleep(2 * TTL_S + 2)
    await _has_lost_the_lead(fleet, before)
    leader.process.thaw()
    if leader.to_ledger is not None:
        leader.to_ledger.release()
        await _is_refused(fleet, leader, before)


async def _cut_off_in_mid_write(fleet: LeaseFleet) -> None:
    """From everything at once; the process itself is well."""
    leader, before = await fleet.leader(), await fleet.registered()
    assert leader.to_ledger is not None
    await leader.to_ledger.hold_from(PLAN_BYTES, at_most_s=30, saying=lease_app.PREFIX.encode())
    for line in leader.lines:
        line.cut()
    await asyncio.sleep(2 * TTL_S + 2)
    await _has_lost_the_lead(fleet, before)
    for line in leader.lines:
        line.heal()
    await _is_refused(fleet, leader, before)


async def _has_lost_the_lead(fleet: LeaseFleet, before: Leader) -> None:
    found = await fleet.registered()
    assert found.holder != before.holder, f"nobody took over\n{fleet.logs()}"
    assert found.epoch > before.epoch


async def _is_refused(fleet: LeaseFleet, leader: Scheduler, before: Leader) -> None:
    """On MongoDB it may also be given up with its transaction, when its time was over."""

    async def holds() -> bool:
        refused = before.epoch in [line["epoch"] for line in leader.process.told(STALE_WRITE)]
        unanswered = [line for line in leader.process.told(UNANSWERED) if line["part"] == "planner"]
        return refused or bool(fleet.place.ledger and unanswered)

    await eventually(holds, "the late write is refused and logged", 20, fleet.logs)


async def _switch(fleet: LeaseFleet, place: LeasePlace) -> None:
    """One process after the other is restarted with leases elsewhere; the ledger's epochs go on."""
    await fleet.start(schedulers=3)
    await fleet.settle()
    fleet.place = place
    async with _epochs_of(fleet) as seen:
        for one in tuple(fleet.schedulers):
            assert await asyncio.to_thread(one.process.end, 20) == 0, fleet.logs()
            await fleet.retire(one)
            await fleet.start_scheduler()
            await fleet.settle()
    assert seen[0] < seen[-1]
    assert seen == sorted(seen), "an epoch fell"
    told = [line for one in fleet.schedulers for line in one.process.told(SWITCHED)]
    assert [line["before"] for line in told if line["before"] == "store"], fleet.logs()
    await _account(fleet)


@asynccontextmanager
async def _epochs_of(fleet: LeaseFleet) -> AsyncIterator[list[int]]:
    """Every epoch that the ledger shows meanwhile, in order."""
    seen: list[int] = []

    async def look() -> None:
        while True:
            seen.append((await fleet.registered()).epoch)
            await asyncio.sleep(LOOK_EVERY_S)

    watch = asyncio.create_task(look())
    try:
        yield seen
        assert not watch.done(), "the watch has ended by itself"
    finally:
        watch.cancel()


async def _lose_all_schedulers(fleet: LeaseFleet) -> None:
    """Under the default terms: killed, and back after most of the horizon; no tick is late meanwhile. It is
    the longest of the drills, so its fleet is settled before the others begin."""
    since = ledgers.now()
    for one in tuple(fleet.schedulers):
        await fleet.retire(one)
    await asyncio.sleep(OUTAGE_S)
    await fleet.start(schedulers=2)
    until = since + timedelta(seconds=default_app.settings.horizon_s + 2)
    await asyncio.sleep((until - ledgers.now()).total_seconds())
    await _not_late(fleet, since, until)
    await fleet.settle()
    await _account(fleet)


async def _not_late(fleet: LeaseFleet, since: datetime, until: datetime) -> None:
    """Every tick of the span was started, 99 in 100 of them without delay."""
    expected = (int((until - since).total_seconds()) - 1) * TICKING
    delays: list[float] = []

    async def started() -> bool:
        rows = await fleet.ledger.query(ledgers.STARTS, since, until)
        begun = [row for row in rows if row["started_at"]]
        delays[:] = sorted((row["started_at"] - row["fire_time"]).total_seconds() for row in begun)
        return len(begun) == len(rows) >= expected

    await eventually(started, "all ticks of the span are started", 10, fleet.logs)
    assert delays[len(delays) * 99 // 100] < LATE_S, delays[-20:]


async def _account(fleet: LeaseFleet) -> None:
    found = await ledgers.accounted(fleet.ledger, ledgers.now())
    assert found.is_exact, str(found)
    assert found.expected > 3 * TICKING
