"""The URL of a server, in its parts, with the password kept out of sight."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from fencepost.errors import InvalidSettings
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

MASK = "***"

_SECRET_PARAMETER = re.compile(
    r"([?&][^=&#]*(?:password|secret|token|mechanismproperties)[^=&#]*=)[^&#]*", re.IGNORECASE
)
_SECRET_AUTHORITY = re.compile(r"(://[^/?#:@]*):.*@", re.DOTALL)
"""Up to the last @: a password may hold characters that should have been written as %23 and so on."""
_SECRET_USER = re.compile(r"^((?:nats|tls)://)[^:@]+@")
"""NATS takes a user without a password for a token."""

UNREADABLE = (
    "a host or a port cannot be read; write special characters of a password as %40, %23, %2F and so on"
)
"""This replaces the parser's own message, which may quote a piece of the password."""


@dataclass(frozen=True)
class Host:
    """One of the servers of an address."""

    name: str
    port: int

    def __str__(self) -> str:
        shown = f"[{self.name}]" if ":" in self.name else self.name
        return f"{shown}:{self.port}"


@dataclass(frozen=True)
class Address:
    """`scheme://user:password@host:port,host:port/path?parameters`. `shown` is for people."""

    scheme: str
    hosts: tuple[Host, ...]
    user: str | None
    password: str | None
    path: str
    parameters: Mapping[str, str]
    shown: str
    what: str = "leases"
    """What the server keeps."""

    def refuse(self, complaint: str) -> InvalidSettings:
        """An error about this address, for the caller to raise."""
        return InvalidSettings(f"{self.what} {quoted(self.shown)}: {complaint}")

    def only(self, *known: str) -> None:
        """Refuse parameters that are not known, and name those that are."""
        for name in self.parameters:
            if name not in known:
                raise self.refuse(f"unknown parameter {quoted(name)}; known: {', '.join(sorted(known))}")


def parse_address(url: str, port: int, what: str = "leases") -> Address:
    """The parts of a URL that names one server or several; servers without a port get `port`."""
    shown = mask(url)
    try:
        parts = urlsplit(url)
        authority, _, hosts = parts.netloc.rpartition("@")
        user, _, password = authority.partition(":")
        return Address(
            scheme=parts.scheme,
            hosts=tuple(_host(text, port) for text in hosts.split(",") if text),
            user=unquote(user) or None,
            password=unquote(password) or None,
            path=unquote(parts.path.lstrip("/")),
            parameters=dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))),
            shown=shown,
            what=what,
        )
    except ValueError:
        raise InvalidSettings(f"{what} {quoted(shown)}: {UNREADABLE}") from None


def mask(url: str) -> str:
    """The URL without its password."""
    shown = _SECRET_USER.sub(rf"\1{MASK}@", _SECRET_AUTHORITY.sub(rf"\1:{MASK}@", url))
    return _SECRET_PARAMETER.sub(rf"\1{MASK}", shown)


def _host(text: str, port: int) -> Host:
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError("no host")
    return Host(parts.hostname, parts.port or port)
