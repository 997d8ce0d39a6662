"""A fleet of real processes that can be killed, stopped and continued, one by one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg

ROOT = Path(__file__).parents[2]
TARGET = "tests.chaos.fleet_app:app"
STEP_S = 0.1


class Member:
    """One process: a scheduler or a worker, with its log."""

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
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def end(self, at_most_s: float) -> int:
        """Ask it to stop and see that it does."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(at_most_s)


class Fleet:
    """The processes over one database."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self._folder = folder
        self.members: list[Member] = []

    def start(self, role: str, url: str | None = None) -> Member:
        member = Member(role, len(self.members), url or self.url, self._folder)
        self.members.append(member)
        return member

    def close(self) -> None:
        for member in self.members:
            if member.alive:
                member.thaw()
                member.kill()

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
