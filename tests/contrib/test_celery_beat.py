"""Beats that survive: real beats and a real worker on Redis, and one ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid5

import pytest

from fencepost.executors.celery import IDS
from tests.cli.calls import called_json
from tests.cli.processes import SIGINT, SIGKILL, SIGTERM
from tests.contrib.celery_processes import Notes, beat, celery, worker
from tests.servers.process import Address

pytestmark = pytest.mark.redis


@pytest.fixture
def notes(redis_server: Address) -> Iterator[Notes]:
    found = Notes(redis_server.url)
    yield found
    found.close()


def succeeded(store: str) -> set[str]:
    runs = called_json("runs", "list", "--limit", "1000", "--store", store, "--namespace", "project")
    return {str(one["run_key"]) for one in runs if one["state"] == "succeeded"}


def test_of_two_beats_each_tick_comes_once_and_one_may_be_killed(notes: Notes, tmp_path: Path) -> None:
    """Two beats as processes, ticks a second apart, and the lease of the killed one."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with worker(notes.url), beat(notes.url, store) as first, beat(notes.url, store) as second:
        first.wait_for("node started")
        second.wait_for("node started")
        notes.take(3)
        first.signal(SIGKILL)
        notes.take(4)
        second.signal(SIGTERM)
        assert second.ended() == 0, second.said
        assert "Traceback" not in first.said + second.said
    keys = [one["run_key"] for one in notes.all]
    assert len(set(keys)) == len(keys) == 7
    assert [one["task_id"] for one in notes.all] == [str(uuid5(IDS, f"project/{key}")) for key in keys]
    assert len(set(keys) & succeeded(store)) >= 6, "what a killed beat had in hand comes to its end later"


def test_ctrl_c_stops_a_beat_and_its_node(notes: Notes, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with beat(notes.url, store) as process:
        process.wait_for("run succeeded")
        process.signal(SIGINT)
        assert process.ended() == 0, process.said
    assert "node stopped" in process.said
    assert "Traceback" not in process.said
    assert called_json("status", "--store", store)["nodes"] == []


@pytest.mark.proof
def test_a_store_that_is_away_is_one_line_and_patience(notes: Notes, tmp_path: Path) -> None:
    with beat(notes.url, "postgresql://nobody@127.0.0.1:1/none") as process:
        process.wait_for("waiting for the store")
        process.signal(SIGTERM)
        assert process.ended() == 0, process.said
    assert process.said.count("waiting for the store") == 1
    assert "Traceback" not in process.said


@pytest.mark.proof
def test_an_entry_that_is_gone_from_the_code_is_named_with_the_mend(notes: Notes, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    said = list[str]()
    for entries in ("2", "1"):
        with beat(notes.url, store, CELERY_PROJECT_ENTRIES=entries) as process:
            process.wait_for("run succeeded")
            process.signal(SIGTERM)
            assert process.ended() == 0, process.said
            said += process.lines
    (line,) = [one for one in said if "no entry of the code" in one]
    assert "beat/each-second-1" in line
    assert 'remedy="fencepost schedules remove beat/each-second-1"' in line


def test_a_mistake_is_one_line_and_exit_2(notes: Notes) -> None:
    words = ("-q", "beat", "-S", "fencepost.contrib.celery:Scheduler")
    with celery(*words, place=notes.url, FENCEPOST_STORE="mysql://u:secret@host/db") as process:
        assert process.ended() == 2
    assert 'fencepost: store "mysql://…": expected sqlite:///' in process.lines[-1]
    assert "Traceback" not in process.said
    assert "secret" not in process.said
