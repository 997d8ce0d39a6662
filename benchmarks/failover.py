"""`make failover`: how long it takes until another leads, on every lease store, and what the ticks notice.

Three schedulers and a worker for each lease store, all real processes, twenty ticks a second. The leader is
stopped, killed, stalled and cut off from its lease store in turns; the time runs from the fault until the
ledger's own record names another holder, seen by a poll of a few milliseconds. After each fault the fleet is
made whole again before the next. In the end the ledger is held against what the triggers asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from benchmarks.failover_faults import FAULTS
from benchmarks.failover_report import LATE_S, PARTITION, Measured, Ticks, as_json, as_text
from tests.chaos import lease_places, ledgers
from tests.chaos.fleet import eventually
from tests.chaos.lease_app import app
from tests.chaos.lease_fleet import LeaseFleet, make_fleet
from tests.chaos.lease_places import ETCD, KUBERNETES, MONGODB, POSTGRES, REDIS, SQLITE, LeasePlace
from tests.servers.binaries import ServerMissing
from tests.servers.etcd import EtcdServer
from tests.servers.kubernetes import KubernetesServer
from tests.servers.mongodb import MongoServer
from tests.servers.postgres import PostgresServer
from tests.servers.process import Server
from tests.servers.redis import RedisServer

STORES = (POSTGRES, SQLITE, ETCD, REDIS, MONGODB, KUBERNETES)
SCHEDULERS = 3
TIMES = 10
AT_ONCE = 2
CONNECTIONS_MAX = 300
ENDED_S = 30.0
INTERRUPTED = 130

S = TypeVar("S", bound=Server)


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        measured = asyncio.run(measure(options.stores, options.times, options.at_once))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; every process and server is stopped\n")
        return INTERRUPTED
    sys.stdout.write((as_json(measured) if options.json else as_text(measured)) + "\n")
    return 0 if measured and all(one.is_good for one in measured) else 1


async def measure(stores: Sequence[str], times: int, at_once: int) -> list[Measured]:
    """Every lease store, so many of them side by side; one whose server cannot be had is left out."""
    turns = asyncio.Semaphore(at_once)
    with tempfile.TemporaryDirectory(prefix="fencepost-failover-") as folder:
        async with _serving(_start_ledger) as ledger:

            async def one(store: str) -> Measured | None:
                async with turns:
                    return await _measure_store(store, ledger, Path(folder) / store, times)

            found = await asyncio.gather(*map(one, stores))
    return [each for each in found if each is not None]


async def _measure_store(store: str, ledger: PostgresServer, folder: Path, times: int) -> Measured | None:
    try:
        async with _place(store, folder) as place, _fleet(place, ledger, folder) as fleet:
            return await _measure_fleet(fleet, times)
    except ServerMissing as missing:
        _tell(store, f"left out: {missing}")
        return None


async def _measure_fleet(fleet: LeaseFleet, times: int) -> Measured:
    """Round after round of all faults, so that a noisy moment does not fall on one of them only."""
    measured = Measured(fleet.name, app.settings.lease_terms)
    faults = {name: fault for name, fault in FAULTS.items() if name != PARTITION or fleet.name != SQLITE}
    try:
        await fleet.start(SCHEDULERS, workers=1)
        await fleet.settle()
        await _working(fleet)
        since = ledgers.now()
        for number in range(1, times + 1):
            for name, fault in faults.items():
                measured.handovers_s.setdefault(name, []).append(await fault(fleet))
                await fleet.settle()
            last = ", ".join(f"{name} {values[-1]:.3f} s" for name, values in measured.handovers_s.items())
            _tell(fleet.name, f"{number}/{times}: {last}")
        measured.ticks = await _ticks(fleet, since)
    except AssertionError as error:
        measured.trouble = str(error)
    return measured


async def _working(fleet: LeaseFleet) -> None:
    """Until the worker has begun to work."""
    since = ledgers.now()

    async def holds() -> bool:
        rows = await fleet.ledger.query(ledgers.STARTS, since, ledgers.now())
        return any(row["started_at"] for row in rows)

    await eventually(holds, "the worker works", ENDED_S, fleet.logs)


async def _ticks(fleet: LeaseFleet, since: datetime) -> Ticks:
    """What was asked for in all that time, and what came of it."""
    until = ledgers.now()

    async def ended() -> bool:
        rows = await fleet.ledger.query(ledgers.STARTS, since, until)
        return all(row["state"] not in ("planned", "ready", "running") for row in rows)

    await eventually(ended, "every run has ended", ENDED_S, fleet.logs)
    account = await ledgers.accounted(fleet.ledger, until)
    rows = await fleet.ledger.query(ledgers.STARTS, since, until)
    lost = [tick for tick in account.missed if tick[1] > since]
    unworked = [row for row in rows if row["state"] != "succeeded"]
    delays_s = [(row["started_at"] - row["fire_time"]).total_seconds() for row in rows if row["started_at"]]
    return Ticks(
        expected=len(rows) + len(lost),
        missed=len(lost) + len(unworked),
        doubled=len(account.doubled) + len(account.unasked) + sum(row["attempt"] > 1 for row in rows),
        late=sum(delay_s > LATE_S for delay_s in delays_s),
    )


@asynccontextmanager
async def _fleet(place: LeasePlace, ledger: PostgresServer, folder: Path) -> AsyncIterator[LeaseFleet]:
    fleet = await make_fleet(place, ledger, folder)
    try:
        yield fleet
    finally:
        await fleet.close()


@asynccontextmanager
async def _place(store: str, folder: Path) -> AsyncIterator[LeasePlace]:
    """Fresh leases on a server of their own, gone afterwards."""
    match store:
        case lease_places.ETCD:
            async with _serving(EtcdServer) as etcd:
                yield lease_places.on_etcd(etcd.url)
        case lease_places.REDIS:
            async with _serving(RedisServer) as redis:
                yield lease_places.on_redis(redis.url)
        case lease_places.MONGODB:
            async with _serving(MongoServer) as mongodb:
                yield lease_places.on_mongodb(mongodb.url)
        case lease_places.KUBERNETES:
            async with _serving(KubernetesServer) as kubernetes:
                yield lease_places.on_kubernetes(kubernetes, folder)
        case _:
            yield lease_places.own(store)


@asynccontextmanager
async def _serving(start: Callable[[], S]) -> AsyncIterator[S]:
    server = await asyncio.to_thread(start)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.close)


def _start_ledger() -> PostgresServer:
    return PostgresServer(durable=True, max_connections=str(CONNECTIONS_MAX))


def _tell(store: str, text: str) -> None:
    sys.stderr.write(f"· {time.strftime('%H:%M:%S')} {store:12} {text}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks failover", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--times", type=_positive, default=TIMES, help="how often each fault is tried")
    parser.add_argument("--at-once", type=_positive, default=AT_ONCE, help="how many lease stores at a time")
    parser.add_argument(
        "--stores",
        type=_chosen,
        default=STORES,
        metavar="A,B",
        help=f"of {', '.join(STORES)}; all unless given",
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("expected at least 1")
    return number


def _chosen(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    for store in chosen:
        if store not in STORES:
            raise argparse.ArgumentTypeError(f"no store {store!r}; known: {', '.join(STORES)}")
    return chosen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
