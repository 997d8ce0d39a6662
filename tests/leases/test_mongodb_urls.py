"""The URL of leases in MongoDB: what is ours, what is the driver's, and what is refused."""

from __future__ import annotations

import pytest

from fencepost.drivers.mongodb.address import read_url
from fencepost.drivers.mongodb.opening import unfit
from fencepost.errors import InvalidSettings

SECRET = "hunter2"
HOST = "mongodb://127.0.0.1:27017"

REFUSED = {
    "redis://127.0.0.1/": "expected mongodb://",
    "mongodb:///": "names no host",
    f"{HOST}/?w=1": "w=1 would weaken the leases; leave it out (it is majority)",
    f"{HOST}/?w=0": "w=0 would weaken",
    f"{HOST}/?W=2": "w=2 would weaken",
    f"{HOST}/?journal=false": "journal=false would weaken",
    f"{HOST}/?readPreference=secondaryPreferred": "readPreference=secondarypreferred would weaken",
    f"{HOST}/?readpreference=nearest": "readPreference=nearest would weaken",
    f"{HOST}/?readConcernLevel=local": "readConcernLevel=local would weaken",
    f"{HOST}/?colour=blue": "colour",
    f"{HOST}/?replicaSet": "key=value",
    f"{HOST}/?name=": 'name ""',
    f"{HOST}/?name=-x": 'name "-x"',
    f"{HOST}/?name=a.b": 'name "a.b"',
    f"{HOST}/?name=%24x": 'name "$x"',
    f"{HOST}/a.b": 'database "a.b"',
    f"{HOST}/a/b": 'database "a/b"',
    "mongodb://127.0.0.1:x/": "x",
    "mongodb://[::1/": "cannot be read",
}

UNREADABLE = [
    f"mongodb://alice:{SECRET}/1@127.0.0.1/",
    f"mongodb://alice:{SECRET}?1@127.0.0.1/",
    f"mongodb://alice:{SECRET}#1@127.0.0.1/",
    f"mongodb://alice:{SECRET}@1@127.0.0.1/",
    f"mongodb://alice:{SECRET}@127.0.0.1:x/",
    f"mongodb://alice:{SECRET}@127.0.0.1/?w=1",
    f"mongodb://127.0.0.1/?tlsCertificateKeyFilePassword={SECRET}&w=1",
    f"mongodb://127.0.0.1/?authMechanismProperties=AWS_SESSION_TOKEN:{SECRET}&name=a.b",
    f"mongodb://127.0.0.1/?authMechanismProperties={SECRET}",
    f"mongodb://127.0.0.1/?password={SECRET}",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_breaks_the_promise_is_not_accepted(url: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read_url(url)
    assert REFUSED[url] in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("url", UNREADABLE)
def test_a_refusal_does_not_show_a_secret(url: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read_url(url)
    assert SECRET not in str(refused.value)


def test_what_is_the_drivers_is_not_taken_away() -> None:
    target = read_url("mongodb://u:p%40q@h1:27017,h2/cron?replicaSet=rs0&name=night&tls=true&w=majority")
    assert target.url == "mongodb://u:p%40q@h1:27017,h2/cron?replicaSet=rs0&tls=true&w=majority"
    assert (target.database, target.collection) == ("cron", "night_leases")


def test_a_url_that_says_little_does_not_lack_a_database() -> None:
    target = read_url("mongodb+srv://db.example.com")
    assert target.url == "mongodb+srv://db.example.com/"
    assert (target.database, target.collection) == ("fencepost", "fencepost_leases")


def test_the_name_is_not_passed_to_the_driver() -> None:
    assert read_url(f"{HOST}/?name=night").url == f"{HOST}/"


@pytest.mark.parametrize(
    ("hello", "complaint"),
    [
        ({"msg": "isdbgrid", "isWritablePrimary": True}, "mongos"),
        ({"isWritablePrimary": True}, "--replSet"),
        ({"isreplicaset": True}, "rs.initiate()"),
    ],
)
def test_a_server_without_a_clock_or_majority_of_its_own_is_not_fit(
    hello: dict[str, object], complaint: str
) -> None:
    assert complaint in unfit(hello, "leases")


def test_a_member_of_a_replica_set_is_not_unfit() -> None:
    assert unfit({"setName": "rs0", "isWritablePrimary": True}, "leases") == ""


def test_a_router_is_fit_for_a_store() -> None:
    assert unfit({"msg": "isdbgrid", "isWritablePrimary": True}, "store") == ""
