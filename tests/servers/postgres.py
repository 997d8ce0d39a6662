"""A private PostgreSQL for the tests: its own folder, its own port, gone when they end."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from fencepost.stores.postgres import migrate
from tests.servers.binaries import binaries, identity
from tests.servers.ports import free_port as free_port
from tests.servers.process import Address, Server

T = TypeVar("T")

SHARDS = 4
GONE_S = 10.0
INITDB_OPTIONS = ["-A", "trust", "-U", "postgres", "--no-sync", "--no-locale", "-E", "UTF8"]
CONFIGURATION = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "dynamic_shared_memory_type": "mmap",
    "log_min_messages": "warning",
}
HASTE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}

MOVE = "UPDATE fencepost.test_time SET at = '{at}'"
FREEZE = """
CREATE TABLE fencepost.test_time (at timestamptz NOT NULL);
INSERT INTO fencepost.test_time VALUES ('{at}');
CREATE OR REPLACE FUNCTION fencepost.now() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT at FROM fencepost.test_time';
"""


class PostgresDatabases(Address):
    """Fresh databases on a server, cloned from a template that has been migrated."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._names = (f"fencepost_{os.getpid()}_{number}" for number in count())
        self._template = ""

    def create_database(self) -> str:
        """The URL of an empty store that has its schema."""
        if not self._template:
            self._template = self._make_template()
        return self._create(self._template)

    def create_empty_database(self) -> str:
        """The URL of a database without our schema."""
        return self._create("template0")

    def drop_database(self, url: str) -> None:
        """Remove a database, whoever is still connected."""
        self.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")

    def drop_template(self) -> None:
        """Remove what all the others were cloned from."""
        if self._template:
            self.execute(f"DROP DATABASE IF EXISTS {self._template} WITH (FORCE)")
            self._template = ""

    def execute(self, statement: str, url: str | None = None) -> None:
        """Run a statement, in the server's own database unless another is named."""
        run_apart(execute(url or self.url, statement))

    def ask(self, question: str) -> Any:
        """The one value that a statement answers with."""
        return run_apart(ask(self.url, question))

    def _create(self, template: str) -> str:
        name = next(self._names)
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return url_of(self.url, name)

    def _make_template(self) -> str:
        url = self._create("template0")
        run_apart(migrate(url, shards=SHARDS))
        return urlsplit(url).path[1:]


class PostgresServer(Server, PostgresDatabases):
    """A server process of our own. `durable` keeps fsync on, for tests that pull the plug."""

    stop_signal = signal.SIGINT
    """A clean stop that does not wait for clients."""
    faults = (OSError, asyncpg.PostgresError)

    def __init__(self, *, durable: bool = False, **further: str) -> None:
        Server.__init__(self, "pg", "postgresql://postgres@127.0.0.1:{port}/postgres", apart=True)
        PostgresDatabases.__init__(self, self.url)
        self._settings = CONFIGURATION | ({} if durable else HASTE) | further
        self._initialise()
        self.start()

    def command(self) -> Sequence[str | Path]:
        settings = self._settings | {"unix_socket_directories": str(self.folder)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [binaries() / "postgres", "-D", self._data, "-p", str(self.port), *options]

    def is_up(self) -> bool:
        self.execute("SELECT 1")
        return True

    def kill(self) -> None:
        """Its children first, while it cannot make others: each is a process group of its own, and would
        otherwise finish what it is doing. Back when they are all gone: the data is theirs until then."""
        children: list[int] = []
        if self.is_running:
            self.pause()
            children = list(_children(self.pid))
            self._signal_children(signal.SIGKILL)
        super().kill()
        deadline = time.monotonic() + GONE_S
        while any(map(_is_there, children)) and time.monotonic() < deadline:
            time.sleep(0.01)

    def pause(self) -> None:
        """The children too, after who could make others."""
        super().pause()
        self._signal_children(signal.SIGSTOP)

    def resume(self) -> None:
        """The children first, so that nobody misses them."""
        self._signal_children(signal.SIGCONT)
        super().resume()

    def close(self) -> None:
        """Stop and leave nothing behind. Closing twice is fine."""
        self.stop()
        forget_shared_memory(self._data / "postmaster.pid")
        super().close()

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _signal_children(self, number: signal.Signals) -> None:
        for child in _children(self.pid):
            with suppress(ProcessLookupError):
                os.kill(child, number)

    def _initialise(self) -> None:
        command = [str(binaries() / "initdb"), "-D", str(self._data), *INITDB_OPTIONS]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, **identity())


def _is_there(pid: int) -> bool:
    """Whether the process still holds anything; one that waits to be buried does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def freeze_time(url: str, at: datetime) -> None:
    """Let the store's clock stand at that moment; call again to move it."""
    assert at.tzinfo is not None
    try:
        await execute(url, MOVE.format(at=at.isoformat()))
    except asyncpg.UndefinedTableError:
        await execute(url, FREEZE.format(at=at.isoformat()))


async def execute(url: str, statement: str) -> None:
    """Run a statement on a connection of its own."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def ask(url: str, question: str) -> Any:
    """The one value that a statement answers with, on a connection of its own."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(question)
    finally:
        await connection.close()


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Finish a coroutine on a loop of its own, also where one is running already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def url_of(url: str, database: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def _children(pid: int) -> list[int]:
    """The processes that it has started; where the system does not say, those are on their own."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def forget_shared_memory(pid_file: Path) -> None:
    """A server that was killed leaves a small segment behind, named in its pid file."""
    try:
        _, segment = pid_file.read_text().splitlines()[6].split()
    except (OSError, IndexError, ValueError):
        return
    subprocess.run(["ipcrm", "-m", segment], check=False, capture_output=True)
