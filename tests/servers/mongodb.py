"""Private MongoDB servers for the tests: a replica set of one, or of three that elect a primary."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymongo
from pymongo.errors import ConnectionFailure, OperationFailure

from tests.servers.binaries import MONGODB
from tests.servers.process import Cluster, Server, wait_until

ANSWER_TIMEOUT_MS = 2000
SET = "fencepost"
SETTINGS = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200, "catchUpTimeoutMillis": 1000}
ENGINE = "log=(file_max=4MB,prealloc=false)"
PARAMETERS = {
    "diagnosticDataCollectionEnabled": "false",
    "shutdownTimeoutMillisForSignaledShutdown": "100",
}


class MongoServer(Server):
    """One node, and a whole replica set already: without one there are no transactions."""

    faults = (OSError, ConnectionFailure, OperationFailure)

    def __init__(self, *, start: bool = True) -> None:
        super().__init__("mongodb", f"mongodb://127.0.0.1:{{port}}/?replicaSet={SET}")
        if start:
            self.start()
            self.initiate([self])
            wait_until(self.is_primary, lambda: f"no primary: {self.log[-2000:]}")

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        options = [
            "--dbpath",
            str(data),
            "--bind_ip",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--nounixsocket",
        ]
        options += ["--replSet", SET, "--oplogSize", "64", "--wiredTigerCacheSizeGB", "0.25", "--quiet"]
        options += ["--wiredTigerEngineConfigString", ENGINE]
        for name, value in PARAMETERS.items():
            options += ["--setParameter", f"{name}={value}"]
        return [MONGODB.path(), *options]

    def is_up(self) -> bool:
        """The client would look again only after half a second, so it is asked when somebody listens."""
        socket.create_connection(("127.0.0.1", self.port), ANSWER_TIMEOUT_MS / 1000).close()
        return bool(self.call("ping"))

    def is_primary(self) -> bool:
        return bool(self.call("hello")["isWritablePrimary"])

    def is_member(self) -> bool:
        """Whether it leads or follows, rather than catching up or being on its own."""
        state = self.call("hello")
        return bool(state["isWritablePrimary"] or state["secondary"])

    def initiate(self, members: Sequence[MongoServer]) -> None:
        """Found the replica set."""
        hosts = [{"_id": number, "host": member.address} for number, member in enumerate(members)]
        self.call("replSetInitiate", {"_id": SET, "members": hosts, "settings": SETTINGS})

    def call(self, command: str, value: object = 1) -> dict[str, Any]:
        """Send one command to this node, whatever its part in the set."""
        limits: dict[str, Any] = {
            "serverSelectionTimeoutMS": ANSWER_TIMEOUT_MS,
            "socketTimeoutMS": ANSWER_TIMEOUT_MS,
        }
        with pymongo.MongoClient[dict[str, Any]](self.address, directConnection=True, **limits) as client:
            return client.admin.command(command, value)


class MongoReplicaSet(Cluster[MongoServer]):
    """Three nodes, of which one may be lost."""

    def __init__(self, size: int = 3) -> None:
        super().__init__([MongoServer(start=False) for _ in range(size)])
        for node in self.nodes:
            node.spawn()
        for node in self.nodes:
            node.wait_until_up()
        self.nodes[0].initiate(self.nodes)
        self.wait_until_whole()

    @property
    def url(self) -> str:
        return f"mongodb://{','.join(node.address for node in self.nodes)}/?replicaSet={SET}"

    def primary(self) -> MongoServer:
        """Who takes writes, once somebody does."""
        return self._one(MongoServer.is_primary, "primary")

    def kill_primary(self) -> MongoServer:
        """End the primary at once, and say who it was."""
        primary = self.primary()
        primary.kill()
        return primary

    def is_whole(self) -> bool:
        return all(node.is_member() for node in self.nodes) and bool(self.primary())
