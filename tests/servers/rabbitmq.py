"""A private RabbitMQ for the tests: one node, with its own port mapper, cookie, data and definitions."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.servers.binaries import RABBITMQ
from tests.servers.certificates import Certificates
from tests.servers.ports import free_port
from tests.servers.process import Server, wait_until

ANSWER_TIMEOUT_S = 2.0
START_TIMEOUT_S = CONTROL_TIMEOUT_S = 90.0
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
METHOD_FRAME = b"\x01"
USER, PASSWORD = "fencepost", "s3cret/word"
"""Who may do everything in the virtual host `/`."""
GUEST, GUEST_PASSWORD = "reader", "r3ader"
"""Who may log in and do nothing."""
OTHER_VHOST = "team/blue"
MESSAGE_SIZE_MAX = 1_000_000

CONFIGURATION = """
listeners.tcp.1 = 127.0.0.1:{port}
listeners.ssl.1 = 127.0.0.1:{tls_port}
ssl_options.cacertfile = {authority_file}
ssl_options.certfile = {certificate_file}
ssl_options.keyfile = {key_file}
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = false
loopback_users = none
load_definitions = {definitions}
max_message_size = {message_size_max}
disk_free_limit.absolute = 1MB
"""
START = """
"$1" -port "$ERL_EPMD_PORT" -address 127.0.0.1 &
until "$1" -port "$ERL_EPMD_PORT" -names >/dev/null 2>&1; do sleep 0.05; done
exec "$2"
"""
"""With a port mapper of our own in the server's process group: the node would start a daemon, which outlives
it."""
CALM = "+sbwt none +sbwtdcpu none +sbwtdio none"
"""Schedulers that have nothing to do sleep at once: the tests need the processor."""


class RabbitServer(Server):
    """One node. What was confirmed is there again after `kill` and `start`."""

    def __init__(self) -> None:
        programs = folder()
        self._start = [programs / "rabbitmq-server"]
        self._control = programs / "rabbitmqctl"
        super().__init__("rabbitmq", f"amqp://{USER}:{PASSWORD.replace('/', '%2F')}@127.0.0.1:{{port}}/")
        self._ports = {"ERL_EPMD_PORT": str(free_port()), "RABBITMQ_DIST_PORT": str(free_port())}
        self._tls_port = free_port()
        definitions = self.folder / "definitions.json"
        definitions.write_text(json.dumps(_definitions()))
        (self.folder / "plugins").write_text("[].\n")
        (self.folder / "environment").touch()
        self.certificates = Certificates(self.folder)
        (self.folder / "rabbitmq.conf").write_text(
            CONFIGURATION.format(
                port=self.port,
                tls_port=self._tls_port,
                definitions=definitions,
                message_size_max=MESSAGE_SIZE_MAX,
                **vars(self.certificates),
            )
        )
        self.start()

    @property
    def tls_url(self) -> str:
        """The same server over TLS, without a word about whom to trust."""
        return self.url.replace("amqp:", "amqps:").replace(str(self.port), str(self._tls_port))

    def command(self) -> Sequence[str | Path]:
        mapper = shutil.which("epmd")
        assert mapper is not None, "no epmd beside RabbitMQ"
        settings = [f"{name}={value}" for name, value in self._environment().items()]
        return ["env", *settings, "sh", "-c", START, "sh", mapper, *self._start]

    def is_up(self) -> bool:
        """Whether it begins the protocol: the listener is opened last."""
        with socket.create_connection(("127.0.0.1", self.port), ANSWER_TIMEOUT_S) as connection:
            connection.sendall(PROTOCOL_HEADER)
            return connection.recv(1) == METHOD_FRAME

    def wait_until_up(self) -> None:
        """Alone it takes 5 s, on a busy machine ten times as long."""
        wait_until(self._answers, lambda: f"the server does not answer: {self.log}", START_TIMEOUT_S)

    def stop(self) -> None:
        """Kill it: a clean end takes seconds, and no test needs it."""
        self.kill()

    def settle(self) -> None:
        """Have it write the names of its quorum queues to disk. It does so by itself half a second after a
        queue was made, and a queue that is younger is not there after a kill."""
        self.control("eval", "ok = dets:sync(ra_directory_reverse).")

    def control(self, *words: str) -> str:
        """What rabbitmqctl says. Each call takes more than a second."""
        done = subprocess.run(
            [self._control, "--quiet", *words],
            env=os.environ | self._environment(),
            capture_output=True,
            text=True,
            timeout=CONTROL_TIMEOUT_S,
        )
        assert done.returncode == 0, f"rabbitmqctl {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def _environment(self) -> Mapping[str, str]:
        home = str(self.folder)
        return {
            "HOME": home,
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"fencepost{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_MNESIA_BASE": f"{home}/data",
            "RABBITMQ_LOG_BASE": f"{home}/logs",
            "RABBITMQ_PID_FILE": f"{home}/pid",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{home}/plugins",
            "RABBITMQ_CONF_ENV_FILE": f"{home}/environment",
            "RABBITMQ_CONFIG_FILE": f"{home}/rabbitmq",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": CALM,
            **self._ports,
        }


@cache
def folder() -> Path:
    """Where the programs are. They are not tried: each would start a node."""
    for candidate in RABBITMQ.candidates():
        if (candidate / "rabbitmq-server").exists() and (candidate / "rabbitmqctl").exists():
            return candidate
    raise RABBITMQ.missing()


def _definitions() -> Mapping[str, object]:
    users = {USER: PASSWORD, GUEST: GUEST_PASSWORD}
    rights = {USER: ".*", GUEST: "^$"}
    return {
        "users": [{"name": name, "password": word, "tags": ""} for name, word in users.items()],
        "vhosts": [{"name": "/"}, {"name": OTHER_VHOST}],
        "permissions": [
            {"user": user, "vhost": vhost, "configure": right, "write": right, "read": right}
            for user, right in rights.items()
            for vhost in ("/", OTHER_VHOST)
        ],
    }
