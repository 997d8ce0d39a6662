"""Schedules and calendars through a server: the same words, documents and exit codes as at the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.by_server import Place, served, told

NIGHTLY = (
    *("--job", "report", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--gap", "skip", "--spread", "10m"),
    *("--catch-up", "sequential", "--max-lateness", "2d", "--gate", "of_last=20", "--label", "team=ops"),
    *("--payload", '{"region": "us"}', "--end", "2030-01-01"),
)
CLOSING = ("--job", "report", "--business-day", "-1", "--at-time", "18:00", "--calendar", "de")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with served(tmp_path_factory.mktemp("shop")) as found:
        found.here("calendars", "set", "de", "--holiday", "2026-12-25")
        yield found


def test_a_file_is_applied_by_the_server_as_at_the_store(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    file.write_text(
        "".join(f'[schedules.many-{one:03}]\njob = "report"\nevery = "1h"\n' for one in range(250))
    )
    assert json.loads(place.there("schedules", "apply", str(file), "--json").stdout)["unchanged"] == 0
    file.write_text('[schedules.many-000]\njob = "report"\nevery = "2h"\n')
    asked = ("schedules", "apply", str(file), "--prune", "--dry-run")
    assert place.there(*asked).stdout == place.here(*asked).stdout
    pruned = json.loads(place.there("schedules", "apply", str(file), "--prune", "--yes", "--json").stdout)
    assert (len(pruned["removed"]), list(pruned["changed"])) == (249, ["many-000"])


@pytest.mark.parametrize(
    "question",
    [
        ("schedules", "list", "--label", "team=nobody"),
        ("schedules", "list", "--state", "gone"),
        ("schedules", "show", "nightly"),
        ("schedules", "history", "report"),
        ("schedules", "history", "report", "--json"),
        ("schedules", "add", "report", *NIGHTLY),
        ("schedules", "add", "broken", "--job", "report", "--cron", "99 * * * *"),
        ("schedules", "add", "broken", "--job", "nobody", "--every", "1h"),
        ("schedules", "add", "broken", *CLOSING[:-1], "nowhere"),
        ("schedules", "edit", "report"),
        ("schedules", "edit", "report", "--every", "5m", "--gap", "skip"),
        ("schedules", "edit", "reprt", "--every", "5m"),
        ("schedules", "resume", "report"),
        ("schedules", "skip", "report", "2030-01-01T00:31:00Z"),
        ("schedules", "skip", "report", "soon"),
        ("calendars", "list"),
        ("calendars", "list", "--json"),
        ("calendars", "show", "de"),
        ("calendars", "show", "dee"),
        ("calendars", "set", "de", "--weekend", "none", "--dry-run"),
        ("calendars", "set", "de", "--years", "2026"),
    ],
    ids=" ".join,
)
def test_a_server_says_what_the_store_says(question: tuple[str, ...], place: Place) -> None:
    assert told(place.there(*question)) == told(place.here(*question))


def test_a_schedule_is_the_same_however_it_is_added(place: Place) -> None:
    here, there = (
        json.loads(one("schedules", "add", name, *NIGHTLY, "--json").stdout)
        for one, name in ((place.here, "here"), (place.there, "there"))
    )
    for one in (here, there):
        del one["schedule_id"], one["planned_through"], one["updated_at"], one["shard"]
    assert list(there) == list(here)
    assert there == here


def test_an_edit_through_a_server_is_previewed_and_made(place: Place) -> None:
    assert place.there("schedules", "add", "weekly", *NIGHTLY).exit_code == 0
    edit = ("schedules", "edit", "weekly", "--cron", "45 2 * * *", "--spread", "none", "--end", "none")
    code, said, _ = told(place.there(*edit, "--dry-run"))
    assert (code, said.splitlines()[0]) == (0, "schedule weekly: dry run, nothing is written")
    assert '  spread: "10m" -> nothing' in said.splitlines()
    assert told(place.there(*edit))[:2] == (0, "schedule weekly: version 2\n")
    assert told(place.there(*edit))[:2] == (0, "schedule weekly: unchanged\n")
    shown = json.loads(place.here("schedules", "show", "weekly", "--json").stdout)
    assert (shown["version"], "spread" in shown, shown["trigger"]["kind"]) == (2, False, "cron")


def test_a_schedule_is_paused_resumed_triggered_and_removed_through_a_server(place: Place) -> None:
    assert place.there("schedules", "add", "a/b:c", "--job", "report", "--every", "1h").exit_code == 0
    assert told(place.there("schedules", "pause", "a/b:c", "--reason", "the disk is full")) == (
        0,
        "schedule a/b:c: paused\n",
        "",
    )
    assert told(place.here("schedules", "list", "--state", "paused"))[1].count("a/b:c") == 1
    (entry,) = json.loads(place.here("log", "--action", "schedule.pause", "--json").stdout)
    assert (entry["author"], entry["reason"]) == ("anna", "the disk is full")
    resumed = place.there("schedules", "resume", "a/b:c")
    assert told(resumed)[:2] == (0, "schedule a/b:c: active; nothing of the pause fires\n")
    key = place.there("schedules", "trigger", "a/b:c").stdout.strip()
    assert place.here("runs", "show", key).exit_code == 0
    assert told(place.there("schedules", "remove", "a/b:c"))[:2] == (0, "schedule a/b:c: removed\n")
    assert place.here("schedules", "show", "a/b:c").exit_code == 2


def test_a_tick_is_held_released_and_skipped_through_a_server(place: Place) -> None:
    when = ("report", "2030-01-01T01:30", "--tz", "UTC")
    for verb, said in (("hold", "held"), ("release", "released"), ("skip", "skipped")):
        code, told_of, _ = told(place.there("schedules", verb, *when))
        assert (code, told_of.partition(": ")[2]) == (0, f"{said}\n")


def test_a_calendar_is_written_used_and_removed_through_a_server(place: Place) -> None:
    code, said, _ = told(
        place.there("calendars", "set", "plant", "--weekend", "SUN", "--holiday", "2026-12-24")
    )
    assert (code, said.splitlines()) == (
        0,
        [
            "calendar plant: revision 1; 1 holiday through 2026; 0 schedules use it",
            "  + 2026-12-24 Thu holiday",
        ],
    )
    assert place.there("schedules", "add", "closing", *CLOSING[:-1], "plant").exit_code == 0
    assert "is used by closing" in place.there("calendars", "remove", "plant").stderr
    assert place.there("schedules", "remove", "closing").exit_code == 0
    assert told(place.there("calendars", "remove", "plant"))[:2] == (0, "calendar plant: removed\n")
