"""A fleet of real processes that can be killed, stopped and continued, one by one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg

from tests.servers.guard import guard

ROOT = Path(__file__).parents[2]
TARGET = "tests.chaos.fleet_app:app"
STEP_S = 0.1


class Member:
    """One process: a scheduler or a worker, with its log, in a session of its own: a Ctrl-C that ends the
    drill is not meant for it. Where the drill itself is killed, the guard of the servers ends it."""

    def __init__(
        self, role: str, number: int, store: str, folder: Path, target: str = TARGET, **environment: str
    ) -> None:
        self.name = f"{role}-{number}"
        self._log = folder / f"{self.name}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fencepost", role, target, "--log-json"],
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, "FENCEPOST_STORE": store, **environment},
                start_new_session=True,
            )
        self._is_guarded = True
        guard().hold(self.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def told(self, event: str) -> list[dict[str, Any]]:
        """The lines of its log about this event."""
        lines = [json.loads(line) for line in self.log.splitlines() if f'"{event}"' in line]
        return [line for line in lines if line["event"] == event]

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.ended()

    def freeze(self) -> None:
        self.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self.send(signal.SIGCONT)

    def discard(self) -> None:
        """Have it gone, in whatever state it is."""
        if self.alive:
            self.thaw()
            self.send(signal.SIGKILL)
        self.ended()

    def end(self, at_most_s: float) -> int:
        """Ask it to stop and see that it does."""
        self.send(signal.SIGTERM)
        return self.ended(at_most_s)

    def ended(self, within_s: float | None = None) -> int:
        """Wait for its end, whatever brings it about."""
        code = self._process.wait(within_s)
        if self._is_guarded:
            self._is_guarded = False
            guard().let_go(self.pid)
        return code


class Fleet:
    """The processes over one database, with so many ticks a second."""

    def __init__(self, url: str, folder: Path, ticking: int) -> None:
        self.url = url
        self.ticking = ticking
        self._folder = folder
        self.members: list[Member] = []

    def start(self, role: str, url: str | None = None) -> Member:
        ticking = str(self.ticking)
        member = Member(role, len(self.members), url or self.url, self._folder, FLEET_TICKING=ticking)
        self.members.append(member)
        return member

    def close(self) -> None:
        for member in self.members:
            member.discard()

    def logs(self) -> str:
        return "".join(f"--- {one.name}\n{one.log[-6_000:]}\n" for one in self.members)

    async def query(self, sql: str, *args: object) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.url)
        try:
            return list(await connection.fetch(sql, *args))
        finally:
            await connection.close()

    async def value(self, sql: str, *args: object) -> object:
        rows = await self.query(sql, *args)
        return rows[0][0]

    async def leads(self, member: Member) -> int:
        """How many shards this process holds."""
        sql = "SELECT count(*) FROM fencepost.leases WHERE holder LIKE $1 AND expires_at > clock_timestamp()"
        count = await self.value(sql, f"%-{member.pid}-%")
        assert isinstance(count, int)
        return count


async def eventually(
    holds: Callable[[], Awaitable[bool]],
    what: str,
    at_most_s: float,
    evidence: Callable[[], str] = lambda: "",
) -> None:
    """Until it holds; fails by name where it does not in time, with the evidence of that moment."""
    deadline = time.monotonic() + at_most_s
    while not await holds():
        assert time.monotonic() < deadline, f"not within {at_most_s:g} s: {what}\n{evidence()}"
        await asyncio.sleep(STEP_S)
