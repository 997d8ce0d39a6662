"""Where a call goes: a URL that can be read in one way only.

Most ways around a guard begin with a text that two readers read differently. So this one takes only what all
readers agree on, and refuses the rest: visible ASCII, no user or password, a host that is a plain name or an
address in its usual form, no zone, no template. A name in another script has to be written as it is looked up
(`xn--…`), so that what people see is where the call goes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import TypeAlias
from urllib.parse import urljoin

from fencepost.errors import InvalidSpec
from fencepost.executors.http.limits import HOST_LENGTH_MAX, LABEL_LENGTH_MAX, URL_LENGTH_MAX

IpAddress: TypeAlias = IPv4Address | IPv6Address

USUAL_PORTS = {"http": 80, "https": 443}

_UNREADABLE = re.compile(r"[^\x21-\x7e]|[\\\"<>^`{|}]")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>[/?][^#]*)?(?:#.*)?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?")
_LABEL = re.compile(rf"[a-z0-9_](?:[a-z0-9_-]{{0,{LABEL_LENGTH_MAX - 2}}}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A last label like this makes some readers take the whole host for an IPv4 address."""


@dataclass(frozen=True)
class Target:
    """One place to call: `address` where the host is one, and `rest` as it is sent."""

    scheme: str
    host: str
    port: int
    rest: str
    address: IpAddress | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port: what credentials are for, and what people are shown of a URL."""
        port = "" if USUAL_PORTS.get(self.scheme) == self.port else f":{self.port}"
        return f"{self.scheme}://{self.host}{port}"

    @property
    def url(self) -> str:
        """The whole of it. Its path and its query may hold what people should not see."""
        return f"{self.origin}{self.rest}"

    def joined(self, location: str) -> Target:
        """Where a redirect from here leads. What names a scheme or a host is read as strictly as a URL of our
        own; only the rest is joined to this one."""
        _refuse_odd(location)
        if location.startswith("//"):
            return parse_target(f"{self.scheme}:{location}")
        if _SCHEME.match(location):
            return parse_target(location)
        return parse_target(urljoin(self.url, location))


def parse_target(url: object) -> Target:
    """The target behind a URL; nothing of it is repeated in a refusal that may hold a password."""
    if not isinstance(url, str) or not url:
        raise InvalidSpec("url: expected a text such as https://example.org/hook")
    if len(url) > URL_LENGTH_MAX:
        raise InvalidSpec(f"url: longer than {URL_LENGTH_MAX} characters")
    _refuse_odd(url)
    found = _URL.fullmatch(url)
    if found is None:
        raise InvalidSpec("url: expected a whole address such as https://example.org/hook")
    if "@" in found["authority"]:
        raise InvalidSpec("url: holds a user or a password; send credentials in a header instead")
    scheme, rest = found["scheme"].lower(), found["rest"] or "/"
    host, port, address = _place(found["authority"])
    number = port if port is not None else USUAL_PORTS.get(scheme, 0)
    return Target(scheme, host, number, rest if rest.startswith("/") else f"/{rest}", address)


def _place(authority: str) -> tuple[str, int | None, IpAddress | None]:
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise InvalidSpec("url: its host or port cannot be read")
    port = None if found["port"] is None else int(found["port"])
    if port is not None and not 1 <= port <= 65_535:
        raise InvalidSpec(f"url: port {port} is not within 1-65535")
    host, address = _host(found["host"].lower())
    return host, port, address


def _host(text: str) -> tuple[str, IpAddress | None]:
    """The host in its usual form, and the address that it is, if it is one."""
    if text.startswith("["):
        return _ipv6(text)
    name = text.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(text)
    if len(name) > HOST_LENGTH_MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise InvalidSpec("url: its host is not a name that can be looked up")
    return text, None


def _ipv6(text: str) -> tuple[str, IPv6Address]:
    try:
        address = IPv6Address(text[1:-1])
    except AddressValueError:
        raise InvalidSpec("url: its host is not an IPv6 address") from None
    return f"[{address.compressed}]", address


def _ipv4(text: str) -> tuple[str, IPv4Address]:
    try:
        address = IPv4Address(text)
    except AddressValueError:
        raise InvalidSpec(
            "url: its host ends in a number and is no IPv4 address in its usual form, such as 192.0.2.7"
        ) from None
    return str(address), address


def _refuse_odd(url: str) -> None:
    odd = _UNREADABLE.search(url)
    if odd is not None:
        raise InvalidSpec(f"url: holds {_shown(odd[0])}; {_remedy(odd[0])}")


def _remedy(odd: str) -> str:
    if odd in "{}":
        return "a URL is sent as it stands; put what changes into the body"
    if not odd.isascii():
        return "write a host as it is looked up (xn--…), and the rest as %C3%A9 and so on"
    return "write it as %20, %5C and so on"


def _shown(odd: str) -> str:
    return odd if odd.isprintable() and odd.isascii() and odd != " " else f"U+{ord(odd):04X}"
