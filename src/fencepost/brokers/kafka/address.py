"""The URL of the broker: which servers, as whom, and how topics are created.

    kafka://[user:password@]host[:9092][,host[:9092]]?security_protocol=SASL_SSL&sasl_mechanism=SCRAM-SHA-512

The parameters have the names that Kafka's own clients give them.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fencepost.errors import InvalidSettings
from fencepost.model.address import Address, Host, parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

PORT = 9092
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
FILES = ("ssl_cafile", "ssl_certfile", "ssl_keyfile")
NUMBERS = {"partitions": 6, "replication_factor": -1, "max_request_size": 1_048_576}
"""With their defaults; a replication factor of -1 leaves it to the cluster."""
HEADERS_MAX = 16_384
"""How much of a request is kept for what is not the body."""


@dataclass(frozen=True)
class KafkaAddress:
    """Where the cluster is, and what to say to it; `shown` is for people."""

    shown: str
    hosts: tuple[Host, ...]
    partitions: int
    replication_factor: int
    max_request_size: int
    security: Mapping[str, Any]
    """Options of the driver. The password is among them."""

    @property
    def servers(self) -> str:
        """The servers as Kafka's own commands want them."""
        return ",".join(str(one) for one in self.hosts)

    @property
    def body_max(self) -> int:
        return self.max_request_size - HEADERS_MAX


def read_address(url: str) -> KafkaAddress:
    """The address, or one line that says what is wrong with it."""
    address = parse_address(url, PORT, "broker")
    address.only("security_protocol", "sasl_mechanism", *FILES, *NUMBERS)
    if not address.hosts:
        raise address.refuse("it names no host; write kafka://host:9092")
    if address.path:
        raise address.refuse(f"a path {quoted(address.path)}; a topic is named where it is used")
    numbers = {name: _number(address, name, default) for name, default in NUMBERS.items()}
    if numbers["max_request_size"] <= 2 * HEADERS_MAX:
        raise address.refuse(f"max_request_size: expected more than {2 * HEADERS_MAX} bytes")
    return KafkaAddress(address.shown, address.hosts, **numbers, security=_security(address))


def _number(address: Address, name: str, default: int) -> int:
    text = address.parameters.get(name, str(default))
    if name in address.parameters and not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise address.refuse(f"{name} {quoted(text)}: expected a number from 1")
    return int(text)


def _security(address: Address) -> dict[str, Any]:
    protocol = _chosen(address, "security_protocol", PROTOCOLS)
    options: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL_"):
        if not (address.user and address.password):
            raise address.refuse(f"security_protocol={protocol} needs user:password@ before the host")
        options["sasl_mechanism"] = _chosen(address, "sasl_mechanism", MECHANISMS)
        options |= {"sasl_plain_username": address.user, "sasl_plain_password": address.password}
    elif address.user or address.password or "sasl_mechanism" in address.parameters:
        raise address.refuse("a user needs security_protocol=SASL_SSL, or SASL_PLAINTEXT without TLS")
    files = {one: address.parameters[one] for one in FILES if one in address.parameters}
    if protocol.endswith("SSL"):
        options["ssl_context"] = _context(address, files)
    elif files:
        raise address.refuse(f"{next(iter(files))} needs security_protocol=SSL or SASL_SSL")
    return options


def _chosen(address: Address, name: str, known: tuple[str, ...]) -> str:
    text = address.parameters.get(name, known[0]).upper()
    if text not in known:
        raise address.refuse(f"{name} {quoted(text)}: expected {', '.join(known)}")
    return text


def _context(address: Address, files: Mapping[str, str]) -> ssl.SSLContext:
    for parameter, path in files.items():
        if not Path(path).is_file():
            raise address.refuse(f"{parameter}: there is no file {quoted(path)}")
    try:
        context = ssl.create_default_context(cafile=files.get("ssl_cafile"))
        if "ssl_certfile" in files:
            context.load_cert_chain(files["ssl_certfile"], files.get("ssl_keyfile"))
        elif "ssl_keyfile" in files:
            raise address.refuse("ssl_keyfile needs its certificate; add ssl_certfile=FILE")
    except ssl.SSLError as error:
        raise InvalidSettings(f"broker {quoted(address.shown)}: {error}; name files in PEM form") from error
    return context
