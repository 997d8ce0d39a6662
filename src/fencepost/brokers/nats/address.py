"""The URL of the broker: which servers, as whom, and how streams are made.

    nats://[user:password@ or token@]host[:4222][,host…]?redeliver_after=30&replicas=1

`tls` is the same and refuses a server without TLS.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from fencepost.model.address import Address, parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

PORT = 4222
SCHEMES = ("nats", "tls")
FILES = ("ca", "cert", "key", "creds", "nkey")
MARKS = {"creds": ("BEGIN NATS USER JWT", "BEGIN USER NKEY SEED"), "nkey": ("SU",)}
"""What must stand in a file; the driver looks for the marks of `creds` without an end."""
REDELIVER_AFTER_S = 30.0
REDELIVER_AFTER_LEAST_S = 0.1


@dataclass(frozen=True)
class NatsAddress:
    """`options` are what the driver's `connect` takes."""

    address: Address
    options: dict[str, Any]
    is_secure: bool
    redeliver_after_s: float
    replicas: int

    @property
    def shown(self) -> str:
        return quoted(self.address.shown)


def read_address(url: str) -> NatsAddress:
    """The address, or one line that says what is wrong with it."""
    address = parse_address(url, PORT, "broker")
    if address.scheme not in SCHEMES:
        raise address.refuse(f"unknown scheme {quoted(address.scheme)}; known: {', '.join(SCHEMES)}")
    address.only(*FILES, "redeliver_after", "replicas")
    if not address.hosts:
        raise address.refuse("it names no host; write nats://host:4222")
    if address.path:
        raise address.refuse(f"the path {quoted(address.path)} has no meaning; remove it")
    files = _files(address)
    is_secure = address.scheme == "tls" or any(one in files for one in ("ca", "cert"))
    options: dict[str, Any] = {
        "servers": [f"nats://{host}" for host in address.hosts],
        **_who(address, files),
    }
    if is_secure:
        options["tls"] = _context(address, files)
    return NatsAddress(
        address=address,
        options=options,
        is_secure=is_secure,
        redeliver_after_s=_number(
            address, "redeliver_after", REDELIVER_AFTER_S, least=REDELIVER_AFTER_LEAST_S
        ),
        replicas=int(_number(address, "replicas", 1, least=1)),
    )


def _files(address: Address) -> dict[str, str]:
    files = {one: address.parameters[one] for one in FILES if one in address.parameters}
    for parameter, path in files.items():
        if not Path(path).is_file():
            raise address.refuse(f"{parameter}: there is no file {quoted(path)}")
        text = Path(path).read_text("utf-8", errors="replace")
        if not all(mark in text for mark in MARKS.get(parameter, ())):
            raise address.refuse(f"{parameter}: no key is in the file {quoted(path)}; write a new one")
    if "key" in files and "cert" not in files:
        raise address.refuse("a key needs its certificate; add cert=FILE")
    return files


def _who(address: Address, files: dict[str, str]) -> dict[str, Any]:
    """Who we are: a user with a password, a token, or what a file says."""
    if address.password:
        return {"user": address.user or "", "password": address.password}
    if address.user:
        return {"token": address.user}
    if "creds" in files:
        return {"user_credentials": files["creds"]}
    return {"nkeys_seed": files["nkey"]} if "nkey" in files else {}


def _context(address: Address, files: dict[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=files.get("ca"))
        if "cert" in files:
            context.load_cert_chain(files["cert"], files.get("key"))
    except (ssl.SSLError, OSError) as error:
        raise address.refuse(f"a certificate cannot be read: {error}") from error
    return context


def _number(address: Address, name: str, default: float, *, least: float) -> float:
    text = address.parameters.get(name)
    try:
        number = default if text is None else float(text)
    except ValueError:
        number = 0.0
    if not least <= number < float("inf"):
        raise address.refuse(f"{name} {quoted(str(text))}: expected a number of at least {least:g}")
    return number
