"""One flood, as a process of its own: `python -m tests.floods.client KIND PORT SECONDS`.

It shows no good credential. It keeps so many connections open, opens each again as it is closed, and asks as
fast as it is answered. It prints how many answers came with which status.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from fencepost.model.access import CredentialKind as Credentials
from fencepost.model.access import mint
from fencepost.web.dashboard.assets import asset_url

NICE = 10
"""Whether a node is kept from its work by its own web is the question, not who gets the cores."""
READ_BYTES = 65_536
OPENED_EACH_PASS = 100
ROUND_S = 0.1


@dataclass(frozen=True)
class Flood:
    """How many connections, what each sends at a time, and whether it reads what comes back."""

    connections: int
    request: Callable[[], bytes]
    reads: bool = True


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join((f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", "")).encode()


def wrong_token() -> bytes:
    """Of the right form, so that the store has to be asked about it."""
    token = mint(Credentials.TOKEN, secrets.token_bytes).reveal()
    return get("/api/v1/runs", f"Authorization: Bearer {token}")


def style_sheet() -> bytes:
    return get(asset_url("fencepost.css"))


KINDS = {
    "connections": Flood(900, lambda: get("/healthz")),
    "hammering": Flood(200, lambda: get("/readyz")),
    "pipelining": Flood(400, lambda: get("/healthz") * 100),
    "static": Flood(200, style_sheet),
    "wrong-tokens": Flood(200, wrong_token),
    "slow-readers": Flood(400, lambda: style_sheet() * 200, reads=False),
}


class Connection:
    """One socket of the flood."""

    def __init__(self, kind: Flood, port: int) -> None:
        self.kind = kind
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if not kind.reads:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        with suppress(BlockingIOError):
            self.socket.connect(("127.0.0.1", port))
        self._unsent = kind.request()
        self._wanted = self._unsent.count(b"\r\n\r\n")

    @property
    def waits_for(self) -> int:
        return selectors.EVENT_WRITE if self._unsent else selectors.EVENT_READ

    def go_on(self, seen: Counter[str]) -> None:
        """Send or read as far as that goes; OSError where it is over."""
        if not self._unsent:
            self._read(seen)
            return
        self._unsent = self._unsent[self.socket.send(self._unsent) :]
        if not self._unsent and not self.kind.reads:
            self._unsent = self.kind.request()

    def _read(self, seen: Counter[str]) -> None:
        data = self.socket.recv(READ_BYTES)
        if not data:
            raise ConnectionResetError
        for part in data.split(b"HTTP/1.1 ")[1:]:
            seen[part[:3].decode("ascii", "replace")] += 1
            self._wanted -= 1
        if self._wanted <= 0 and not self._unsent:
            self._unsent = self.kind.request()
            self._wanted = self._unsent.count(b"\r\n\r\n")


def flood(kind: Flood, port: int, for_s: float) -> Counter[str]:
    """What came of it."""
    seen: Counter[str] = Counter()
    until = time.monotonic() + for_s
    with selectors.DefaultSelector() as waiting:
        while time.monotonic() < until:
            missing = kind.connections - len(waiting.get_map())
            for _ in range(min(missing, OPENED_EACH_PASS)):
                one = Connection(kind, port)
                waiting.register(one.socket, one.waits_for, one)
                seen["opened"] += 1
            for key, _ in waiting.select(ROUND_S):
                step(waiting, key.data, seen)
        for key in list(waiting.get_map().values()):
            key.data.socket.close()
    return seen


def step(waiting: selectors.BaseSelector, one: Connection, seen: Counter[str]) -> None:
    try:
        one.go_on(seen)
    except BlockingIOError:
        return
    except OSError:
        waiting.unregister(one.socket)
        one.socket.close()
        return
    if waiting.get_key(one.socket).events != one.waits_for:
        waiting.modify(one.socket, one.waits_for, one)


if __name__ == "__main__":
    os.nice(NICE)
    name, port, for_s = sys.argv[1:]
    sys.stdout.write(json.dumps(flood(KINDS[name], int(port), float(for_s))))
