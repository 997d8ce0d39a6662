"""The address of the server: HOST:PORT, bound before anything else runs."""

from __future__ import annotations

import socket
from contextlib import suppress
from ipaddress import ip_address

from fencepost.errors import InvalidSettings
from fencepost.model.quoting import quoted

DEFAULT_BIND = "127.0.0.1:8580"
BACKLOG_MAX = 256


def bound(bind: str, option: str = "bind") -> socket.socket:
    """A socket that listens at the address; InvalidSettings where it cannot be had."""
    host, port = parse_bind(bind, option)
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise InvalidSettings(f"{option} {bind}: no such host here: {error.strerror or error}") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG_MAX)
    except OSError as error:
        listener.close()
        why = error.strerror or error
        raise InvalidSettings(f"{option} {bind}: {why}; choose another with --{option}") from None
    listener.setblocking(False)
    return listener


def parse_bind(bind: str, option: str = "bind") -> tuple[str, int]:
    """The host and the port of `127.0.0.1:8580` or `[::1]:8580`."""
    host, colon, port = bind.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    whole = port.isascii() and port.isdigit() and int(port) <= 65_535
    if not colon or not bare or not whole or (":" in bare and bare == host):
        raise InvalidSettings(
            f"{option} {quoted(bind)}: expected HOST:PORT, such as {DEFAULT_BIND} or [::1]:8580"
        )
    return bare, int(port)


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this host can reach it."""
    with suppress(ValueError):
        return ip_address(listener.getsockname()[0]).is_loopback
    return False
