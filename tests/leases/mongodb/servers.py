"""MongoDB servers of other kinds: one that stands alone, one that was never initiated, one that asks who you
are."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymongo

from tests.servers.mongodb import SET, MongoServer

PASSWORD = "corréct/horse"
ESCAPED = "corr%C3%A9ct%2Fhorse"


class AloneServer(MongoServer):
    """No replica set: no majority, and no change streams."""

    def __init__(self) -> None:
        super().__init__(start=False)
        self.start()

    def command(self) -> Sequence[str | Path]:
        command = list(super().command())
        at = command.index("--replSet")
        return command[:at] + command[at + 2 :]


class UninitiatedServer(MongoServer):
    """Meant for a replica set that nobody founded."""

    def __init__(self) -> None:
        super().__init__(start=False)
        self.start()


class GuardedServer(MongoServer):
    """Wants a password. `alice` may write in the database `cron`, `reader` may only read there."""

    def __init__(self) -> None:
        super().__init__()
        self._create_user("root", [{"role": "root", "db": "admin"}])
        self._create_user("alice", [{"role": "readWrite", "db": "cron"}])
        self._create_user("reader", [{"role": "read", "db": "cron"}])

    def url_of(self, user: str, password: str = ESCAPED) -> str:
        """The database as this user reaches it."""
        return f"mongodb://{user}:{password}@{self.address}/cron?authSource=admin&replicaSet={SET}"

    def command(self) -> Sequence[str | Path]:
        key = self.folder / "key"
        if not key.exists():
            key.write_text(secrets.token_hex(32))
            key.chmod(0o600)
        return [*super().command(), "--auth", "--keyFile", str(key)]

    def _create_user(self, name: str, roles: list[dict[str, str]]) -> None:
        """The first may be made by anybody on this host; that one makes the others."""
        first: dict[str, Any] = {} if name == "root" else {"username": "root", "password": PASSWORD}
        with pymongo.MongoClient[dict[str, Any]](self.address, directConnection=True, **first) as client:
            client.admin.command("createUser", name, pwd=PASSWORD, roles=roles)
