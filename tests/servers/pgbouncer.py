"""A private PgBouncer for the tests, in transaction mode: every transaction may meet another session."""

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from tests.servers.binaries import PGBOUNCER
from tests.servers.postgres import execute, run_apart
from tests.servers.process import Address, Server

CONFIGURATION = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
max_client_conn = 200
default_pool_size = {pool_size}
log_connections = 0
log_disconnections = 0
"""


@cache
def pooler_version() -> tuple[int, ...]:
    """The release of the PgBouncer that is installed."""
    said = subprocess.run([PGBOUNCER.path(), "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, said.split()[1].split(".")))


class Detour(Address):
    """The way to the same databases through a pooler."""

    def through(self, url: str) -> str:
        """A database's URL, by way of the pooler."""
        way = urlsplit(self.url)
        return urlunsplit(urlsplit(url)._replace(netloc=way.netloc, query=way.query))


class PgBouncer(Server, Detour):
    """A pooler of our own, in front of any PostgreSQL server that trusts us."""

    faults = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError)

    def __init__(self, behind: str, *, pool_size: int = 10) -> None:
        origin = urlsplit(behind)
        user, password = origin.username or "postgres", origin.password or ""
        super().__init__("pgbouncer", f"postgresql://{user}@127.0.0.1:{{port}}{origin.path}", apart=True)
        users = self.folder / "users"
        users.write_text(f'"{user}" "{password}"\n')
        self._file.write_text(
            CONFIGURATION.format(
                host=origin.hostname,
                port=origin.port or 5432,
                own_port=self.port,
                users=users,
                pool_size=pool_size,
            )
        )
        self.start()

    def command(self) -> Sequence[str | Path]:
        return [PGBOUNCER.path(), self._file]

    def is_up(self) -> bool:
        run_apart(execute(self.url, "SELECT 1"))
        return True

    @property
    def _file(self) -> Path:
        return self.folder / "pgbouncer.ini"
