"""What the URL of an etcd may say."""

from pathlib import Path

import pytest

from fencepost.errors import InvalidSettings
from fencepost.leases.etcd.address import read_address, tls_context


def test_several_hosts_are_not_taken_for_one() -> None:
    address = read_address("etcd://one:1,[::1],three:3")
    assert address.endpoints == ("http://one:1", "http://[::1]:2379", "http://three:3")


def test_a_url_that_says_nothing_else_has_the_usual_name_and_no_tls() -> None:
    address = read_address("etcd://one/")
    assert (address.name, address.tls, address.credentials) == ("fencepost", False, None)


@pytest.mark.parametrize(
    "url", ["etcds://one", "etcd://one?tls=true", "etcd://one?ca=/a", "etcd://one?cert=/c&key=/k"]
)
def test_no_sign_of_tls_is_overlooked(url: str) -> None:
    address = read_address(url)
    assert address.tls
    assert address.endpoints == ("https://one:2379",)


def test_credentials_are_not_shown() -> None:
    address = read_address("etcd://user:p%40ss@one?name=prod/cron")
    assert address.credentials == ("user", "p@ss")
    assert "p@ss" not in repr(address)
    assert "p%40ss" not in repr(address)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://one", "expected etcd://host:port"),
        ("etcd://", "names no host"),
        ("etcd://one/prod", "name the fleet by ?name="),
        ("etcd://one?nam=x", 'unknown parameter "nam"; known: ca, cert, key, name, tls'),
        ("etcd://one?name=", "1 to 100 letters"),
        ("etcd://one?name=/a", "1 to 100 letters"),
        ("etcd://one?name=a//b", "1 to 100 letters"),
        ("etcd://one?tls=yes", "expected true or false"),
        ("etcds://one?tls=false", "contradicts"),
        ("etcd://one?ca=/a&tls=false", "contradicts"),
        ("etcd://one?cert=/c", "cert and key belong together"),
        ("etcd://user@one", "both a user and a password"),
        ("etcd://:secret@one", "both a user and a password"),
        ("etcd://user:secret@one:port", "a port cannot be read"),
    ],
)
def test_a_url_that_cannot_be_meant_is_not_accepted(url: str, complaint: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read_address(url)
    assert complaint in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_files_that_hold_no_certificates_are_not_accepted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("nothing")
    for parameters in (
        f"ca={tmp_path}/absent",
        f"ca={tmp_path}/file",
        f"cert={tmp_path}/file&key={tmp_path}/file",
    ):
        with pytest.raises(InvalidSettings, match="certificate"):
            tls_context(read_address(f"etcd://one?{parameters}"))
