"""A private PostgreSQL for the tests: its own folder, its own port, gone when they end."""

import asyncio
import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from itertools import count
from pathlib import Path
from random import SystemRandom
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from fencepost.stores.postgres import migrate
from tests.servers.binaries import binaries, identity

T = TypeVar("T")

PORTS = range(20_000, 32_768)
PORT_TRIES = 50
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 20.0
SHARDS = 4
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


class PostgresDatabases:
    """Fresh databases on a server, cloned from a template that has been migrated."""

    def __init__(self, url: str) -> None:
        self.url = url
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

    def _create(self, template: str) -> str:
        name = next(self._names)
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return url_of(self.url, name)

    def _make_template(self) -> str:
        url = self._create("template0")
        run_apart(migrate(url, shards=SHARDS))
        return urlsplit(url).path[1:]


class PostgresServer(PostgresDatabases):
    """A server process of our own. `durable` keeps fsync on, for tests that pull the plug."""

    def __init__(self, *, durable: bool = False, **further: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fencepost-pg-"))
        self._settings = CONFIGURATION | ({} if durable else HASTE) | further
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        super().__init__(f"postgresql://postgres@127.0.0.1:{self.port}/postgres")
        atexit.register(self.close)
        self._initialise()
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        assert self._process is None
        settings = self._settings | {"unix_socket_directories": str(self._folder)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [str(binaries() / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command + options,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
                text=False,
                **identity(),
            )
        self._wait_until_up()

    def stop(self) -> None:
        """A clean stop that does not wait for clients."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None

    def kill(self) -> None:
        """As if the machine had lost its power: every process of the server at once."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(STOP_TIMEOUT_S)
            self._process = None

    def restart(self) -> None:
        """Stop, where it runs, and start on the same port."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop and leave nothing behind. Closing twice is fine."""
        atexit.unregister(self.close)
        try:
            self.stop()
        except subprocess.TimeoutExpired:
            self.kill()
        forget_shared_memory(self._data / "postmaster.pid")
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def log(self) -> str:
        """What the server has said so far."""
        return (self._folder / "log").read_text(errors="replace")

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _initialise(self) -> None:
        if owner := identity():
            os.chown(self._folder, owner["user"], owner["group"])
        command = [str(binaries() / "initdb"), "-D", str(self._data), *INITDB_OPTIONS]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder, **identity())

    def _wait_until_up(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            assert self._process is not None
            assert self._process.poll() is None, f"the server ended at its start: {self.log}"
            try:
                return self.execute("SELECT 1")
            except (OSError, asyncpg.PostgresError):
                assert time.monotonic() < deadline, f"the server does not answer: {self.log}"
                time.sleep(0.05)


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


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Finish a coroutine on a loop of its own, also where one is running already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def url_of(url: str, database: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def free_port() -> int:
    """A port that nobody listens on, below the range that the system hands out to clients."""
    for _ in range(PORT_TRIES):
        port = SystemRandom().choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no free port in {PORT_TRIES} tries")


def forget_shared_memory(pid_file: Path) -> None:
    """A server that was killed leaves a small segment behind, named in its pid file."""
    try:
        _, segment = pid_file.read_text().splitlines()[6].split()
    except (OSError, IndexError, ValueError):
        return
    subprocess.run(["ipcrm", "-m", segment], check=False, capture_output=True)
