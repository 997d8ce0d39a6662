"""A live fleet on PostgreSQL is rolled from an older revision to this one, process by process, as ticks fire.

The older program is what git has of the revision, on the dependencies of this one. Its fleet is at work while
this version migrates the schema. Then each process is stopped cleanly and replaced by one of this version.
With `back` the fleet also goes the other way, as in a downgrade, and returns. With `stopped` the whole fleet
is stopped before the schema is migrated, as for a revision from before the first release. At the end every
tick must be there once, must have succeeded, and must have had its effect once.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from fencepost.model.dataclasses import dataclass
from tests.servers.guard import guard

ROOT = Path(__file__).parents[2]
APP = Path(__file__).with_name("rolling_app.py")
MIGRATIONS = "src/fencepost/stores/postgres/migrations"
ROLES = ("scheduler", "scheduler", "worker", "worker")
TICKS_BETWEEN = 20
WAIT_S = 120.0
PAUSE_S = 0.2
NEWEST = "SELECT max(finished_at) FROM fencepost.runs WHERE state = 'succeeded'"
SUCCEEDED = "SELECT count(*) FROM fencepost.runs WHERE state = 'succeeded'"
PRESENT = "SELECT count(*) FROM fencepost.nodes WHERE node_id LIKE '%-' || $1 || '-%'"
UNFINISHED = "SELECT count(*) FROM fencepost.runs WHERE fire_time <= $1 AND finished_at IS NULL"
STATES = "SELECT state, count(*) FROM fencepost.runs WHERE fire_time <= $1 GROUP BY state"
DOUBLED = "SELECT run_key FROM effects GROUP BY run_key HAVING count(*) > 1"
WITHOUT = """
    SELECT run_key FROM fencepost.runs
    WHERE fire_time <= $1 AND state = 'succeeded' AND run_key NOT IN (SELECT run_key FROM effects)
"""


@dataclass(frozen=True)
class Outcome:
    """What the drill found."""

    schema_before: int
    schema_after: int
    audit: dict[str, Any]
    states: dict[str, int]
    doubled: Sequence[str]
    without_effect: Sequence[str]

    @property
    def is_sound(self) -> bool:
        """Whether no tick is missing, doubled or without its one effect."""
        whole = self.audit["faults"] == 0 and self.audit["expected"] > 0
        return whole and set(self.states) == {"succeeded"} and not self.doubled and not self.without_effect


class Program:
    """One version of Fencepost: this one, or what git has of a revision."""

    def __init__(self, folder: Path, revision: str | None = None) -> None:
        self._folder = folder / (revision or "this")
        self._folder.mkdir()
        shutil.copy(APP, self._folder)
        self._source = ROOT / "src"
        if revision is not None:
            archive = subprocess.run(
                ["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True
            )
            subprocess.run(["tar", "-x", "-C", self._folder], input=archive.stdout, check=True)
            self._source = self._folder / "src"

    @property
    def schema(self) -> int:
        """The newest migration that it knows."""
        folder = self._source / Path(MIGRATIONS).relative_to("src")
        return max(int(one.name[:4]) for one in folder.glob("*.sql"))

    def start(self, url: str, *words: str) -> subprocess.Popen[bytes]:
        """One command of this version."""
        environment = {**os.environ, "PYTHONPATH": str(self._source), "FENCEPOST_STORE": url}
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "fencepost", *words],
                cwd=self._folder,
                env=environment,
                stdout=subprocess.PIPE if words[0] == "audit" else subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        guard().hold(process.pid)
        return process

    def call(self, url: str, *words: str) -> bytes:
        """Run one command to its end; what it printed."""
        process = self.start(url, *words)
        printed = process.communicate(timeout=WAIT_S)[0]
        guard().let_go(process.pid)
        return printed or b""

    @property
    def log(self) -> str:
        """What its processes wrote on stderr, the end of it."""
        return (self._folder / "log").read_text(errors="replace")[-4_000:]


class Fleet:
    """The processes, one for each role, whatever their version."""

    def __init__(self, url: str, session: asyncpg.Connection) -> None:
        self._url = url
        self._session = session
        self._members: list[subprocess.Popen[bytes]] = []

    async def start(self, program: Program) -> None:
        """One process for each role."""
        for role in ROLES:
            self._members.append(program.start(self._url, role, "rolling_app:app"))
        for member in self._members:
            await self._until(PRESENT, 1, str(member.pid))
        await self.tick()

    def stop(self) -> None:
        """End every process cleanly."""
        for member in self._members:
            self._end(member)
        self._members.clear()

    async def roll(self, program: Program) -> None:
        """Replace each process by one of this program, and see ticks succeed before the next."""
        for number, role in enumerate(ROLES):
            self._end(self._members[number])
            self._members[number] = program.start(self._url, role, "rolling_app:app")
            await self._until(PRESENT, 1, str(self._members[number].pid))
            await self.tick()

    async def tick(self) -> None:
        """Wait until so many more ticks have succeeded."""
        before = await self._session.fetchval(SUCCEEDED)
        await self._until(SUCCEEDED, before + TICKS_BETWEEN)

    async def settle(self) -> Any:
        """Wait until every tick up to now has ended; the time up to which that holds."""
        until = await self._session.fetchval(NEWEST)
        deadline = time.monotonic() + WAIT_S
        while await self._session.fetchval(UNFINISHED, until):
            assert time.monotonic() < deadline, "ticks do not end"
            await asyncio.sleep(PAUSE_S)
        return until

    async def _until(self, question: str, at_least: int, *arguments: object) -> None:
        deadline = time.monotonic() + WAIT_S
        while await self._session.fetchval(question, *arguments) < at_least:
            assert time.monotonic() < deadline, f"{question} {arguments}: not {at_least} in {WAIT_S:g} s"
            assert all(one.poll() is None for one in self._members), "a process has ended by itself"
            await asyncio.sleep(PAUSE_S)

    def _end(self, member: subprocess.Popen[bytes]) -> None:
        member.send_signal(signal.SIGTERM)
        assert member.wait(WAIT_S) == 0, "a process did not stop cleanly"
        guard().let_go(member.pid)

    def close(self) -> None:
        """End whatever is still there."""
        for member in self._members:
            if member.poll() is None:
                member.kill()
                member.wait()
            guard().let_go(member.pid)


@contextmanager
def told(*programs: Program) -> Iterator[None]:
    """A fault of the drill comes with what the processes wrote."""
    try:
        yield
    except (AssertionError, TimeoutError) as error:
        raise AssertionError("\n".join([str(error), *(one.log for one in programs)])) from error


async def run(url: str, folder: Path, revision: str, *, back: bool = False, stopped: bool = False) -> Outcome:
    """The drill on an empty database."""
    older, newer = Program(folder, revision), Program(folder)
    session = await asyncpg.connect(url)
    fleet = Fleet(url, session)
    try:
        with told(older, newer):
            older.call(url, "migrate")
            await session.execute("CREATE TABLE effects (run_key text NOT NULL)")
            await fleet.start(older)
            if stopped:
                fleet.stop()
                newer.call(url, "migrate")
                await fleet.start(newer)
            else:
                newer.call(url, "migrate")
                await fleet.tick()
                await fleet.roll(newer)
            if back:
                await _lower(session, older.schema)
                await fleet.roll(older)
                newer.call(url, "migrate")
                await fleet.roll(newer)
            return await _judge(url, session, fleet, older, newer)
    finally:
        fleet.close()
        await session.close(timeout=5)


async def _lower(session: asyncpg.Connection, schema: int) -> None:
    """As docs/guides/upgrading.md says of a downgrade."""
    await session.execute("UPDATE fencepost.meta SET value = $1 WHERE name = 'schema'", str(schema))


async def _judge(
    url: str, session: asyncpg.Connection, fleet: Fleet, older: Program, newer: Program
) -> Outcome:
    until = await fleet.settle()
    asked = ("--from", "1h", "--to", until.isoformat().replace("+00:00", "Z"), "--json")
    return Outcome(
        older.schema,
        newer.schema,
        json.loads(newer.call(url, "audit", *asked)),
        {row[0]: row[1] for row in await session.fetch(STATES, until)},
        [key for (key,) in await session.fetch(DOUBLED)],
        [key for (key,) in await session.fetch(WITHOUT, until)],
    )
