"""A primary and its synchronous standby behind one address that stays the same through failovers.

No commit is answered before the standby has it on disk, so whatever was acknowledged is there after a
failover. That holds at every moment, also right after one: the promoted server answers no commit before it
has a standby of its own. Callers see connections that break, then a server that takes a while to answer.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from tests.servers.binaries import binaries, identity
from tests.servers.postgres import PostgresServer
from tests.servers.process import wait_until
from tests.servers.proxy import Proxy

STANDBY = "standby"
"""Not `*`: the copying of a primary reads its WAL as well, and would pass for a standby."""
SETTINGS = {
    "synchronous_standby_names": STANDBY,
    "synchronous_commit": "on",
    "shared_buffers": "32MB",
    "max_wal_senders": "8",
    "wal_keep_size": "512MB",
    "wal_receiver_status_interval": "1s",
    "wal_retrieve_retry_interval": "100ms",
}
BACKUP_OPTIONS = ["--checkpoint=fast", "--wal-method=stream", "--no-sync"]
BACKUP_TIMEOUT_S = 60.0
PROMOTE_TIMEOUT_S = 30
IN_SYNC = "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'"


class Standby(PostgresServer):
    """A copy of another server, which follows it until it is promoted."""

    def __init__(self, primary: PostgresServer) -> None:
        self._primary_port = primary.port
        super().__init__(durable=True, **SETTINGS)

    def command(self) -> Sequence[str | Path]:
        followed = f"{self._primary_address} application_name={STANDBY}"
        return [*super().command(), f"--primary_conninfo={followed}"]

    def promote(self) -> None:
        """Take over; writes are accepted once this returns."""
        if not self.ask(f"SELECT pg_promote(true, {PROMOTE_TIMEOUT_S})"):
            raise AssertionError(f"the standby was not promoted: {self.log}")

    def _initialise(self) -> None:
        """In place of a new cluster: a copy of the primary's."""
        copying = ["-d", self._primary_address, "-D", str(self._data), *BACKUP_OPTIONS]
        subprocess.run(
            [str(binaries() / "pg_basebackup"), *copying],
            check=True,
            capture_output=True,
            cwd=self.folder,
            timeout=BACKUP_TIMEOUT_S,
            **identity(),
        )
        signal_file = self._data / "standby.signal"
        signal_file.touch()
        shutil.chown(signal_file, self._data.stat().st_uid, self._data.stat().st_gid)

    @property
    def _primary_address(self) -> str:
        return f"host=127.0.0.1 port={self._primary_port} user=postgres"


class PostgresPair:
    """The two servers and the line in front of them. The line runs on the loop that opened the pair."""

    def __init__(self, primary: PostgresServer, standby: Standby) -> None:
        self.primary = primary
        self.standby = standby
        self.line = Proxy("127.0.0.1", primary.port)

    @classmethod
    async def open(cls) -> PostgresPair:
        """Two servers in step, and the line up."""
        primary = await asyncio.to_thread(lambda: PostgresServer(durable=True, **SETTINGS))
        pair = cls(primary, await asyncio.to_thread(Standby, primary))
        await asyncio.to_thread(pair.wait_until_in_sync)
        await pair.line.start()
        return pair

    @property
    def url(self) -> str:
        """Of the database `postgres`, whoever is the primary."""
        return f"postgresql://postgres@{self.line.address}/postgres"

    async def fail_over(self) -> float:
        """Kill the primary, promote the standby and give it a standby of its own; how many seconds that took.

        What the old primary had not sent to the standby is lost with it, as is its machine.
        """
        began = monotonic()
        lost, self.primary = self.primary, self.standby
        await asyncio.to_thread(lost.kill)
        self.line.reset()
        await asyncio.to_thread(self.standby.promote)
        self.line.retarget("127.0.0.1", self.primary.port)
        self.standby = await asyncio.to_thread(Standby, self.primary)
        await asyncio.to_thread(self.wait_until_in_sync)
        took_s = monotonic() - began
        await asyncio.to_thread(lost.close)
        return took_s

    def wait_until_in_sync(self) -> None:
        """Until the primary can answer a commit."""
        wait_until(
            lambda: self.primary.ask(IN_SYNC), lambda: f"the standby does not follow: {self.standby.log}"
        )

    async def close(self) -> None:
        """Nobody waits for the other at the end."""
        await self.line.close()
        for server in (self.standby, self.primary):
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.close)
