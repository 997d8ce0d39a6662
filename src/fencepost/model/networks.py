"""Networks as the settings name them."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv6Network, ip_network

MAPPED = IPv6Network("::ffff:0:0/96")


def without_mapping(text: str) -> str:
    """A network of version 4 in the clothes of version 6 as one of version 4; anything else as it is."""
    with suppress(ValueError):
        network = ip_network(text)
        if isinstance(network, IPv6Network) and network.subnet_of(MAPPED):
            return f"{network.network_address.ipv4_mapped}/{network.prefixlen - MAPPED.prefixlen}"
    return text


def is_network(text: str) -> bool:
    """Whether it is an address or a network, and not all that there are."""
    with suppress(ValueError):
        return ip_network(text).prefixlen > 0
    return False
