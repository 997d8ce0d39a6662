"""A fleet under the nemesis: places for processes, each with lines of its own, and a client.

A place outlives its processes: who was killed is started again in the same place, behind the same lines. A
process that ends by itself is a finding, unless it never came up because the store was away: then it is
started again, as whoever watches over processes in earnest would do.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fencepost import Fencepost
from fencepost.errors import StoreUnavailable
from tests.chaos import ledgers, nemesis_app
from tests.chaos.fleet import Member, eventually
from tests.chaos.grounds import Ground
from tests.chaos.sinks import DurableLines
from tests.history.model import Fault
from tests.servers.proxy import Proxy

TARGET = f"{nemesis_app.__name__}:app"
SETTINGS = nemesis_app.app.settings
SCHEDULER, WORKER = "scheduler", "worker"
BOOK = "acknowledged"
ORDER_EVERY_S = 0.1
AGAIN_S = 0.2
UP_S = 60.0
SETTLE_S = 120.0
STOP_S = 30.0
STARTED, STALE_WRITE = "started", "write refused: the epoch is stale"
PID = re.compile(r"-(\d+)-[0-9a-f]+$")
LEAP = timedelta(hours=12)
"""Clocks that jump do so by a multiple of this."""
FAKETIME = "*/faketime/libfaketimeMT.so.1"
ENDED = "('succeeded', 'dead', 'skipped', 'missed', 'cancelled', 'withdrawn')"
OPEN = f"SELECT count(*) AS count FROM {{0}}runs WHERE fire_time <= $1 AND state NOT IN {ENDED}"
TICKS = "SELECT count(*) AS count FROM {0}runs WHERE schedule_id IS NOT NULL AND fire_time <= $1"
DONE = f"{TICKS.replace('<= $1', '> $1')} AND state = 'succeeded'"
LEADERS = "SELECT shard, holder FROM {0}epochs"


@dataclass(eq=False)
class Slot:
    """A place for one process; `is_free` while nothing happens to it."""

    role: str
    number: int
    to_ledger: Proxy | None = None
    to_leases: Proxy | None = None
    clock: Path | None = None
    members: list[Member] = field(default_factory=list)
    is_free: bool = True

    @property
    def name(self) -> str:
        return f"{self.role}-{self.number}"

    @property
    def member(self) -> Member:
        return self.members[-1]

    @property
    def lines(self) -> set[Proxy]:
        return {line for line in (self.to_ledger, self.to_leases) if line is not None}


@dataclass(frozen=True)
class Plan:
    """How large a fleet is and how much it has to do."""

    schedulers: int = 3
    workers: int = 3
    ticks_per_s: int = 20


class Stage:
    """One fleet on one ground."""

    def __init__(self, ground: Ground, plan: Plan, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.ground = ground
        self.plan = plan
        self.folder = folder
        self.slots: list[Slot] = []
        self.faults: list[Fault] = []
        self.findings: list[str] = []
        self.book = DurableLines(folder / BOOK)
        self.sink = DurableLines(folder / nemesis_app.SINK)
        self._count = 0
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def open(self) -> None:
        """Start everybody and see them tick."""
        for role, size in ((SCHEDULER, self.plan.schedulers), (WORKER, self.plan.workers)):
            for number in range(1, size + 1):
                self.slots.append(await self._make_slot(role, number))
        since = ledgers.now()
        for slot in self.slots:
            self.start(slot)
        self._tasks["orders"] = asyncio.create_task(self._place_orders())
        self._tasks["watch"] = asyncio.create_task(self._watch_over())
        await self.ticking(since)

    async def ticking(self, since: datetime) -> None:
        """Until ticks from after that moment have run, for a few seconds' worth of them. A busy machine may
        take long for all of them, but not for the next one."""
        done = 0
        while done <= 3 * self.plan.ticks_per_s:
            done = await self._more_than(done, since)

    async def _more_than(self, done: int, since: datetime) -> int:
        async def holds() -> bool:
            return await self.count(DONE, since) > done

        what = f"one more tick than {done} has run on {self.ground.name}"
        await eventually(holds, what, SETTLE_S, self.logs)
        return await self.count(DONE, since)

    async def settle(self) -> datetime:
        """After the last fault: until all ticks up to now have ended, and when that now was."""
        await self._end("orders")
        through = ledgers.now()
        await self.ticking(through)

        while left := await self.count(OPEN, through):
            await self._fewer_than(left, through)
        return through

    async def _fewer_than(self, left: int, through: datetime) -> None:
        async def holds() -> bool:
            return await self.count(OPEN, through) < left

        what = f"one more of the last {left} runs on {self.ground.name} has ended"
        await eventually(holds, what, SETTLE_S, self.logs)

    async def stop(self) -> None:
        """A clean stop of everybody."""
        await self._end("watch")
        ends = [asyncio.to_thread(slot.member.end, STOP_S) for slot in self.slots]
        for slot, code in zip(self.slots, await asyncio.gather(*ends, return_exceptions=True), strict=True):
            if code != 0:
                self.findings.append(f"{slot.name} did not stop cleanly: {code}\n{slot.member.log[-3000:]}")

    async def close(self) -> None:
        """Have it all gone, in whatever state it is."""
        for task in tuple(self._tasks):
            await self._end(task)
        for slot in self.slots:
            for member in slot.members:
                member.discard()
            for line in slot.lines:
                await line.close()
        await self.ground.ledger.close()

    def start(self, slot: Slot) -> None:
        """A new process in that place."""
        self._count += 1
        environment = {nemesis_app.FOLDER: str(self.folder), nemesis_app.RATE: str(self.plan.ticks_per_s)}
        if slot.to_leases is not None and slot.role == SCHEDULER:
            environment["FENCEPOST_LEASES"] = self.ground.place.url(slot.to_leases.address)
        if slot.clock is not None:
            environment |= _faked(slot.clock)
        store = self._store_through(slot.to_ledger)
        slot.members.append(Member(slot.role, self._count, store, self.folder, TARGET, **environment))

    async def up(self, slot: Slot) -> bool:
        """Wait until the process in that place has begun, or has ended because it could not; False where it
        takes too long."""
        with suppress(AssertionError):
            await eventually(lambda: _has_begun(slot.member), f"{slot.name} is up", UP_S)
            return True
        return False

    async def led_by(self, slot: Slot) -> list[int]:
        """The shards whose registered leader is the process in that place."""
        rows = await self.ground.ledger.query(LEADERS)
        return [row["shard"] for row in rows if pid_of(row["holder"]) == slot.member.pid]

    async def count(self, sql: str, *moments: datetime) -> int:
        return int((await self.ground.ledger.query(sql, *moments))[0]["count"])

    def told(self, event: str) -> list[dict[str, Any]]:
        """What all processes said of it, with times by the machine's clock and not by a faked one."""
        return [
            line | {"time": _believable(datetime.fromisoformat(line["time"]))}
            for slot in self.slots
            for member in slot.members
            for line in member.told(event)
        ]

    def logs(self) -> str:
        members = [member for slot in self.slots for member in slot.members[-2:]]
        return "".join(
            f"--- {self.ground.name}: {one.name} ({one.pid})\n{one.log[-3_000:]}\n" for one in members
        )

    async def _make_slot(self, role: str, number: int) -> Slot:
        address = _address(self.ground.ledger.url)
        to_ledger = await _line(address) if address else None
        elsewhere = self.ground.place.address
        to_leases = await _line(elsewhere) if elsewhere and role == SCHEDULER else None
        clock = self.folder / f"{role}-{number}.clock" if address and number == 1 and faketime() else None
        if clock is not None:
            clock.write_text("+0\n")
        return Slot(role, number, to_ledger, to_leases, clock)

    def _store_through(self, line: Proxy | None) -> str:
        url = self.ground.ledger.url
        return urlsplit(url)._replace(netloc=f"postgres@{line.address}").geturl() if line else url

    async def _place_orders(self) -> None:
        """Enqueue by key, one after the other; what was not answered is asked again under the same key."""
        async with Fencepost(self.ground.ledger.url) as client:
            client.add_job(nemesis_app.app.jobs[ORDER].spec, nemesis_app.app.jobs[ORDER].executor)
            number = 0
            while True:
                with suppress(StoreUnavailable):
                    key = await client.enqueue(ORDER, key=f"order-{number}")
                    await asyncio.to_thread(self.book.append, key)
                    number += 1
                await asyncio.sleep(ORDER_EVERY_S)

    async def _watch_over(self) -> None:
        while True:
            for slot in self.slots:
                if slot.is_free and not slot.member.alive:
                    self._ended_by_itself(slot)
            await asyncio.sleep(AGAIN_S)

    def _ended_by_itself(self, slot: Slot) -> None:
        member = slot.member
        member.ended()
        if member.told(STARTED):
            self.findings.append(f"{slot.name} ended by itself\n{member.log[-3_000:]}")
        self.start(slot)

    async def _end(self, name: str) -> None:
        task = self._tasks.pop(name)
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(outcome, Exception):
            self.findings.append(f"{name} on {self.ground.name}: {outcome!r}")


ORDER = next(name for name in nemesis_app.app.jobs if name == "order")


def faketime() -> Path | None:
    """The library that lies about the time, where it is installed."""
    return next(iter(sorted(Path("/usr/lib").glob(FAKETIME))), None)


def pid_of(node: str | None) -> int:
    """The process of a node, by its name."""
    found = PID.search(node or "")
    return int(found[1]) if found else 0


def _faked(clock: Path) -> dict[str, str]:
    return {
        "LD_PRELOAD": str(faketime()),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def _believable(moment: datetime) -> datetime:
    """Clocks jump by whole leaps here, and no chaos run is half as long as one."""
    return moment - round((moment - ledgers.now()) / LEAP) * LEAP


async def _has_begun(member: Member) -> bool:
    return bool(member.told(STARTED)) or not member.alive


def _address(ledger: str) -> tuple[str, int] | None:
    """Where a line can lead. A replica set tells its clients its own addresses, past any line."""
    if ledger.startswith("mongodb"):
        return None
    parts = urlsplit(ledger)
    return (parts.hostname, parts.port) if parts.hostname and parts.port else None


async def _line(address: tuple[str, int]) -> Proxy:
    line = Proxy(*address)
    await line.start()
    return line
