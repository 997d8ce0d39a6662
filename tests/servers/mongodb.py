"""Private MongoDB servers for the tests: a replica set of one, or of three that elect a primary."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pymongo
from pymongo.errors import ConnectionFailure, OperationFailure

from tests.servers.binaries import MONGODB
from tests.servers.process import Cluster, Server, says_yes, wait_until

Client = pymongo.MongoClient[dict[str, Any]]

ANSWER_TIMEOUT_MS = 2000
STOPPED_WITHIN_MS = 30_000
INITIATED_WITHIN_MS = 60_000
SET = "fencepost"
SETTINGS = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200, "catchUpTimeoutMillis": 1000}
ENGINE = "log=(file_max=4MB,prealloc=false)"
PARAMETERS = {
    "diagnosticDataCollectionEnabled": "false",
    "shutdownTimeoutMillisForSignaledShutdown": "100",
    "enableTestCommands": "1",
    "transactionLifetimeLimitSeconds": "10",
}


@contextmanager
def fail_point(url: str, name: str, mode: object = "alwaysOn", **data: Any) -> Iterator[Client]:
    """While it is entered, the server fails there. The server needs the parameter `enableTestCommands`."""
    with Client(url) as client:
        client.admin.command("configureFailPoint", name, mode=mode, data=data)
        try:
            yield client
        finally:
            client.admin.command("configureFailPoint", name, mode="off")


class MongoServer(Server):
    """One node, and a whole replica set already: without one there are no transactions."""

    faults = (OSError, ConnectionFailure, OperationFailure)

    def __init__(self, *, start: bool = True, **parameters: str) -> None:
        self._parameters = PARAMETERS | parameters
        super().__init__("mongodb", f"mongodb://127.0.0.1:{{port}}/?replicaSet={SET}")
        if start:
            self.start()
            self.initiate([self])
            wait_until(
                partial(says_yes, self, MongoServer.is_primary), lambda: f"no primary: {self.log[-2000:]}"
            )

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
        for name, value in self._parameters.items():
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
        wanted = {"_id": SET, "members": hosts, "settings": SETTINGS}
        self.call("replSetInitiate", wanted, within_ms=INITIATED_WITHIN_MS)

    def call(self, command: str, value: object = 1, *, within_ms: int = ANSWER_TIMEOUT_MS) -> dict[str, Any]:
        """Send one command to this node, whatever its part in the set."""
        limits: dict[str, Any] = {"serverSelectionTimeoutMS": within_ms, "socketTimeoutMS": within_ms}
        with Client(self.address, directConnection=True, **limits) as client:
            return client.admin.command(command, value)


class MongoReplicaSet(Cluster[MongoServer]):
    """Three nodes, of which one may be lost."""

    def __init__(self, size: int = 3, **parameters: str) -> None:
        super().__init__([MongoServer(start=False, **parameters) for _ in range(size)])
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

    @contextmanager
    def replication_stopped(self) -> Iterator[None]:
        """All members answer and vote, and no secondary gets what is written on the primary."""
        primary = self.primary()
        with ExitStack() as exits:
            for node in self.nodes:
                if node is not primary:
                    alone = f"mongodb://{node.address}/?directConnection=true"
                    client = exits.enter_context(fail_point(alone, "stopReplProducer"))
                    client.admin.command(
                        "waitForFailPoint", "stopReplProducer", timesEntered=1, maxTimeMS=STOPPED_WITHIN_MS
                    )
            yield
