"""URLs of leases in Redis: what is understood, what is refused, and what is never shown."""

from pathlib import Path

import pytest

from fencepost.errors import InvalidSettings
from fencepost.leases.redis.address import Credentials, read_address
from fencepost.model.address import Host

REFUSED = {
    "redis://": "it names no host",
    "redis://a:6379,b:6379": "redis+sentinel://",
    "redis://a/x": 'the database "x" is no number',
    "redis://a/-1": "is no number",
    "redis://a?nome=x": 'unknown parameter "nome"; known: name',
    "redis://a?ca=/x": 'unknown parameter "ca"',
    "redis://a?sentinel_user=x": 'unknown parameter "sentinel_user"',
    "redis://a?name=": "expected 1 to 200 letters",
    "redis://a?name={b}": "expected 1 to 200 letters",
    "redis://me@a": 'the user "me" has no password',
    "redis://a:port": "leases",
    "rediss://a?ca=/no/such/file": 'ca: there is no file "/no/such/file"',
    "redis+sentinel://a:26379": "it names no service",
    "redis+sentinel://a/service/x": 'the database "x" is no number',
    "redis+cluster://a": 'unknown scheme "redis+cluster"; known: redis, rediss, redis+sentinel',
}


def test_one_server() -> None:
    address = read_address("redis://me:s%40crét@cache/3?name=blue")
    assert address.hosts == (Host("cache", 6379),)
    assert address.credentials == Credentials("me", "s@crét")
    assert (address.service, address.database, address.name, address.tls) == (None, 3, "blue", None)


def test_a_password_needs_no_user_and_a_name_need_not_be_given() -> None:
    address = read_address("redis://:secret@cache:7000")
    assert address.credentials == Credentials(None, "secret")
    assert (address.hosts, address.database, address.name) == ((Host("cache", 7000),), 0, "fencepost")


def test_sentinels_have_credentials_of_their_own() -> None:
    address = read_address(
        "redis+sentinel://me:secret@s1,s2:26380/main/2?sentinel_user=guard&sentinel_password=other"
    )
    assert address.hosts == (Host("s1", 26379), Host("s2", 26380))
    assert (address.service, address.database) == ("main", 2)
    assert address.credentials == Credentials("me", "secret")
    assert address.sentinel_credentials == Credentials("guard", "other")


def test_tls_takes_files(tmp_path: Path) -> None:
    file = tmp_path / "x.pem"
    file.touch()
    address = read_address(f"rediss+sentinel://s1/main?ca={file}&cert={file}&key={file}")
    assert address.tls == dict.fromkeys(("ca", "cert", "key"), str(file))
    with pytest.raises(InvalidSettings, match="a key needs its certificate"):
        read_address(f"rediss://a?key={file}")
    assert read_address("rediss://a").tls == {}


@pytest.mark.parametrize("url", REFUSED)
def test_does_not_guess(url: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        read_address(url)
    assert REFUSED[url] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://me:hidden@a/x",
        "redis+sentinel://a?sentinel_password=hidden",
        "redis+sentinel://a:port/s?sentinel_password=hidden",
        "redis+sentinel://me:hidden@a/s?sentinel_password=hidden&nome=1",
    ],
)
def test_never_shows_a_password(url: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        read_address(url)
    assert "hidden" not in str(caught.value)
    assert "***" in str(caught.value)
