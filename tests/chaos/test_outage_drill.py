"""All schedulers and workers are gone for a while; then each way of catching up does what it says.

Real processes on real stores, killed without a word. An hour is shortened to less than a minute by short
periods and short windows; what is judged is the same.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fencepost.stores.postgres import migrate
from tests.chaos.fleet import ROOT, Member, eventually
from tests.chaos.outage_app import LATEST_S, TARGET_IS_DOWN
from tests.servers.postgres import PostgresServer

OUTAGE_S = 52.0
SCHEDULES = ("none", "latest", "sequential", "parallel", "gated")
OPEN = ("planned", "ready", "running")
TARGET = "tests.chaos.outage_app:app"

pytestmark = [pytest.mark.proof, pytest.mark.chaos, pytest.mark.postgres, pytest.mark.timeout(500)]


class Drill:
    """The store, the files of the effects, and the processes."""

    def __init__(self, folder: Path, url: str) -> None:
        folder.mkdir()
        self.folder = folder
        self.url = url
        self.members: list[Member] = []

    def start(self, *roles: str) -> None:
        for role in roles:
            place = len(self.members), self.url, self.folder
            self.members.append(Member(role, *place, TARGET, FENCEPOST_TEST_DRILL=str(self.folder)))

    def kill_all(self) -> None:
        for one in self.members:
            if one.alive:
                one.kill()

    def ask(self, *words: str, expect: int | None = 0) -> Any:
        """What a command says, as JSON."""
        done = subprocess.run(
            [sys.executable, "-m", "fencepost", *words, "--json", "--store", self.url],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=60,
        )
        assert expect is None or done.returncode == expect, done.stderr + done.stdout
        return json.loads(done.stdout) if done.stdout.strip() else None

    def runs(self, schedule: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("runs", "list", "--schedule", schedule, "--limit", "10000")
        return found[::-1]

    def effects(self, schedule: str) -> list[str]:
        path = self.folder / f"{schedule}.effects"
        return path.read_text().split() if path.exists() else []

    def logs(self) -> str:
        return "".join(f"--- {one.name}\n{one.log[-3_000:]}\n" for one in self.members)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    server = PostgresServer(durable=True)
    yield server
    server.close()


@pytest.fixture
def drills(tmp_path: Path, server: PostgresServer) -> Iterator[list[Drill]]:
    url = server.create_empty_database()
    asyncio.run(migrate(url, shards=8))
    drills = [
        Drill(tmp_path / "sqlite", f"sqlite:///{tmp_path}/fencepost.db"),
        Drill(tmp_path / "postgres", url),
    ]
    yield drills
    for drill in drills:
        drill.kill_all()


def test_after_an_outage_each_mode_does_what_it_says_and_every_count_is_exact(drills: list[Drill]) -> None:
    """On both stores at once: most of it is waiting."""
    with ThreadPoolExecutor(len(drills)) as threads:
        for ended in [threads.submit(asyncio.run, _drill(one)) for one in drills]:
            ended.result()


async def _drill(drill: Drill) -> None:
    drill.start("scheduler", "worker")
    await eventually(lambda: _all_have_run(drill), "every schedule has run", 60, drill.logs)
    drill.kill_all()
    first_started_at = _now()
    (drill.folder / TARGET_IS_DOWN).touch()
    await asyncio.sleep(OUTAGE_S)
    ended_at = _now()
    drill.start("scheduler")
    await eventually(lambda: _planned(drill, ended_at), "the gap is planned", 60, drill.logs)
    drill.start("worker", "worker")

    await eventually(lambda: _gate_is_closed(drill), "the gate closes on the failing target", 60, drill.logs)
    await eventually(
        lambda: _settled(drill, ended_at, SCHEDULES[:-1]), "the rest is caught up", 90, drill.logs
    )
    await eventually(lambda: _runs_again(drill, first_started_at), "the latest runs", 60, drill.logs)
    gap = {one: _within(drill.runs(one), first_started_at, ended_at) for one in SCHEDULES}
    _check_none(gap["none"])
    _check_latest([one for one in drill.runs("latest") if one["fire_time"] > first_started_at])
    _check_in_turn(gap["sequential"], at_once=1)
    _check_in_turn(gap["parallel"], at_once=3)

    (drill.folder / TARGET_IS_DOWN).unlink()
    drill.ask("gate", "open", "gated", "--reason", "the target is back")
    await eventually(lambda: _settled(drill, ended_at, SCHEDULES), "what was held has run", 60, drill.logs)
    _check_gated(_within(drill.runs("gated"), first_started_at, ended_at))
    assert drill.ask("gate", "list") == []
    _check_accounts(drill)


def _check_none(gap: list[dict[str, Any]]) -> None:
    """Nothing older than five seconds runs, and nothing of it is a catch-up run."""
    assert {one["origin"] for one in gap} <= {"live"}
    ran = [one for one in gap if one["state"] == "succeeded"]
    assert len(ran) <= 3, ran


def _check_latest(since: list[dict[str, Any]]) -> None:
    """Of the late ticks at most the newest runs; all that are older than the first that runs are missed."""
    ran = [one for one in since if one["state"] == "succeeded"]
    assert ran
    assert sum(one["origin"] == "catch_up" for one in ran) <= 1
    older = [one for one in since if one["fire_time"] < ran[0]["fire_time"]]
    assert 2 <= len(older) <= OUTAGE_S / LATEST_S + 1
    assert {one["state"] for one in older} <= {"missed", "skipped"}
    skipped = [one for one in older if one["state"] == "skipped"]
    assert all(one["blocked_by"] for one in skipped), "only for a run that the outage cut short"
    assert len(skipped) <= 1


def _check_in_turn(gap: list[dict[str, Any]], at_once: int) -> None:
    """All within the window run as catch-up runs, oldest first, so many at a time."""
    caught_up = [one for one in gap if one["origin"] == "catch_up"]
    assert len(caught_up) >= 5
    assert {one["state"] for one in caught_up} == {"succeeded"}
    assert {one["priority"] for one in caught_up} == {5}
    started = sorted(caught_up, key=lambda one: str(one["started_at"]))
    assert [one["fire_time"] for one in started] == sorted(one["fire_time"] for one in caught_up)
    for one in caught_up:
        under_way = [other for other in caught_up if _is_under_way(other, _time(one["started_at"]))]
        assert len(under_way) <= at_once, under_way


def _check_gated(gap: list[dict[str, Any]]) -> None:
    """Some failed until the gate closed; after it was opened the held ones ran."""
    states = Counter(one["state"] for one in gap if one["origin"] == "catch_up")
    assert states["dead"] >= 2
    assert states["succeeded"] >= 3


def _check_accounts(drill: Drill) -> None:
    """The audit finds nothing, completeness is whole, and no effect happened twice."""
    report = drill.ask("audit", "--from", "1h")
    assert {one["schedule_id"] for one in report["schedules"]} == set(SCHEDULES)
    for one in report["schedules"]:
        assert one["recorded"] == one["expected"] > 0, one
    for schedule in SCHEDULES:
        assert max(Counter(drill.effects(schedule)).values()) == 1, schedule


async def _all_have_run(drill: Drill) -> bool:
    return all(drill.effects(one) for one in SCHEDULES)


async def _gate_is_closed(drill: Drill) -> bool:
    return [one["schedule_id"] for one in drill.ask("gate", "list")] == ["gated"]


async def _planned(drill: Drill, until: str) -> bool:
    return all(any(one["fire_time"] > until for one in drill.runs(name)) for name in SCHEDULES)


async def _runs_again(drill: Drill, since: str) -> bool:
    """The newest late tick may have given way to one that was due after the outage."""
    return any(one["fire_time"] > since and one["state"] == "succeeded" for one in drill.runs("latest"))


async def _settled(drill: Drill, until: str, schedules: tuple[str, ...]) -> bool:
    waiting = [
        one
        for schedule in schedules
        for one in drill.runs(schedule)
        if one["fire_time"] <= until and one["state"] in OPEN
    ]
    return not waiting


def _within(runs: list[dict[str, Any]], since: str, until: str) -> list[dict[str, Any]]:
    return [one for one in runs if since < one["fire_time"] <= until]


def _is_under_way(run: dict[str, Any], moment: datetime) -> bool:
    return _time(run["started_at"]) <= moment < _time(run["finished_at"])


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _now() -> str:
    """The time by which both ledgers count: that of this machine."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
