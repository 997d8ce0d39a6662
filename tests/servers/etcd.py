"""Private etcd servers for the tests: one, or three that elect a leader among themselves."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.servers.binaries import ETCD
from tests.servers.certificates import Certificates
from tests.servers.ports import free_port
from tests.servers.process import Cluster, Server

ANSWER_TIMEOUT_S = 20.0
"""Long enough for a password to be hashed on a busy machine."""
HEARTBEAT_MS = 50
ELECTION_MS = 500
"""The shortest lease that etcd grants is half as long again, rounded up: one second."""
USER = "root"


class EtcdServer(Server):
    """One node. With a password only the user `root` is let in; with `tls` it speaks nothing else."""

    def __init__(
        self, *, password: str | None = None, tls: bool = False, name: str = "alone", start: bool = True
    ) -> None:
        super().__init__("etcd", ("https" if tls else "http") + "://127.0.0.1:{port}")
        self.name = name
        self.password = password
        self.certificates = Certificates(self.folder) if tls else None
        self._peer_port = free_port()
        self.members: Mapping[str, str] = {name: self.peer_url}
        if start:
            self.start()
            if password is not None:
                self._enable_authentication(password)

    @property
    def peer_url(self) -> str:
        return f"http://127.0.0.1:{self._peer_port}"

    def command(self) -> Sequence[str | Path]:
        options = {
            "name": self.name,
            "data-dir": self.folder / "data",
            "listen-client-urls": self.url,
            "advertise-client-urls": self.url,
            "listen-peer-urls": self.peer_url,
            "initial-advertise-peer-urls": self.peer_url,
            "initial-cluster": ",".join(f"{name}={url}" for name, url in self.members.items()),
            "heartbeat-interval": HEARTBEAT_MS,
            "election-timeout": ELECTION_MS,
            "log-level": "warn",
            "unsafe-no-fsync": "true",
            "bcrypt-cost": 4,
        }
        if self.certificates:
            options["cert-file"] = self.certificates.certificate_file
            options["key-file"] = self.certificates.key_file
        return [ETCD.path(), *(f"--{name}={value}" for name, value in options.items())]

    def is_up(self) -> bool:
        """Healthy is who has a leader."""
        return bool(self._ask(Request(f"{self.url}/health"))["health"] == "true")

    def is_leader(self) -> bool:
        status = self.call("maintenance/status", {})
        return bool(status.get("leader") == status["header"]["member_id"])

    def follows(self, leader: EtcdServer) -> bool:
        """Whether it knows that one as its leader."""
        leading = leader.call("maintenance/status", {})["header"]["member_id"]
        return bool(self.call("maintenance/status", {}).get("leader") == leading)

    def call(self, path: str, body: Mapping[str, object], token: str = "") -> dict[str, Any]:
        """Post to the JSON gateway."""
        headers = {"Authorization": token} if token else {}
        return self._ask(Request(f"{self.url}/v3/{path}", json.dumps(body).encode(), headers))

    def put(self, key: str, value: str) -> None:
        self.call("kv/put", {"key": encode(key), "value": encode(value)})

    def context(self) -> ssl.SSLContext | None:
        """What a client needs to trust this server, where it speaks TLS."""
        return self.certificates.context() if self.certificates else None

    def _ask(self, request: Request) -> dict[str, Any]:
        with urlopen(request, timeout=ANSWER_TIMEOUT_S, context=self.context()) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def _enable_authentication(self, password: str) -> None:
        self.call("auth/user/add", {"name": USER, "password": password})
        self.call("auth/role/add", {"name": USER})
        self.call("auth/user/grant", {"user": USER, "role": USER})
        self.call("auth/enable", {})


class EtcdCluster(Cluster[EtcdServer]):
    """Three nodes, of which one may be lost."""

    def __init__(self, size: int = 3) -> None:
        super().__init__([EtcdServer(name=f"node{number}", start=False) for number in range(size)])
        members = {node.name: node.peer_url for node in self.nodes}
        for node in self.nodes:
            node.members = members
        self.restore()

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.nodes]

    def leader(self) -> EtcdServer:
        """Who leads, once somebody does."""
        return self._one(EtcdServer.is_leader, "leader")

    def kill_leader(self) -> EtcdServer:
        """End the leader at once, and say who it was."""
        leader = self.leader()
        leader.kill()
        return leader

    def is_whole(self) -> bool:
        leader = self.leader()
        return all(node.follows(leader) for node in self.nodes)


def encode(text: str) -> str:
    """Keys and values as the gateway wants them."""
    return base64.b64encode(text.encode()).decode()
