"""The URL of the broker: redis://[user:password@]host[:6379][/db]?length_max=1000000&redeliver_after=30

`rediss` is the same over TLS.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from redis.asyncio import Connection, SSLConnection

from fencepost.model.address import Address, parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

PORT = 6379
SCHEMES = ("redis", "rediss")
TLS = ("ca", "cert", "key")
LENGTH_MAX = 1_000_000
REDELIVER_AFTER_S = 30.0
REDELIVER_AFTER_LEAST_S = 0.1


@dataclass(frozen=True)
class RedisAddress:
    """`options` are what the driver's connection takes."""

    shown: str
    options: dict[str, Any]
    is_secure: bool
    length_max: int
    redeliver_after_s: float
    replicas: int

    def connection(self) -> Connection:
        """A new connection that is not connected. The whole call has a limit, so it has none of its own."""
        kind = SSLConnection if self.is_secure else Connection
        return kind(**self.options, protocol=2, socket_timeout=None, socket_connect_timeout=None)


def read_address(url: str) -> RedisAddress:
    """The address, or one line that says what is wrong with it."""
    address = parse_address(url, PORT, "broker")
    if address.scheme not in SCHEMES:
        raise address.refuse(f"unknown scheme {quoted(address.scheme)}; known: {', '.join(SCHEMES)}")
    is_secure = address.scheme == "rediss"
    address.only("length_max", "redeliver_after", "replicas", *(TLS if is_secure else ()))
    if len(address.hosts) != 1:
        raise address.refuse("expected one host; write redis://host:6379/0")
    if address.path and not (address.path.isascii() and address.path.isdigit()):
        raise address.refuse(f"the database {quoted(address.path)} is no number")
    if address.user and not address.password:
        raise address.refuse(f"the user {quoted(address.user)} has no password; write user:password@host")
    (host,) = address.hosts
    options: dict[str, Any] = {"host": host.name, "port": host.port, "db": int(address.path or 0)}
    options |= {"username": address.user, "password": address.password}
    return RedisAddress(
        shown=quoted(address.shown),
        options=options | (_tls(address) if is_secure else {}),
        is_secure=is_secure,
        length_max=int(_number(address, "length_max", LENGTH_MAX, least=1)),
        redeliver_after_s=_number(
            address, "redeliver_after", REDELIVER_AFTER_S, least=REDELIVER_AFTER_LEAST_S
        ),
        replicas=int(_number(address, "replicas", 0, least=0)),
    )


def _tls(address: Address) -> dict[str, str | None]:
    files = {one: address.parameters[one] for one in TLS if one in address.parameters}
    for parameter, path in files.items():
        if not Path(path).is_file():
            raise address.refuse(f"{parameter}: there is no file {quoted(path)}")
    if "key" in files and "cert" not in files:
        raise address.refuse("a key needs its certificate; add cert=FILE")
    names = {"ca": "ssl_ca_certs", "cert": "ssl_certfile", "key": "ssl_keyfile"}
    return {names[one]: path for one, path in files.items()}


def _number(address: Address, name: str, default: float, *, least: float) -> float:
    text = address.parameters.get(name)
    try:
        number = default if text is None else float(text)
    except ValueError:
        number = -1.0
    if not least <= number < float("inf"):
        raise address.refuse(f"{name} {quoted(str(text))}: expected a number of at least {least:g}")
    return number
