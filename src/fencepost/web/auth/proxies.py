"""Whoever asks through a proxy.

A proxy makes all who ask through it look like one. It says for whom it asks in `X-Forwarded-For`, to whose
right end each proxy on the way adds the address that it was asked from; whatever stands to the left of that
whoever asks may have written. So the header counts only where it comes from a proxy that the settings name,
and only from its right end up to the first address that is not such a proxy. So does `X-Forwarded-Proto`,
which says whether they asked with TLS. From anybody else both are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

from fencepost.web.auth.reading import client_of, header, headers

FORWARDED_FOR = b"x-forwarded-for"
FORWARDED_PROTO = b"x-forwarded-proto"
SCHEMES = ("http", "https")
HOPS_MAX = 32

Address = IPv4Address | IPv6Address


def behind(trusted: Sequence[str], app: ASGIApp) -> ASGIApp:
    """An application to whose eyes those who come through a trusted proxy come by themselves."""
    if not trusted:
        return app
    proxies = Proxies(trusted)

    async def brought(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            proxies.bring(scope)
        await app(scope, receive, send)

    return brought


class Proxies:
    """Addresses and networks of proxies."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._networks = [ip_network(one) for one in trusted]

    def bring(self, scope: Any) -> None:
        """Put whom a trusted proxy asks for in the place of the proxy."""
        peer = _address(client_of(scope))
        if peer is None or not self._trusts(peer):
            return
        scope["client"] = (str(self._client(peer, headers(scope, FORWARDED_FOR))), 0)
        scheme = (header(scope, FORWARDED_PROTO) or "").strip().lower()
        if scheme in SCHEMES:
            scope["scheme"] = scheme

    def _client(self, peer: Address, forwarded: Sequence[str]) -> Address:
        """The first from the right that is no proxy; before what is no address, the last that was one."""
        found = peer
        for text in reversed(",".join(forwarded).rsplit(",", HOPS_MAX)[-HOPS_MAX:]):
            address = _address(text.strip())
            if address is None:
                break
            found = address
            if not self._trusts(address):
                break
        return found

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def _address(text: str) -> Address | None:
    """The address, without a port; one of version 4 in the clothes of version 6 is one of version 4."""
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        address = ip_address(bare)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
