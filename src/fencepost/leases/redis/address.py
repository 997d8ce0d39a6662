"""The URL of the leases: which servers, as whom, and under which name.

    redis://[user:password@]host[:6379][/db]?name=fencepost
    redis+sentinel://[user:password@]sentinel[:26379],sentinel[:26379]/service[/db]?name=fencepost

`rediss` and `rediss+sentinel` are the same over TLS, to the sentinels too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fencepost.errors import InvalidSettings
from fencepost.model.address import Address, Host, parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

SCHEMES = ("redis", "rediss", "redis+sentinel", "rediss+sentinel")
PORT, SENTINEL_PORT = 6379, 26379
NAME_DEFAULT = "fencepost"
TLS = ("ca", "cert", "key")
SENTINEL = ("sentinel_user", "sentinel_password")

_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")


@dataclass(frozen=True)
class Credentials:
    """The user and the password for a server; the default user, where the URL names none."""

    user: str | None = None
    password: str | None = None


@dataclass(frozen=True)
class RedisAddress:
    """Where the master is, or the sentinels that know; `shown` is for people."""

    shown: str
    hosts: tuple[Host, ...]
    service: str | None
    database: int
    credentials: Credentials
    sentinel_credentials: Credentials
    tls: Mapping[str, str] | None
    name: str

    def refuse(self, complaint: str) -> InvalidSettings:
        """An error about this address, for the caller to raise."""
        return InvalidSettings(f"leases {quoted(self.shown)}: {complaint}")


def read_address(url: str) -> RedisAddress:
    """The address, or one line that says what is wrong with it."""
    address = _parsed(url)
    sentinel = address.scheme.endswith("+sentinel")
    secure = address.scheme.startswith("rediss")
    address.only("name", *(TLS if secure else ()), *(SENTINEL if sentinel else ()))
    service, database = _service_and_database(address, sentinel)
    return RedisAddress(
        shown=address.shown,
        hosts=_hosts(address, sentinel),
        service=service,
        database=database,
        credentials=_credentials(address, address.user, address.password),
        sentinel_credentials=_credentials(address, *(address.parameters.get(one) for one in SENTINEL)),
        tls=_tls(address) if secure else None,
        name=_name(address),
    )


def _parsed(url: str) -> Address:
    scheme = url.partition(":")[0].lower()
    port = SENTINEL_PORT if scheme.endswith("+sentinel") else PORT
    address = parse_address(url, port)
    if address.scheme not in SCHEMES:
        raise address.refuse(f"unknown scheme {quoted(address.scheme)}; known: {', '.join(SCHEMES)}")
    return address


def _hosts(address: Address, sentinel: bool) -> tuple[Host, ...]:
    if not address.hosts:
        raise address.refuse("it names no host; write redis://host:6379/0")
    if len(address.hosts) > 1 and not sentinel:
        raise address.refuse("several hosts; name the one master, or its sentinels by redis+sentinel://")
    return address.hosts


def _service_and_database(address: Address, sentinel: bool) -> tuple[str | None, int]:
    """What the path says: the number of a database, for sentinels after the name of the service."""
    service, database = None, address.path
    if sentinel:
        service, _, database = address.path.partition("/")
        if not service:
            raise address.refuse("it names no service; write redis+sentinel://host:26379/service")
    if database and not (database.isascii() and database.isdigit()):
        raise address.refuse(f"the database {quoted(database)} is no number")
    return service, int(database or 0)


def _credentials(address: Address, user: str | None, password: str | None) -> Credentials:
    if user and not password:
        raise address.refuse(f"the user {quoted(user)} has no password; one without a user is :password@")
    return Credentials(user, password or None)


def _tls(address: Address) -> dict[str, str]:
    files = {one: address.parameters[one] for one in TLS if one in address.parameters}
    for parameter, path in files.items():
        if not Path(path).is_file():
            raise address.refuse(f"{parameter}: there is no file {quoted(path)}")
    if "key" in files and "cert" not in files:
        raise address.refuse("a key needs its certificate; add cert=FILE")
    return files


def _name(address: Address) -> str:
    name = address.parameters.get("name", NAME_DEFAULT)
    if not _NAME.fullmatch(name):
        raise address.refuse(f"name {quoted(name)}: expected 1 to 200 letters, digits or _ . : / -")
    return name
