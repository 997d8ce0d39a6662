"""The guard's table: which addresses pass, which pass when private ones may, and which never do."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address

import pytest

from fencepost.errors import InvalidSpec
from fencepost.executors.http.address_guard import Guard, judged
from fencepost.executors.http.limits import ADDRESSES_MAX
from fencepost.executors.http.target import parse_target
from tests.executors.http.calls import Names

PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1"),
    *("169.253.255.255", "223.255.255.255", "2606:4700::1111", "2a00:1450:4001::8", "2001:4860:4860::8888"),
    *("::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2a00::5efe:808:808", "2a00::5eff:7f00:1"),
]
PRIVATE = [
    *("10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254"),
    *("172.16.0.1", "172.31.255.255", "192.168.1.1", "198.18.0.1", "198.19.255.255"),
    *("192.0.2.1", "198.51.100.1", "203.0.113.1"),
    *("::1", "fc00::1", "fd12:3456::1", "2001:db8::1", "3fff::1"),
    *(
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2a00::5efe:7f00:1",
        "2a00::200:5efe:7f00:1",
        "2a00::300:5efe:a00:1",
        "fd12:3456::5efe:a00:1",
    ),
]
NEVER = [
    *("0.0.0.0", "0.1.2.3", "169.254.169.254", "169.254.170.2", "169.254.0.1", "192.0.0.192", "192.88.99.1"),
    *("100.100.100.200", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"),
    *("::", "::7f00:1", "::a00:1", "::8.8.8.8", "::ffff:0:127.0.0.1", "fe80::1", "fe80::1%eth0", "fec0::1"),
    *(
        "ff02::1",
        "fd00:ec2::23",
        "fd00:ec2::254",
        "fd00:42::42",
        "fd20:ce::254",
        "100::1",
        "5f00::1",
        "64:ff9b:1::1",
        "4000::1",
        "2001:2::1",
    ),
    *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::ffff:0.0.0.0"),
    *("2001:0:a9fe:a9fe:0:0:f5ff:fffe", "168.63.129.16", "::ffff:168.63.129.16", "64:ff9b::a83f:8110"),
    *("::200:5efe:7f00:1", "::5efe:7f00:1", "2a00::5efe:a9fe:a9fe", "2a00::200:5efe:a83f:8110"),
]
INNER_OF_TEREDO = "2001:0:808:808:0:0:80ff:fffe"
"""A Teredo address: the server 8.8.8.8 is public, the client behind it is 127.0.0.1."""


def strict() -> Guard:
    return Guard(("https",), (443,))


def lenient() -> Guard:
    return Guard(("https",), (443,), allow_private=True)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_pass(address: str) -> None:
    assert judged(ip_address(address)) == (None, False)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_pass_only_where_they_may(address: str) -> None:
    kind, final = judged(ip_address(address))
    assert kind is not None
    assert not final


@pytest.mark.parametrize("address", NEVER)
def test_what_no_honest_call_goes_to_never_passes(address: str) -> None:
    kind, final = judged(ip_address(address))
    assert kind is not None
    assert final


def test_a_teredo_address_is_judged_by_what_is_inside() -> None:
    inside = ip_address(INNER_OF_TEREDO)
    assert inside.teredo == (IPv4Address("8.8.8.8"), IPv4Address("127.0.0.1"))  # type: ignore[union-attr]
    assert judged(inside) == ("loopback", False)


async def test_one_bad_address_among_good_ones_spoils_the_name() -> None:
    target = parse_target("https://mixed.test/")
    for bad in ("127.0.0.1", "10.0.0.1", "::1", "169.254.169.254"):
        for answer in (["8.8.8.8", bad], [bad, "8.8.8.8"]):
            with pytest.raises(InvalidSpec, match=r"mixed\.test is at "):
                await strict().addresses(target, Names({"mixed.test": [answer]}))


async def test_metadata_stays_refused_where_private_addresses_may_be_called() -> None:
    target = parse_target("https://sneaky.test/")
    assert await lenient().addresses(target, Names({"sneaky.test": [["10.0.0.1"]]})) == ("10.0.0.1",)
    for address in ("169.254.169.254", "168.63.129.16", "fd00:ec2::254", "::ffff:169.254.169.254"):
        with pytest.raises(InvalidSpec, match=r"link-local$|a metadata service$"):
            await lenient().addresses(target, Names({"sneaky.test": [[address]]}))


async def test_a_name_without_an_address_or_with_very_many_is_not_called() -> None:
    target = parse_target("https://odd.test/")
    with pytest.raises(OSError, match="no address"):
        await strict().addresses(target, Names({"odd.test": [[]]}))
    many = [f"8.8.{n}.8" for n in range(ADDRESSES_MAX + 1)]
    with pytest.raises(InvalidSpec, match="at most 32"):
        await strict().addresses(target, Names({"odd.test": [many]}))
