"""A private Kafka server for the tests: the real one, a single node that is its own controller.

It keeps what it was told over a kill. It makes topics by itself when it is asked about them, as most servers
do: an adapter that relies on that, or does it by mistake, shows.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from tests.servers.binaries import ServerMissing
from tests.servers.certificates import Certificates
from tests.servers.ports import free_port
from tests.servers.process import Server, wait_until

SCRIPT = Path(__file__).parents[2] / "scripts" / "kafka-server"
FETCH_TIMEOUT_S = 900.0
START_TIMEOUT_S = 90.0
CONNECT_TIMEOUT_S = 1.0
CLUSTER = "ZmVuY2Vwb3N0LXRlc3RzMQ"
READY = "Kafka Server started"
LOG = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info",
)
HEAP = ("-Xms128m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
HOW_TO_GET_IT = (
    "no Kafka server: apt-get install maven openjdk-17-jre-headless, then scripts/kafka-server; "
    "or FENCEPOST_TEST_KAFKA=HOST:PORT"
)
USERS = {"alice": "s3cret-of-alice", "bob": "s3cret-of-bob"}
FURTHER = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
KNOWN = " ".join(f'user_{name}="{password}"' for name, password in USERS.items())
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
PROPERTIES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{LOGIN} {KNOWN};",
    "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{LOGIN} {KNOWN};",
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "group.initial.rebalance.delay.ms": "0",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "broker.heartbeat.interval.ms": "500",
}


@dataclass(frozen=True)
class KafkaAddress:
    """The ways into a server: each security protocol's port."""

    ports: Mapping[str, int]
    host: str = "127.0.0.1"
    authority_file: str = ""
    """What vouches for the server over TLS."""

    @property
    def url(self) -> str:
        """For anybody, who may do everything."""
        return self.guarded("", "PLAINTEXT").partition("?")[0]

    def guarded(self, who: str, protocol: str = "SASL_PLAINTEXT") -> str:
        """For `user:password@`, who may do what was granted."""
        if protocol not in self.ports:
            pytest.skip(f"the Kafka of FENCEPOST_TEST_KAFKA has no {protocol}")
        return f"kafka://{who}{self.host}:{self.ports[protocol]}?security_protocol={protocol}"


class KafkaServer(Server):
    """One node. Over PLAINTEXT and SSL anybody may do everything; over the other ways in users may do what
    they were granted."""

    stop_signal = signal.SIGKILL

    def __init__(self, session_s: int = 60) -> None:
        """A busy machine keeps it from its heartbeat; one that was killed is let in again after a session."""
        jars()
        self._session_s = session_s
        super().__init__("kafka", "kafka://127.0.0.1:{port}")
        self.ports = {"PLAINTEXT": self.port} | {one: free_port() for one in FURTHER}
        self._controller_port, self._proxied_port, self._proxy_port = free_port(), free_port(), free_port()
        self.certificates = Certificates(self.folder)
        self._keys.write_bytes(
            in_pkcs8(self.certificates.key_file) + self.certificates.certificate_file.read_bytes()
        )
        self._file.write_text("".join(f"{name}={value}\n" for name, value in self._properties().items()))
        run("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", self._file)
        self.start()

    @property
    def details(self) -> dict[str, Any]:
        """What `KafkaAddress` is made of."""
        return {"ports": self.ports, "authority_file": str(self.certificates.authority_file)}

    @property
    def by_proxy(self) -> tuple[int, int | None]:
        """A client connects to where the server says that it is."""
        return self._proxied_port, self._proxy_port

    def command(self) -> Sequence[str | Path]:
        return [*java(), "kafka.Kafka", self._file]

    def spawn(self) -> None:
        (self.folder / "log").unlink(missing_ok=True)
        super().spawn()

    def is_up(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), CONNECT_TIMEOUT_S):
            return READY in self.log

    def wait_until_up(self) -> None:
        wait_until(self._answers, lambda: f"the server does not answer: {self.log}", START_TIMEOUT_S)

    def _properties(self) -> dict[str, str]:
        said = ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items())
        own = {
            "listeners": f"{said},CONTROLLER://127.0.0.1:{self._controller_port},"
            f"PROXIED://127.0.0.1:{self._proxied_port}",
            "advertised.listeners": f"{said},PROXIED://127.0.0.1:{self._proxy_port}",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "log.dirs": str(self.folder / "data"),
            "broker.session.timeout.ms": str(self._session_s * 1_000),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._keys),
            "listener.security.protocol.map": ",".join(f"{one}:{one}" for one in self.ports)
            + ",CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT",
        }
        return PROPERTIES | own

    @property
    def _keys(self) -> Path:
        return self.folder / "keys.pem"

    @property
    def _file(self) -> Path:
        return self.folder / "server.properties"


def run(*arguments: str | Path) -> None:
    """Carry out one of Kafka's own commands."""
    done = subprocess.run([*java(), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"


def java() -> list[str | Path]:
    """How each of its programs is started."""
    return ["java", *HEAP, *LOG, "-cp", f"{jars()}/*"]


def in_pkcs8(key_file: Path) -> bytes:
    """A private key in the one form that the server reads."""
    key = serialization.load_pem_private_key(key_file.read_bytes(), None)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def given_kafka() -> KafkaAddress | None:
    """The server that FENCEPOST_TEST_KAFKA names, as HOST:PORT or as a URL without user."""
    given = os.environ.get("FENCEPOST_TEST_KAFKA", "").removeprefix("kafka://").partition("?")[0]
    host, _, port = given.partition(":")
    return KafkaAddress({"PLAINTEXT": int(port or 9092)}, host) if given else None


@cache
def jars() -> Path:
    """The folder of the server's programs, fetched where this machine can."""
    if not (shutil.which("java") and (shutil.which("mvn") or _kept())):
        raise ServerMissing(HOW_TO_GET_IT)
    fetched = subprocess.run(
        [SCRIPT], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S
    )
    if fetched.returncode:
        raise ServerMissing(f"{HOW_TO_GET_IT} ({fetched.stderr.strip().splitlines()[-1]})")
    return Path(fetched.stdout.strip())


def _kept() -> bool:
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fencepost"
    return any(cache_folder.glob("kafka-*"))
