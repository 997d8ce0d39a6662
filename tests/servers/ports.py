"""Ports for the servers of the tests."""

import socket
import time
from random import SystemRandom

PORTS = range(20_000, 32_768)
PORT_TRIES = 50
HEARD_TRIES = 600
HEARD_STEP_S = 0.1


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


def wait_until_heard(port: int) -> None:
    """Until somebody listens there: a server may say that it has started a moment before it does."""
    for _ in range(HEARD_TRIES):
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(HEARD_STEP_S)
    raise AssertionError(f"nobody listens on port {port}")
