"""Real deliverers and processors over each real broker, killed, stalled and cut off, and the broker killed:
every run ends exactly once, nothing is lost, and a sink that compares fences has one effect of each run.

`FENCEPOST_TEST_DRILL_MESSAGES` and `FENCEPOST_TEST_DRILL_SEED` make another drill of the long one.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.chaos.broker_fleet import BrokerFleet, Totals
from tests.chaos.fleet import eventually
from tests.servers.fixtures import started
from tests.servers.process import Server

FEW, SMOKE, LONG = 10, 100, 20_001
SILENCE_S = "16"
"""Long enough that no publication is given up before the fault."""
SMOKE_FAULTS = ("processor killed", "broker killed", "worker killed", "partition")
FAULTS = (
    *("worker killed", "processor killed") * 3,
    *("worker stalled", "processor stalled") * 2,
    "broker killed",
    "partition",
)
FAULTS_MIN = 60
BURST_S = 1.0
"""How long after runs came the fault may come: most of them are under way then."""
ENDED_S = 120.0
LONG_ENDED_S = 900.0


def _nats() -> Server:
    from tests.servers.nats import NatsServer

    return NatsServer()


def _rabbitmq() -> Server:
    from tests.servers.rabbitmq import RabbitServer

    return RabbitServer()


def _kafka() -> Server:
    from tests.servers.kafka import KafkaServer

    return KafkaServer(session_s=3)


def _redis() -> Server:
    from tests.servers.redis import RedisServer

    return RedisServer(durable=True)


BROKERS = [
    pytest.param(_nats, marks=pytest.mark.nats, id="nats"),
    pytest.param(_rabbitmq, marks=pytest.mark.rabbitmq, id="rabbitmq"),
    pytest.param(_kafka, marks=pytest.mark.kafka, id="kafka"),
    pytest.param(_redis, marks=pytest.mark.redis, id="redis"),
]


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with started(request.param) as found:
        yield found


@asynccontextmanager
async def fleet_of(
    server: Server, folder: Path, seed: int, workers: int, **environment: str
) -> AsyncIterator[BrokerFleet]:
    fleet = BrokerFleet(folder, server, "drill", seed)
    try:
        await fleet.open(workers, workers, **environment)
        yield fleet
    finally:
        await fleet.close()


@pytest.mark.chaos
@pytest.mark.nats
@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", [_nats], indirect=True, ids=["nats"])
async def test_no_run_is_lost_or_ended_twice_by_some_faults(server: Server, tmp_path: Path) -> None:
    """About 15 s: four faults, and the heartbeat's timeout for what was in the hands of the killed."""
    async with fleet_of(server, tmp_path, seed=1, workers=2) as fleet:
        await fleet.enqueue(range(SMOKE))
        await fleet.suffer(*SMOKE_FAULTS)
        _check(await counted(fleet), SMOKE)


@pytest.mark.proof
@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("server", BROKERS, indirect=True)
async def test_no_run_is_lost_or_ended_twice_by_many_faults(server: Server, tmp_path: Path) -> None:
    """Some minutes for each broker: 60 faults in turn, each of them amid a sixtieth of 20,000 runs."""
    each = int(os.environ.get("FENCEPOST_TEST_DRILL_MESSAGES", str(LONG))) // 3
    dice = random.Random(seed := int(os.environ.get("FENCEPOST_TEST_DRILL_SEED", "1")))
    async with fleet_of(server, tmp_path, seed, workers=2) as fleet:
        for first in range(0, each, burst := each // FAULTS_MIN + 1):
            enqueuing = asyncio.create_task(fleet.enqueue(range(first, min(first + burst, each))))
            await asyncio.sleep(dice.uniform(0, BURST_S))
            await fleet.suffer(dice.choice(FAULTS))
            await enqueuing
        totals = await counted(fleet, LONG_ENDED_S)
    sys.stderr.write(f"\n{server.url.partition(':')[0]}: {totals}\n")
    _check(totals, each)


@pytest.mark.proof
@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", BROKERS, indirect=True)
@pytest.mark.parametrize("window", ["kill_before_the_confirm", "kill_before_the_ledger"])
async def test_no_run_is_lost_with_a_worker_that_is_killed_after_it_has_published(
    server: Server, tmp_path: Path, window: str
) -> None:
    """Long: what was in its hands is given away once it has been silent for long enough."""
    async with fleet_of(server, tmp_path, seed=1, workers=1, DRILL_SILENCE_S=SILENCE_S) as fleet:
        await fleet.enqueue(range(FEW))
        await counted(fleet)
        await getattr(fleet, window)(range(FEW, 2 * FEW))
        totals = await counted(fleet)
        _check(totals, FEW, told=2 * FEW)
        assert totals.attempts > totals.runs, "what was in its hands was sent again"


async def counted(fleet: BrokerFleet, within_s: float = ENDED_S) -> Totals:
    """What it came to, once all has ended and arrived."""
    await eventually(fleet.all_ended, "all runs end", within_s, fleet.logs)
    await eventually(fleet.all_told, "what was sent is there", ENDED_S, fleet.logs)
    return fleet.count()


def _check(totals: Totals, each: int, told: int | None = None) -> None:
    """So many runs of each kind, of those without a reply as many as were told."""
    told = each if told is None else told
    assert totals.runs == totals.succeeded == 2 * each + told, totals
    assert totals.ended_more_than_once == 0, totals
    assert (totals.applied, totals.applied_by_another_fence) == (each, 0), totals
    assert totals.told == told, totals
    assert totals.attempts >= totals.runs, totals
