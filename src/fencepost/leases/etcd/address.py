"""`etcd://user:password@host:port,host:port/?name=…`: what the URL of an etcd may contain, and what it
means."""

from __future__ import annotations

import re
import ssl
from dataclasses import field

from fencepost.errors import InvalidSettings
from fencepost.model.address import Address, parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

PORT = 2379
SCHEMES = ("etcd", "etcds")
PARAMETERS = ("ca", "cert", "key", "name", "tls")
NAME_DEFAULT = "fencepost"
NAME_LENGTH_MAX = 100

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_.-]+)*")
_SWITCH = {"true": True, "false": False}


@dataclass(frozen=True)
class EtcdAddress:
    """The endpoints of etcd, the user, and the name under which this fleet's keys are."""

    endpoints: tuple[str, ...]
    name: str
    tls: bool
    shown: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    @property
    def credentials(self) -> tuple[str, str] | None:
        return (self.user, self.password) if self.user and self.password else None

    def refuse(self, complaint: str) -> InvalidSettings:
        """An error about this address, for the caller to raise."""
        return InvalidSettings(f"leases {quoted(self.shown)}: {complaint}")


def read_address(url: str) -> EtcdAddress:
    """The address in the URL, or a refusal that says the fix."""
    address = parse_address(url, PORT)
    if address.scheme not in SCHEMES:
        raise address.refuse("expected etcd://host:port")
    if not address.hosts:
        raise address.refuse(f"names no host; expected etcd://host:{PORT}")
    if address.path:
        raise address.refuse(f"ends in the path {quoted(address.path)}; name the fleet by ?name=")
    address.only(*PARAMETERS)
    _check_user(address)
    tls = _wants_tls(address)
    return EtcdAddress(
        endpoints=tuple(f"{'https' if tls else 'http'}://{host}" for host in address.hosts),
        name=_name(address),
        tls=tls,
        shown=address.shown,
        user=address.user,
        password=address.password,
        ca=address.parameters.get("ca"),
        cert=address.parameters.get("cert"),
        key=address.parameters.get("key"),
    )


def tls_context(address: EtcdAddress) -> ssl.SSLContext | None:
    """The authority to trust and our own certificate, read from the files that the address names."""
    if not address.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=address.ca)
    except OSError as error:
        raise address.refuse(f"ca {quoted(address.ca)} is no file of certificates: {error}") from error
    if address.cert is not None:
        try:
            # A key that is locked by a passphrase would make the ssl module ask for it on the terminal.
            context.load_cert_chain(address.cert, address.key, password="")
        except (OSError, ValueError) as error:
            files = f"cert {quoted(address.cert)} and key {quoted(address.key)}"
            raise address.refuse(f"{files} are no certificate and its unlocked key: {error}") from error
    return context


def _check_user(address: Address) -> None:
    if (address.user is None) != (address.password is None):
        raise address.refuse("expected both a user and a password, or neither")


def _wants_tls(address: Address) -> bool:
    """A file of TLS implies TLS; two that contradict each other are refused."""
    given = address.parameters
    if ("cert" in given) != ("key" in given):
        raise address.refuse("cert and key belong together: give both or neither")
    if (switch := given.get("tls", "true")) not in _SWITCH:
        raise address.refuse(f"tls={quoted(switch)}: expected true or false")
    implied = address.scheme == "etcds" or "ca" in given or "cert" in given
    if implied and not _SWITCH[switch]:
        raise address.refuse("tls=false contradicts etcds://, ca and cert; leave one of them out")
    return implied or ("tls" in given and _SWITCH[switch])


def _name(address: Address) -> str:
    name = address.parameters.get("name", NAME_DEFAULT)
    if len(name) > NAME_LENGTH_MAX or not _NAME.fullmatch(name):
        raise address.refuse(
            f"name {quoted(name)}: expected 1 to {NAME_LENGTH_MAX} letters, digits or _ . - between slashes"
        )
    return name
