"""The URL of the broker: `amqp://[user:password@]host[:5672][/vhost]?parameters`, `amqps` over TLS."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlencode

from fencepost.model.address import parse_address
from fencepost.model.dataclasses import dataclass
from fencepost.model.quoting import quoted

PORTS = {"amqp": 5672, "amqps": 5671}
USER_DEFAULT = "guest"
VHOST_DEFAULT = "/"
NAME_DEFAULT = "fencepost"
HEARTBEAT_DEFAULT_S = 10
"""A connection is given up after three heartbeats that did not come."""
FILES = ("cafile", "certfile", "keyfile")
PLAIN = ("auth", "heartbeat", "name")
TLS = (*FILES, "cadata", "capath", "no_verify_ssl")


@dataclass(frozen=True)
class RabbitAddress:
    """Where the broker is and as whom we connect. `url` is for the driver and has the password, `shown` is
    for people."""

    url: str
    shown: str
    user: str
    vhost: str
    is_secure: bool

    def __repr__(self) -> str:
        return f"RabbitAddress({self.shown})"


def read_address(url: str) -> RabbitAddress:
    """The address, or one line that says what is wrong with it."""
    scheme = url.partition(":")[0].lower()
    address = parse_address(url, PORTS.get(scheme, PORTS["amqp"]), "broker")
    if address.scheme not in PORTS:
        raise address.refuse(f"unknown scheme {quoted(address.scheme)}; known: {', '.join(PORTS)}")
    if not address.hosts:
        raise address.refuse("it names no host; write amqp://host:5672/vhost")
    if len(address.hosts) > 1:
        raise address.refuse("several hosts; name one, or the load balancer before the cluster")
    is_secure = address.scheme == "amqps"
    address.only(*PLAIN, *(TLS if is_secure else ()))
    for parameter in FILES:
        path = address.parameters.get(parameter)
        if path is not None and not Path(path).is_file():
            raise address.refuse(f"{parameter}: there is no file {quoted(path)}")
    heartbeat = address.parameters.get("heartbeat", str(HEARTBEAT_DEFAULT_S))
    if not (heartbeat.isascii() and heartbeat.isdigit() and 0 < int(heartbeat) < 65_535):
        raise address.refuse(f"heartbeat {quoted(heartbeat)}: expected seconds, 1 to 65534")
    user, vhost = address.user or USER_DEFAULT, address.path or VHOST_DEFAULT
    password = "" if address.password is None else f":{quote(address.password, safe='')}"
    who = "" if address.user is None else f"{quote(user, safe='')}{password}@"
    parameters = {"name": NAME_DEFAULT, **address.parameters, "heartbeat": heartbeat}
    return RabbitAddress(
        url=f"{address.scheme}://{who}{address.hosts[0]}/{quote(vhost, safe='')}?{urlencode(parameters)}",
        shown=address.shown,
        user=user,
        vhost=vhost,
        is_secure=is_secure,
    )
