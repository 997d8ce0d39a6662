"""`doctor` and `status` on MongoDB: what the servers are set up not to promise is told, with its mend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pymongo import MongoClient
from pymongo.errors import OperationFailure

from fencepost.drivers.mongodb.address import read_url
from fencepost.errors import InvalidSettings
from fencepost.model.tables import RUNS
from fencepost.stores.mongodb import caveats
from fencepost.stores.mongodb.caveats import UNSEEN, Client, members, window
from fencepost.stores.mongodb.documents import indexes_of
from fencepost.stores.mongodb.migrations import check_version
from tests.cli.calls import called, called_json
from tests.servers.fixtures import started
from tests.servers.mongodb import MongoReplicaSet, MongoServer
from tests.servers.process import wait_until

DATABASE = "checkup"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs.toml").write_text('[jobs.one]\ncommand = ["true"]\n')
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def server() -> Iterator[MongoServer]:
    """A server of its own: its settings are changed."""
    with started(MongoServer) as server:
        called("migrate", "--store", address(server.url))
        yield server


def address(url: str) -> str:
    return url.replace("/?", f"/{DATABASE}?")


def told(url: str) -> dict[str, str]:
    """What `doctor` warns of, each with its mend."""
    found = called_json("doctor", "jobs.toml", "--only", "retention", "--store", url)
    return {one["reason"]: one["remedy"] for one in found["findings"] if one["severity"] == "warn"}


def test_a_server_that_is_as_it_should_be_is_not_warned_of(server: MongoServer) -> None:
    assert told(address(server.url)) == {}
    status = called_json("status", "--store", address(server.url))
    assert (status["queue"]["ready"], status["nodes"]) == (0, [])


def test_a_missing_index_is_told_of_and_made_by_migrate_and_one_too_many_is_told_of(
    server: MongoServer,
) -> None:
    url, name = address(server.url), indexes_of(RUNS)[-1].document["name"]
    with MongoClient[dict[str, Any]](url) as client:
        client[DATABASE]["runs"].drop_index(name)
        client[DATABASE]["runs"].create_index("note", name="mine")
        assert told(url) == {
            "runs has an index mine that Fencepost does not use: every write pays for it": (
                'db.runs.dropIndex("mine")'
            ),
            f"runs has no index {name}: what it would find is searched for among all documents": (
                "run: fencepost migrate"
            ),
        }
        client[DATABASE]["runs"].drop_index("mine")
    assert called("migrate", "--store", url) == f"applied index {name} of runs\n"
    assert told(url) == {}


def test_a_majority_without_journals_is_told_of(server: MongoServer) -> None:
    reconfigure(server, writeConcernMajorityJournalDefault=False)
    try:
        (reason,) = told(address(server.url))
        assert "writeConcernMajorityJournalDefault=false" in reason
    finally:
        reconfigure(server, writeConcernMajorityJournalDefault=True)


def reconfigure(server: MongoServer, **settings: Any) -> None:
    """Until something is committed under the new settings, the server reads no snapshot."""
    config = server.call("replSetGetConfig")["config"]
    server.call("replSetReconfig", {**config, **settings, "version": config["version"] + 1})
    with MongoClient[dict[str, Any]](server.url, w="majority", journal=True) as client:
        client["elsewhere"]["noted"].insert_one(dict(settings))


def test_an_oplog_that_forgets_within_the_hour_is_told_of(
    server: MongoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caveats, "FULL", 0.0)
    ((reason, remedy),) = told(address(server.url)).items()
    assert reason.startswith("the oplog covers ")
    assert "replSetResizeOplog" in remedy


@pytest.mark.parametrize(
    ("size", "covers", "warned"), [(63, 59, True), (63, 60, False), (40, 1, False)], ids=str
)
def test_only_a_full_oplog_is_short(size: int, covers: int, warned: bool) -> None:
    assert bool(window({"size": size, "maxSize": 64}, timedelta(minutes=covers))) == warned


@pytest.mark.proof
def test_a_member_that_is_away_is_told_of(mongo_replica_set: MongoReplicaSet) -> None:
    """Over 5 s: three servers, and the others have to notice."""
    url = address(mongo_replica_set.url)
    called("migrate", "--store", url)
    assert told(url) == {}
    secondary = next(one for one in mongo_replica_set.nodes if not one.is_primary())
    secondary.kill()
    (reason,) = wait_until(lambda: told(url), lambda: "nothing is told")
    assert reason.startswith("2 of 3 voting members with data are up, and a write needs 2: ")
    assert secondary.address in reason


SEATS = {
    "one": ("P", ""),
    "two": ("PS", "2 of 2 voting members with data are up, and a write needs 2: when one of them"),
    "three": ("PSS", ""),
    "an arbiter": ("PSA", "2 of 2 voting members with data are up, and a write needs 2: when one of them"),
    "one away": ("PS-", "2 of 3 voting members with data are up, and a write needs 2: host2 is DOWN"),
    "no vote": ("PSSh", ""),
}


@pytest.mark.parametrize("case", SEATS)
def test_how_many_may_be_lost_is_counted_among_voters_with_data(case: str) -> None:
    seats, expected = SEATS[case]
    states = {"P": "PRIMARY", "S": "SECONDARY", "A": "ARBITER", "-": "DOWN", "h": "DOWN"}
    config = [
        {"_id": number, "votes": int(seat != "h"), "arbiterOnly": seat == "A"}
        for number, seat in enumerate(seats)
    ]
    status = [
        {"_id": number, "name": f"host{number}", "stateStr": states[seat]}
        for number, seat in enumerate(seats)
    ]
    voters = sum(one["votes"] for one in config)
    counts = {"votingMembersCount": voters, "writeMajorityCount": voters // 2 + 1}
    found = members({"members": config}, {"members": status, **counts})
    assert [one.what[: len(expected)] for one in found] == ([expected] if expected else [])


class Narrow:
    """A client whose user may only use its own database."""

    def __init__(self, **answers: Mapping[str, Any]) -> None:
        self.admin = SimpleNamespace(command=self._command)
        self._answers = answers

    async def _command(self, name: str) -> Mapping[str, Any]:
        if name not in self._answers:
            raise OperationFailure("not authorized on admin", code=13)
        return self._answers[name]


async def test_what_may_not_be_seen_is_told_by_the_check_up_alone() -> None:
    client = cast(Client, Narrow())
    assert await caveats.read_caveats(client) == []
    assert await caveats._of_replica_set(client) == [UNSEEN]


async def test_a_server_that_is_too_old_is_refused_with_the_mend() -> None:
    old = cast(Client, Narrow(buildInfo={"version": "5.0.31", "versionArray": [5, 0, 31, 0]}))
    with pytest.raises(InvalidSettings, match=r"it is MongoDB 5.0.31, and a store needs 6.0 or newer"):
        await check_version(old, read_url("mongodb://127.0.0.1/shop?replicaSet=rs0", "store"))
