"""Schedulers over one ledger and one lease store, each behind lines of its own that can be cut.

There is one shard, so there is one leader. A fleet is settled when every scheduler is on the list of nodes,
the one that should lead does, nobody else believes to, and the plans reach as far ahead as they should.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fencepost.config import Settings
from fencepost.core.placement import assign
from fencepost.model.identifiers import NodeId, Shard
from fencepost.stores import mongodb, postgres, sqlite
from tests.chaos import lease_app, ledgers
from tests.chaos.fleet import Member, eventually
from tests.chaos.lease_places import SQLITE, LeasePlace
from tests.chaos.ledgers import Leader, Ledger, PostgresLedger, SqliteLedger
from tests.chaos.mongodb import Followed
from tests.servers.postgres import PostgresServer
from tests.servers.proxy import Proxy

SETTLE_S = 120.0
HORIZON_SLACK_S = 2.0
POLL_S = 0.005
STALL_TRIES_MAX = 50
NODE = re.compile(r"-(\d+)-[0-9a-f]+$")


@dataclass(frozen=True)
class Scheduler:
    """A process and its lines; none to a file, and one for both where the leases are the ledger's own."""

    process: Member
    to_ledger: Proxy | None
    to_leases: Proxy | None

    @property
    def lines(self) -> set[Proxy]:
        return {line for line in (self.to_ledger, self.to_leases) if line is not None}


class LeaseFleet:
    """The schedulers of one drill."""

    def __init__(self, place: LeasePlace, ledger: Ledger, folder: Path, app: str = "app") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = place.name
        self.place = place
        self.ledger = ledger
        self.schedulers: list[Scheduler] = []
        self.workers: list[Member] = []
        self._folder = folder
        self._target = f"{lease_app.__name__}:{app}"
        self._settings: Settings = getattr(lease_app, app).settings
        self._count = 0

    async def start(self, schedulers: int, workers: int = 0) -> None:
        for _ in range(schedulers):
            await self.start_scheduler()
        for _ in range(workers):
            self.workers.append(self._member("worker", self.ledger.url))

    async def start_scheduler(self) -> Scheduler:
        address = _address(self.ledger.url)
        to_ledger = await _line(address) if address else None
        to_leases = await _line(self.place.address) if self.place.address else to_ledger
        ledger = _through(self.ledger.url, to_ledger) if to_ledger else self.ledger.url
        leases = self.place.url(to_leases.address) if to_leases else ""
        member = self._member("scheduler", ledger, FENCEPOST_LEASES=leases)
        scheduler = Scheduler(member, to_ledger, to_leases)
        self.schedulers.append(scheduler)
        return scheduler

    async def leader(self) -> Scheduler:
        """The process whose plans count."""
        found = await self.registered()
        return next(one for one in self.schedulers if one.process.pid == _pid(found.holder))

    async def registered(self) -> Leader:
        """The ledger's word on who leads."""
        found = await ledgers.leader(self.ledger)
        assert found is not None, "nobody was ever registered"
        return found

    async def successor(self, before: Leader, at_most_s: float) -> Leader:
        """Whoever is registered after that one, as soon as it is."""
        try:
            async with asyncio.timeout(at_most_s):
                while (found := await self.registered()).holder == before.holder:  # noqa: ASYNC110
                    await asyncio.sleep(POLL_S)
                return found
        except TimeoutError:
            raise AssertionError(f"nobody took over within {at_most_s:g} s\n{self.logs()}") from None

    async def stall(self, scheduler: Scheduler) -> float:
        """Freeze it between two writes: what a frozen process has locked in a file nobody else can write, and
        no lease can change that. Returns when that was, on the loop's clock."""
        for _ in range(STALL_TRIES_MAX):
            frozen_at = asyncio.get_running_loop().time()
            scheduler.process.freeze()
            if not await self.ledger.is_locked():
                return frozen_at
            scheduler.process.thaw()
            await asyncio.sleep(POLL_S)
        raise AssertionError("the leader writes all the time")

    async def settle(self, at_most_s: float = SETTLE_S) -> None:
        await eventually(self._is_settled, "the fleet is settled", at_most_s, self.logs)

    async def retire(self, scheduler: Scheduler) -> None:
        """Forget a process that has ended, or end it."""
        self.schedulers.remove(scheduler)
        scheduler.process.discard()
        for line in scheduler.lines:
            await line.close()

    async def close(self) -> None:
        for scheduler in tuple(self.schedulers):
            await self.retire(scheduler)
        for worker in self.workers:
            worker.discard()
        await self.ledger.close()

    def logs(self) -> str:
        members = [*(one.process for one in self.schedulers), *self.workers]
        return "".join(f"--- {self.name}: {one.name} ({one.pid})\n{one.log[-4_000:]}\n" for one in members)

    def _member(self, role: str, store: str, **environment: str) -> Member:
        self._count += 1
        return Member(role, self._count, store, self._folder, self._target, **environment)

    async def _is_settled(self) -> bool:
        running = {one.process.pid for one in self.schedulers if one.process.alive}
        assert len(running) == len(self.schedulers), f"a scheduler has ended by itself\n{self.logs()}"
        leader = await ledgers.leader(self.ledger)
        nodes = {
            node: epochs
            for node, epochs in (await ledgers.believers(self.ledger)).items()
            if _pid(node) in running
        }
        if leader is None or len(nodes) < len(running):
            return False
        favourite = assign(1, [NodeId(node) for node in nodes])[Shard(0)]
        beliefs = {node: epochs for node, epochs in nodes.items() if epochs}
        ahead_s = self._settings.horizon_s - self._settings.plan_every_s - HORIZON_SLACK_S
        return (
            leader.holder == favourite
            and beliefs == {favourite: [leader.epoch]}
            and await ledgers.planned_for_s(self.ledger) > ahead_s
        )


async def make_fleet(
    place: LeasePlace, server: PostgresServer | None, folder: Path, app: str = "app"
) -> LeaseFleet:
    """A fleet with a fresh ledger on the server, or where the leases are: in a file or on MongoDB."""
    if place.name == SQLITE:
        path = folder.with_suffix(".db")
        await sqlite.migrate(f"sqlite:///{path}", shards=1)
        return LeaseFleet(place, SqliteLedger(path), folder, app)
    if place.ledger:
        await mongodb.migrate(place.ledger, shards=1)
        return LeaseFleet(place, await asyncio.to_thread(Followed, place.ledger), folder, app)
    assert server is not None
    url = await asyncio.to_thread(server.create_empty_database)
    await postgres.migrate(url, shards=1)
    return LeaseFleet(place, await PostgresLedger.open(url), folder, app)


def _pid(node: str) -> int:
    found = NODE.search(node)
    assert found, node
    return int(found[1])


def _address(ledger: str) -> tuple[str, int] | None:
    """Where the ledger's server is; a file has none."""
    parts = urlsplit(ledger)
    return (parts.hostname, parts.port) if parts.hostname and parts.port else None


def _through(url: str, line: Proxy) -> str:
    parts = urlsplit(url)
    user = "" if parts.scheme == "mongodb" else "postgres@"
    return parts._replace(netloc=f"{user}{line.address}").geturl()


async def _line(address: tuple[str, int]) -> Proxy:
    line = Proxy(*address)
    await line.start()
    return line
