"""A PostgreSQL that may lose what it acknowledged: `doctor` and every process that starts say so.

A real server, set up carelessly. `statement_cache_size=0` is how a pooler is reached: no session can set
anything for itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calls import call, called, called_json
from tests.cli.processes import SIGTERM, started
from tests.servers.ports import free_port
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.postgres

POOLED = "?statement_cache_size=0"
FILES = {
    "PostgreSQL runs with fsync=off": "set fsync = on in postgresql.conf",
    "PostgreSQL runs with full_page_writes=off": "set full_page_writes = on in postgresql.conf",
}
SESSIONS = {
    "sessions commit with synchronous_commit=off": "ALTER ROLE … SET synchronous_commit = on",
    "statements run at repeatable read": "ALTER ROLE … SET default_transaction_isolation = 'read committed'",
}
WARNINGS = {"": FILES, POOLED: FILES | SESSIONS}


@pytest.fixture(scope="module")
def careless() -> Iterator[str]:
    """A store on a server that is fast and forgets."""
    server = PostgresServer(default_transaction_isolation="repeatable read")
    try:
        yield server.create_database()
    finally:
        server.close()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobs.toml").write_text('[jobs.one]\ncommand = ["true"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def remedies_of(what: dict[str, str], expected: dict[str, str]) -> dict[str, str]:
    """Those of what was told that are expected, without the rest of their sentences."""
    return {
        start: remedy
        for start, remedy in expected.items()
        for one in what
        if one.startswith(start) and remedy in what[one]
    }


@pytest.mark.parametrize("more", WARNINGS)
def test_doctor_does_not_keep_a_careless_server_to_itself(careless: str, more: str) -> None:
    arguments = ("doctor", "jobs.toml", "--only", "retention", "--store", careless + more)
    lines = [line for line in called(*arguments).splitlines() if line.startswith("warn     retention")]
    told = {
        one["reason"]: one["remedy"]
        for one in called_json(*arguments)["findings"]
        if one["severity"] == "warn"
    }
    assert (len(lines), len(told)) == (len(WARNINGS[more]), len(WARNINGS[more]))
    assert remedies_of(told, WARNINGS[more]) == WARNINGS[more]
    assert all(f"{reason}; fix: {remedy}" in "\n".join(lines) for reason, remedy in told.items())
    assert call(*arguments, "--strict").exit_code == 1


@pytest.mark.proof
@pytest.mark.parametrize("command", ["run", "scheduler", "worker", "web"])
def test_no_process_starts_on_a_careless_server_in_silence(careless: str, folder: Path, command: str) -> None:
    """Over 5 s on a busy machine: a real process of each kind."""
    bind = ("--bind", f"127.0.0.1:{free_port()}") if command in ("run", "web") else ()
    arguments = (command, "jobs.toml", *bind, "--log-json", "--store", careless + POOLED)
    with started(*arguments, folder=folder) as process:
        process.wait_for('"event": "started"')
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    lines = [json.loads(line) for line in process.lines if '"level": "warning"' in line]
    told = {one["event"]: one["remedy"] for one in lines if "remedy" in one}
    assert remedies_of(told, WARNINGS[POOLED]) == WARNINGS[POOLED]


def test_a_server_that_forgets_nothing_is_not_warned_of() -> None:
    server = PostgresServer(durable=True)
    try:
        arguments = (
            "doctor",
            "jobs.toml",
            "--only",
            "retention",
            "--store",
            server.create_database() + POOLED,
        )
        assert called_json(*arguments)["points"] == {"retention": "ok"}
    finally:
        server.close()
