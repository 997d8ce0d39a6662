"""Ports for the servers of the tests."""

import socket
from random import SystemRandom

PORTS = range(20_000, 32_768)
PORT_TRIES = 50


def free_port() -> int:
    """A port that nobody listens on, below the range that the system hands out to clients."""
    for _ in range(PORT_TRIES):
        port = SystemRandom().choice(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no free port in {PORT_TRIES} tries")
