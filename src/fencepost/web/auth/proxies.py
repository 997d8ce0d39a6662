"""Callers behind a proxy.

A proxy makes all callers behind it look like one. It names the caller in `X-Forwarded-For`, to whose right
end each proxy on the way adds the address that it was asked from. The caller itself may have written what
stands to the left of that. So the header counts only where it comes from a proxy that the settings name, and
only from its right end up to the first address that is not such a proxy. The same holds for
`X-Forwarded-Proto`, which says whether the caller used TLS. From other peers both are ignored.
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
    """An application that sees callers behind a trusted proxy by their own addresses."""
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
        """Put the caller's address in the place of the trusted proxy's."""
        peer = _address(client_of(scope))
        if peer is None or not self._trusts(peer):
            return
        scope["client"] = (str(self._client(peer, headers(scope, FORWARDED_FOR))), 0)
        scheme = (header(scope, FORWARDED_PROTO) or "").strip().lower()
        if scheme in SCHEMES:
            scope["scheme"] = scheme

    def _client(self, peer: Address, forwarded: Sequence[str]) -> Address:
        """The first address from the right that is no proxy; where an entry is no address, the one before
        it."""
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
    """The address, without a port; an IPv4 address that is mapped into IPv6 counts as IPv4."""
    bare = text[1:].partition("]")[0] if text.startswith("[") else text
    bare = bare.partition(":")[0] if bare.count(":") == 1 else bare
    try:
        address = ip_address(bare)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
