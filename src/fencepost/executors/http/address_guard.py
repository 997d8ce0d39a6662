"""The guard: which addresses a call may reach.

A party that can choose a name can choose what it resolves to, and can answer differently a moment later. So a
name is resolved once per hop; every address of the answer has to pass, or none is used; and the connection is
made to these very addresses (`client`), never to the name again. TLS goes on verifying the name.

Not every refusal can be lifted. `allow_private` opens the networks of an organisation and this host itself.
Nothing opens addresses that no honest call goes to: link-local addresses, the metadata services of the clouds
(not all of them link-local: Azure's is public), multicast, broadcast, and addresses that stand for no host.

An IPv6 address that carries an IPv4 address inside (mapped, compatible, 6to4, NAT64, Teredo, ISATAP) is
judged by both.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from fencepost.errors import InvalidSpec
from fencepost.executors.http.limits import ADDRESSES_MAX, LOOKUPS_MAX
from fencepost.executors.http.target import IpAddress, Target

Network: TypeAlias = IPv4Network | IPv6Network
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""From a name and a port to the addresses behind it, as texts."""


def _networks(*rows: tuple[str, str]) -> tuple[tuple[Network, str], ...]:
    return tuple((ip_network(text), kind) for text, kind in rows)


NEVER = _networks(
    ("0.0.0.0/8", "unspecified"),
    ("169.254.0.0/16", "link-local"),
    ("192.0.0.0/24", "reserved"),
    ("192.88.99.0/24", "reserved"),
    ("100.100.100.200/32", "a metadata service"),
    ("168.63.129.16/32", "a metadata service"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("64:ff9b:1::/48", "reserved"),
    ("100::/64", "reserved"),
    ("5f00::/16", "reserved"),
    ("fd00:42::42/128", "a metadata service"),
    ("fd00:ec2::23/128", "a metadata service"),
    ("fd00:ec2::254/128", "a metadata service"),
    ("fd20:ce::254/128", "a metadata service"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "reserved"),
    ("ff00::/8", "multicast"),
)
UNLESS_ALLOWED = _networks(
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by a carrier"),
    ("127.0.0.0/8", "loopback"),
    ("172.16.0.0/12", "private"),
    ("192.0.2.0/24", "for documentation"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "for benchmarks"),
    ("198.51.100.0/24", "for documentation"),
    ("203.0.113.0/24", "for documentation"),
    ("::1/128", "loopback"),
    ("2001:db8::/32", "for documentation"),
    ("3fff::/20", "for documentation"),
    ("fc00::/7", "private"),
)
SPECIAL_IPV6 = IPv6Network("2001::/23")
TEREDO = IPv6Network("2001::/32")
NAT64 = IPv6Network("64:ff9b::/96")
COMPATIBLE = IPv6Network("::/96")
TRANSLATED = IPv6Network("::ffff:0:0:0/96")
GLOBAL_IPV6 = IPv6Network("2000::/3")
ISATAP = 0x5EFE
ISATAP_FLAGS = 0xFCFF
"""All but the two bits of an interface's identifier that say universal and group (RFC 5214)."""


@dataclass(frozen=True)
class Guard:
    """What one job may reach."""

    schemes: tuple[str, ...]
    ports: tuple[int, ...]
    allow_private: bool = False

    def check(self, target: Target) -> None:
        """Refuse what can be refused without looking the name up."""
        if target.scheme not in self.schemes:
            raise InvalidSpec(f"url: scheme {target.scheme} is not in schemes = {_listed(self.schemes)}")
        if target.port not in self.ports:
            raise InvalidSpec(f"url: port {target.port} is not in ports = {list(self.ports)}; add it there")
        if target.address is not None:
            self._pass(target.host, [target.address])
        elif _is_this_host(target.host) and not self.allow_private:
            raise InvalidSpec(f"{target.host} is this host; where that is meant, say allow_private")

    async def addresses(self, target: Target, resolve: Resolve) -> tuple[str, ...]:
        """The addresses to connect to, all of them checked, from one look-up."""
        self.check(target)
        if target.address is not None:
            return (str(target.address),)
        found = [ip_address(text) for text in await resolve(target.host, target.port)]
        if not found:
            raise OSError("the name has no address")
        if len(found) > ADDRESSES_MAX:
            raise InvalidSpec(
                f"{target.host} has {len(found)} addresses; at most {ADDRESSES_MAX} are checked"
            )
        self._pass(target.host, found)
        return tuple(dict.fromkeys(str(one) for one in found))

    def _pass(self, host: str, addresses: Iterable[IpAddress]) -> None:
        for address in addresses:
            kind, final = judged(address)
            if kind is not None and (final or not self.allow_private):
                remedy = "" if final else "; where that is meant, say allow_private"
                raise InvalidSpec(f"{host} is at {address}, which is {kind}{remedy}")


def _is_this_host(name: str) -> bool:
    """Names that mean loopback whatever a resolver says (RFC 6761)."""
    return f".{name.removesuffix('.')}".endswith(".localhost")


def judged(address: IpAddress) -> tuple[str | None, bool]:
    """What speaks against an address, None for nothing, and whether that can never be allowed."""
    about = [_judged_as_it_is(one) for one in (address, *_embedded(address))]
    against = [(kind, final) for kind, final in about if kind is not None]
    return max(against, key=lambda one: one[1], default=(None, False))


def _judged_as_it_is(address: IpAddress) -> tuple[str | None, bool]:
    for networks, final in ((NEVER, True), (UNLESS_ALLOWED, False)):
        for network, kind in networks:
            if address.version == network.version and address in network:
                return kind, final
    if isinstance(address, IPv4Address):
        return (None, False) if address.is_global else ("reserved", True)
    return _judged_ipv6(address)


def _judged_ipv6(address: IPv6Address) -> tuple[str | None, bool]:
    if address.scope_id is not None:
        return "link-local", True
    if address.ipv4_mapped is not None or address in NAT64 or address in TEREDO:
        return None, False
    known = address in GLOBAL_IPV6 and address not in SPECIAL_IPV6
    return (None, False) if known else ("reserved", True)


def _embedded(address: IpAddress) -> Iterator[IPv4Address]:
    """Every IPv4 address inside an IPv6 address."""
    if isinstance(address, IPv4Address) or address == IPv6Address(1):
        return
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.ipv4_mapped is not None or any(address in one for one in (NAT64, COMPATIBLE, TRANSLATED)):
        yield last
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if (int(address) >> 32) & (ISATAP_FLAGS << 16 | 0xFFFF) == ISATAP:
        yield last


async def resolved(host: str, port: int) -> Sequence[str]:
    """What the system's resolver says. It cannot be interrupted, so it has threads of its own: names that
    hang hold up nothing but other names."""
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_lookups(), ask)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


@cache
def _lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(LOOKUPS_MAX, thread_name_prefix="fencepost-lookup")


def _listed(texts: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{one}"' for one in texts) + "]"
