"""`--leases`: where leases live is told to a node, said when it starts, and refused in one line."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

import fencepost.wiring
from fencepost.cli.leases import shown_leases
from fencepost.config import settings_from
from fencepost.manifest import load
from tests.cli.calls import call, called_json, refused
from tests.cli.processes import SIGTERM, started
from tests.servers.process import Address

MANIFEST = '[jobs.one]\ncommand = ["true"]\n'
NOWHERE = "redis://anna:secret@127.0.0.1:1"
COMMANDS = [("run", "jobs.toml"), ("scheduler", "jobs.toml"), ("status",), ("doctor", "jobs.toml")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobs.toml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("leases", "said"),
    [
        ("zookeeper://anna:secret@zk", 'leases "zookeeper://…": expected etcd://host:2379, redis://host'),
        ("etcd", 'leases "etcd": expected etcd://host:2379'),
        ("redis://h/?nmae=x", "name"),
    ],
)
def test_leases_that_cannot_be_are_one_line(
    command: tuple[str, ...], leases: str, said: str, folder: Path, used: str
) -> None:
    line = refused(*command, "--leases", leases, "--store", used)
    assert said in line
    assert "secret" not in line


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_driver_names_the_extra(
    command: tuple[str, ...], folder: Path, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fencepost.wiring.LEASE_DRIVERS, "redis", "no_such_driver")
    line = refused(*command, "--leases", NOWHERE, "--store", used)
    assert 'pip install "fencepost[redis]"' in line


def test_a_node_does_not_start_on_a_lease_store_that_is_down(folder: Path, url: str) -> None:
    with started(
        "run", "jobs.toml", "--no-wait", "--leases", NOWHERE, "--store", url, folder=folder
    ) as process:
        assert process.ended() == 2, process.said
    (line,) = process.lines
    assert line.startswith('fencepost: leases "redis://anna:***@127.0.0.1:1"')


def test_leases_of_the_environment_count_and_an_empty_option_takes_them_back(
    folder: Path, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_LEASES", NOWHERE)
    assert "127.0.0.1:1" in called_json("status", "--store", used)["leases"]["url"]
    assert called_json("status", "--leases", "", "--store", used)["leases"]["url"] is None


def test_a_manifest_says_where_leases_live(tmp_path: Path) -> None:
    path = tmp_path / "fencepost.toml"
    path.write_text(f'leases = "etcd://one:2379"\n{MANIFEST}')
    assert load(path, {}).settings.leases == "etcd://one:2379"
    environment = {"FENCEPOST_LEASES": "redis://two"}
    assert load(path, environment).settings.leases == "redis://two"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leases = 5", "leases = 5: expected a text"),
        ("leeses = 'x'", "leeses is unknown; did you mean leases?"),
        ("[settings]\nleases = 'x'", "[settings] leases stands at the top of the file"),
    ],
)
def test_a_manifest_that_says_it_wrongly_is_refused(text: str, said: str, folder: Path) -> None:
    (folder / "jobs.toml").write_text(text)
    assert said in refused("run", "jobs.toml")


@pytest.mark.parametrize(
    ("leases", "shown"),
    [
        ("", None),
        ("etcd://one:2379,two:2379", "etcd://one:2379,two:2379"),
        ("redis://:secret@h", "redis://:***@h"),
        ("redis+sentinel://h/main?sentinel_password=secret&name=x", "redis+sentinel://h/main?"),
        ("mongodb://h/?tlsCertificateKeyFilePassword=secret", "mongodb://h/?"),
        ("mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:secret", "mongodb://h/?"),
    ],
)
def test_no_secret_of_a_lease_store_is_shown(leases: str, shown: str | None) -> None:
    found = shown_leases(settings_from({}, overrides={"leases": leases}))
    assert (found or "").startswith(shown or "")
    assert "secret" not in (found or "")


def test_a_node_says_that_its_leases_are_in_the_store(folder: Path, url: str) -> None:
    with started("scheduler", "jobs.toml", "--store", url, folder=folder) as process:
        assert "where=store" in process.wait_for("serving leases")


@pytest.mark.redis
def test_leases_in_redis_are_seen_by_who_looks_there(folder: Path, url: str, redis_server: Address) -> None:
    leases = f"{redis_server.url}?name={uuid4().hex}"
    with started("scheduler", "jobs.toml", "--leases", leases, "--store", url, folder=folder) as process:
        assert f'where="{leases}"' in process.wait_for("serving leases")
        process.wait_to_lead(range(8))
        found = called_json("status", "--leases", leases, "--store", url)
        assert found["leases"] == {"url": leases, "trouble": None}
        assert {str(process.pid) in one["holder"] for one in found["shards"]} == {True}
        assert all(0 < one["expires_in_s"] <= 10 for one in found["shards"])
        assert {one["lineage"].partition(":")[0] for one in found["shards"]} == {"redis"}
        result = call("doctor", "jobs.toml", "--leases", leases, "--store", url)
        assert "fleet" not in result.stdout
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    status = called_json("status", "--leases", leases, "--store", url)
    assert {one["holder"] for one in status["shards"]} == {None}


def test_doctor_warns_of_a_lease_store_that_does_not_answer(folder: Path, used: str) -> None:
    options = ("--only", "dst", "--leases", NOWHERE, "--store", used)
    result = call("doctor", "jobs.toml", *options)
    assert result.exit_code == 0
    assert "warn     fleet      the lease store did not answer (" in result.stdout
    assert "secret" not in result.output
    assert call("doctor", "jobs.toml", *options, "--strict").exit_code == 1
    assert "did not answer" in called_json("doctor", "jobs.toml", *options)["fleet"]["trouble"]
