"""The guide's commands, run as they are written: back up, run on, restore; no fence is given out twice.

It takes longer than five seconds, because real processes start three times and tick in between. MongoDB's own
tools are not among what the tests have: there all documents are read at one moment, and put back.
"""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from signal import SIGCONT
from time import sleep
from typing import Any, ClassVar

import pytest
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from tests.cli.calls import call, called, called_json
from tests.cli.processes import SIGTERM, Process, clean_environment, started
from tests.servers.binaries import binaries
from tests.servers.process import Address

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "backup-and-restore.md"
TICKING = """
[jobs.tick]
command = ["true"]

[schedules.tick]
job = "tick"
every = "1s"
overlap = "allow"
"""
RUNS = 5
PAST = 10
PATIENCE_S = 90


def blocks(heading: str) -> list[str]:
    """How to back up and how to restore, by the guide, for each way that it has."""
    (section,) = re.findall(
        rf"^## {heading}\n(.*?)(?=^## )", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@dataclass
class Place:
    """A store, backed up and restored by the commands of the guide."""

    heading: ClassVar[str]
    url: str
    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "fencepost.toml").write_text(TICKING)

    def back_up(self) -> None:
        self.shell(blocks(self.heading)[0])

    def overwrite(self, process: Process) -> None:
        """What a careless person does under a running process."""
        raise NotImplementedError

    def restore(self) -> None:
        self.shell(blocks(self.heading)[1])

    def shell(self, script: str) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), str(binaries()), os.environ["PATH"]])
        environment = {**clean_environment(), "FENCEPOST_STORE": self.url, "PATH": path}
        done = subprocess.run(["bash", "-ec", script], cwd=self.folder, env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()

    def runs(self) -> list[dict[str, Any]]:
        found = called_json("runs", "list", "--limit", "1000", "--store", self.url)
        return [one for one in found if one["fence"]]

    def last_fence(self) -> int:
        return max(int(one["fence"]) for one in self.runs())

    def fence_past(self, kept: int) -> int:
        """The last fence, once it is well past this one."""
        for _ in range(PATIENCE_S):
            if (last := self.last_fence()) > kept + PAST:
                return last
            sleep(1)
        raise AssertionError(f"no fence past {kept + PAST}")


class OnSqlite(Place):
    heading = "SQLite"

    def overwrite(self, process: Process) -> None:
        paths = (self.folder / name for name in ("fencepost-backup.db", "fencepost.db"))
        backup, live = (sqlite3.connect(path, timeout=30) for path in paths)
        with closing(backup), closing(live):
            backup.backup(live)


class OnPostgres(Place):
    heading = "PostgreSQL"

    def overwrite(self, process: Process) -> None:
        process.stop()
        self.shell(blocks(self.heading)[1].splitlines()[0])
        process.signal(SIGCONT)


@dataclass
class OnMongodb(Place):
    """Every document of every collection stands in for what `mongodump --oplog` writes: one moment."""

    heading = "MongoDB"
    kept: dict[str, list[RawBSONDocument]] = field(default_factory=dict)

    def back_up(self) -> None:
        with self.client() as client, client.start_session(snapshot=True) as moment:
            database = client.get_default_database()
            names = database.list_collection_names()
            self.kept = {name: list(database[name].find(session=moment)) for name in names}

    def overwrite(self, process: Process) -> None:
        process.stop()
        self.put_back()
        process.signal(SIGCONT)

    def restore(self) -> None:
        self.put_back()
        self.shell(blocks(self.heading)[1].splitlines()[-1])

    def put_back(self) -> None:
        with self.client() as client:
            database = client.get_default_database()
            for name in database.list_collection_names():
                database[name].delete_many({})
                if documents := self.kept.get(name):
                    database[name].insert_many(documents)

    def empty(self) -> None:
        with self.client() as client:
            client.drop_database(client.get_default_database().name)

    def client(self) -> MongoClient[RawBSONDocument]:
        return MongoClient(self.url, document_class=RawBSONDocument)


def ticked(process: Process) -> None:
    for _ in range(RUNS):
        process.wait_for("succeeded")


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Place:
    return OnSqlite(f"sqlite:///{tmp_path / 'fencepost.db'}", tmp_path)


@pytest.fixture
def on_postgres(postgres_url: str, tmp_path: Path) -> Place:
    return OnPostgres(postgres_url, tmp_path)


@pytest.fixture
def on_mongodb(mongo_server: Address, tmp_path: Path) -> Iterator[OnMongodb]:
    here = OnMongodb(mongo_server.url.replace("/?", f"/guide_{token_hex(6)}?"), tmp_path)
    called("migrate", "--store", here.url)
    yield here
    here.empty()


@pytest.fixture(
    params=[
        "on_sqlite",
        pytest.param("on_postgres", marks=[pytest.mark.postgres, pytest.mark.proof]),
        pytest.param("on_mongodb", marks=[pytest.mark.mongodb, pytest.mark.proof]),
    ]
)
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_no_fence_is_given_out_twice_over_a_restore(place: Place) -> None:
    """About 10 s: the commands of the guide, with real nodes before and after."""
    words = ("run", "fencepost.toml", "--store", place.url)
    with started(*words, folder=place.folder) as across:
        ticked(across)
        place.back_up()
        kept = place.last_fence()
        last = place.fence_past(kept)
        place.overwrite(across)
        assert across.ended() == 2
    assert "older than it was" in across.lines[-1], across.said
    assert "fencepost migrate --restored" in across.lines[-1]
    with started(*words, folder=place.folder) as too_early:
        assert too_early.ended() == 2
    assert "older than it was" in too_early.lines[-1]
    assert call("restore-check", "--store", place.url).exit_code == 1
    place.restore()
    called("restore-check", "--store", place.url, "--fence", str(last))
    with started(*words, folder=place.folder) as after:
        ticked(after)
        after.signal(SIGTERM)
        assert after.ended() == 0
    fences = [one["fence"] for one in place.runs() if one["fence"] > kept]
    assert len(fences) >= RUNS
    assert min(fences) > last
    (entry,) = called_json("log", "--action", "ledger.restore", "--store", place.url)
    assert entry["after"]["fence"] > last


@pytest.mark.proof
@pytest.mark.mongodb
@pytest.mark.timeout(600)
def test_no_fence_is_given_out_twice_over_a_copy_in_a_file(on_mongodb: OnMongodb) -> None:
    """About 15 s: a real node ticks before the copy, after it, and once the ledger is copied back."""
    _, _, out, back = blocks(on_mongodb.heading)
    tick_once(on_mongodb)
    on_mongodb.shell(out)
    kept = on_mongodb.last_fence()
    tick_once(on_mongodb)
    last = on_mongodb.last_fence()
    assert last > kept
    on_mongodb.empty()
    on_mongodb.shell(back)
    assert on_mongodb.last_fence() == kept
    called("restore-check", "--store", on_mongodb.url, "--fence", str(last))
    tick_once(on_mongodb)
    fences = [one["fence"] for one in on_mongodb.runs() if one["fence"] > kept]
    assert len(fences) >= RUNS
    assert min(fences) > last


def tick_once(place: Place) -> None:
    """A node that starts, has some runs and stops."""
    with started("run", "fencepost.toml", "--store", place.url, folder=place.folder) as node:
        ticked(node)
        node.signal(SIGTERM)
        assert node.ended() == 0


def test_a_guard_that_is_ahead_tells_of_an_older_ledger(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'fencepost.db'}"
    called("migrate", "--store", url)
    called("restore-check", "--store", url)
    told = call("restore-check", "--store", url, "--fence", "874")
    assert told.exit_code == 1
    assert "fence 874 was seen, and the last of the ledger is 0" in told.stdout
    called("migrate", "--restored", "--store", url)
    called("restore-check", "--store", url, "--fence", "874")
