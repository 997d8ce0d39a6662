"""Private NATS servers for the tests, with JetStream."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from tests.servers.binaries import NATS
from tests.servers.process import Server

ANSWER_TIMEOUT_S = 2.0


class NatsServer(Server):
    """One server. What its streams keep is on disk, so a restart finds it again. `settings` are lines of its
    configuration file: users, TLS, limits."""

    def __init__(self, settings: str = "", *, jetstream: bool = True) -> None:
        super().__init__("nats", "nats://127.0.0.1:{port}")
        self._file = self.folder / "nats.conf"
        self._file.write_text(f"{self._jetstream() if jetstream else ''}\n{settings}\n")
        self.start()

    def command(self) -> Sequence[str | Path]:
        return [NATS.path(), "-a", "127.0.0.1", "-p", str(self.port), "-c", self._file]

    def is_up(self) -> bool:
        """It takes connections once its streams are read; the first line that it says is about itself."""
        with socket.create_connection(("127.0.0.1", self.port), ANSWER_TIMEOUT_S) as connection:
            return connection.recv(4) == b"INFO"

    def _jetstream(self) -> str:
        return f'jetstream {{ store_dir: "{self.folder / "store"}" }}'
