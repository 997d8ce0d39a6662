"""Private Redis servers for the tests: one, or a master, its replicas and the sentinels that watch them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.binaries import REDIS
from tests.servers.process import Cluster, Server, wait_until

ANSWER_TIMEOUT_S = 2.0
SERVICE = "fencepost"
QUORUM = 2
DOWN_AFTER_MS = 500
PERIOD_MS = 100
HASTE = [
    *("--save", "", "--appendonly", "no", "--loglevel", "notice"),
    *("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"),
]
SENTINEL = f"""
sentinel monitor {SERVICE} 127.0.0.1 {{port}} {QUORUM}
sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}
sentinel failover-timeout {SERVICE} 2000
"""
SPEED = ("info-period", "publish-period", "ask-period")
"""How often sentinels look around; the defaults are seconds."""
PING_MS = 400
"""What a replica said of itself counts for five pings; once the master is down it is asked each second."""
NEVER_DIZZY_MS = 600_000
"""A sentinel that was not scheduled for two seconds distrusts its clock and looks away for thirty ("tilt").
It then dates the master's end later than the replicas do, and calls none of them fit to succeed. A busy
machine must not lead to that."""


class RedisServer(Server):
    """One server. It keeps nothing on disk, so a restart forgets everything, unless it is `durable`."""

    faults = (redis.ConnectionError, redis.TimeoutError)

    def __init__(
        self,
        *,
        password: str | None = None,
        replica_of: RedisServer | None = None,
        durable: bool = False,
        start: bool = True,
    ) -> None:
        super().__init__("redis", f"redis://{f':{password}@' if password else ''}127.0.0.1:{{port}}/0")
        self.password = password
        self._origin = replica_of
        self._durable = durable
        if start:
            self.start()

    def command(self) -> Sequence[str | Path]:
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder), *HASTE]
        if self.password is not None:
            options += ["--requirepass", self.password]
        if self._durable:
            options += ["--appendonly", "yes", "--appendfsync", "always"]
        if self._origin is not None:
            options += ["--replicaof", "127.0.0.1", str(self._origin.port)]
        return [REDIS.path(), *options]

    def is_up(self) -> bool:
        return bool(self.call("PING"))

    def is_master(self) -> bool:
        return bool(self.replication()["role"] == "master")

    def replication(self) -> dict[str, Any]:
        """What it says of its part in a replication."""
        found: dict[str, Any] = self.call("INFO", "replication")
        return found

    def call(self, *command: str) -> Any:
        """Send one command on a connection of its own."""
        options: dict[str, Any] = {"socket_timeout": ANSWER_TIMEOUT_S, "retry": Retry(NoBackoff(), 0)}
        with closing(redis.Redis.from_url(self.url, **options)) as client:
            return client.execute_command(*command)  # type: ignore[no-untyped-call]


class Sentinel(RedisServer):
    """A watcher. It writes down what it learns, so a restart forgets nothing."""

    def __init__(self, master: RedisServer) -> None:
        super().__init__(start=False)
        self._file.write_text(SENTINEL.format(port=master.port))

    def command(self) -> Sequence[str | Path]:
        options = ["--sentinel", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        return [REDIS.path(), self._file, *options]

    def wait_until_up(self) -> None:
        """Once it answers, let it look around often. Before Redis 7 it cannot be told, and one waits."""
        super().wait_until_up()
        habits = dict.fromkeys(SPEED, PERIOD_MS) | {"ping-period": PING_MS, "tilt-trigger": NEVER_DIZZY_MS}
        with suppress(redis.ResponseError):
            self.call("SENTINEL DEBUG", *(str(part) for habit in habits.items() for part in habit))

    def master_port(self) -> int:
        """Whom it would send a client to."""
        _, port = self.call("SENTINEL GET-MASTER-ADDR-BY-NAME", SERVICE)
        return int(port)

    def sees(self, replicas: int, sentinels: int) -> bool:
        """Whether it has found everyone, and everyone well."""
        master = self.call("SENTINEL MASTER", SERVICE)
        return bool(
            master["flags"] == "master"
            and int(master["num-slaves"]) >= replicas
            and int(master["num-other-sentinels"]) >= sentinels - 1
        )

    @property
    def _file(self) -> Path:
        return self.folder / "sentinel.conf"


class RedisSentinel(Cluster[RedisServer]):
    """A master, replicas, and three sentinels of which two must agree that the master is gone.

    A master that was killed comes back empty, and the sentinels make it a replica of its successor. Started
    again before there is one, it takes everyone's data with it: replication without a disk promises no more.
    """

    service = SERVICE

    def __init__(self, replicas: int = 2, sentinels: int = 3) -> None:
        first = RedisServer()
        self.servers = [first, *(RedisServer(replica_of=first) for _ in range(replicas))]
        wait_until(lambda: self._is_replicated(first), lambda: f"no replication: {first.log}")
        self.sentinels = [Sentinel(first) for _ in range(sentinels)]
        super().__init__([*self.servers, *self.sentinels])
        self.restore()

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where a client asks for the master."""
        return [("127.0.0.1", sentinel.port) for sentinel in self.sentinels]

    def master(self) -> RedisServer:
        """Whom the sentinels call the master, once it knows of it."""
        return self._one(self._is_chosen, "master")

    def kill_master(self) -> RedisServer:
        """End the master at once, and say who it was."""
        master = self.master()
        master.kill()
        return master

    def is_whole(self) -> bool:
        sight = len(self.servers) - 1, len(self.sentinels)
        return self._is_replicated(self.master()) and all(
            sentinel.sees(*sight) for sentinel in self.sentinels
        )

    def _is_chosen(self, server: RedisServer) -> bool:
        watchers = [sentinel for sentinel in self.sentinels if sentinel.is_running]
        votes = sum(sentinel.master_port() == server.port for sentinel in watchers)
        return votes > len(self.sentinels) // 2 and server.is_master()

    def _is_replicated(self, master: RedisServer) -> bool:
        """Whether every replica has caught up and hangs on."""
        replication = master.replication()
        replicas = [replication.get(f"slave{number}", {}) for number in range(len(self.servers) - 1)]
        return all(replica.get("state") == "online" for replica in replicas)
