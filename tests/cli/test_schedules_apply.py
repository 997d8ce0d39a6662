"""`fencepost schedules apply`: the store gets what a file has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fencepost.cli.applying import BATCH, _batches
from fencepost.cli.main import cli
from fencepost.cli.options import Place
from fencepost.operations.applying import ScheduleEntry
from tests.cli.calls import RUNNER, call, called, called_json, refused

TWO = """
[schedules.hourly]
job = "report"
every = "1h"
payload = { region = "eu" }

[schedules.nightly]
job = "report"
cron = "30 2 * * *"
tz = "Europe/Berlin"
catch_up = { mode = "latest", max_lateness = "6h" }
spread = "5m"
labels = { team = "ops" }
"""
TAKEN_BY_A_SERVER = 256 * 1024
LATER = TWO.replace("30 2", "45 2").replace("[schedules.hourly]", "[schedules.weekly]")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "customers.toml"
    written.write_text(TWO)
    return written


def apply(url: str, file: object, *options: str) -> Any:
    return called_json("schedules", "apply", str(file), *options, "--store", url)


def listed(url: str) -> dict[str, Any]:
    return {one["schedule_id"]: one for one in called_json("schedules", "list", "--store", url)}


def test_a_file_is_applied_and_applied_again_it_changes_nothing(used: str, file: Path) -> None:
    made = apply(used, file)
    assert made == {
        "created": ["hourly", "nightly"],
        "changed": {},
        "removed": [],
        "unchanged": 0,
        "dry_run": False,
    }
    nightly = listed(used)["nightly"]
    assert nightly["trigger"]["expression"] == "30 2 * * *"
    assert (nightly["catch_up"]["max_lateness_s"], nightly["spread"]) == (21600.0, "5m")
    assert nightly["labels"] == {"team": "ops", "applied-from": "customers.toml"}
    assert apply(used, file)["unchanged"] == 2
    assert {one["version"] for one in listed(used).values()} == {1}


def test_a_dry_run_shows_the_difference_and_writes_nothing(used: str, file: Path) -> None:
    apply(used, file)
    file.write_text(LATER)
    before = listed(used)
    lines = called("schedules", "apply", str(file), "--dry-run", "--prune", "--store", used).splitlines()
    assert lines == [
        "+ weekly",
        "~ nightly",
        '    trigger.expression: "30 2 * * *" -> "45 2 * * *"',
        "- hourly",
        "= 1 created, 1 changed, 0 unchanged, 1 removed; dry run, nothing is written",
    ]
    assert listed(used) == before


def test_prune_removes_what_this_source_no_longer_has_and_nothing_else(used: str, file: Path) -> None:
    other = file.with_name("others.toml")
    other.write_text(TWO.replace("hourly", "other-hourly").replace("nightly", "other-nightly"))
    apply(used, file)
    apply(used, other)
    called("schedules", "add", "by-hand", "--job", "report", "--every", "1h", "--store", used)
    file.write_text(LATER)
    assert apply(used, file)["removed"] == []
    assert "hourly" in listed(used)
    assert "say --yes" in refused("schedules", "apply", str(file), "--prune", "--store", used)
    assert "hourly" in listed(used)
    assert apply(used, file, "--prune", "--yes")["removed"] == ["hourly"]
    assert set(listed(used)) == {"weekly", "nightly", "other-hourly", "other-nightly", "by-hand", "report"}


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_a_file_without_schedules_does_not_prune_everything(used: str, file: Path, text: str) -> None:
    apply(used, file)
    before = listed(used)
    file.write_text(text)
    told = refused("schedules", "apply", str(file), "--prune", "--yes", "--store", used)
    assert "has no schedules" in told
    assert listed(used) == before


def test_what_comes_by_stdin_is_pruned_only_under_a_name(used: str) -> None:
    assert "--source" in refused("schedules", "apply", "-", "--prune", "--yes", "--store", used)


def test_an_id_given_twice_is_found_however_far_apart(used: str, tmp_path: Path) -> None:
    one = {"job": "report", "trigger": {"type": "every", "interval": "1h"}}
    entries = [{"schedule_id": f"s{number}", **one} for number in (*range(1_000), 0)]
    written = tmp_path / "many.json"
    written.write_text(json.dumps(entries))
    assert "s0: is given twice" in refused("schedules", "apply", str(written), "--store", used)
    assert set(listed(used)) == {"report"}


def test_nothing_is_written_where_one_entry_is_wrong(used: str, file: Path) -> None:
    file.write_text(TWO + '\n[schedules.bad]\njob = "reprot"\nevery = "1h"\n')
    result = call("schedules", "apply", str(file), "--store", used)
    assert (result.exit_code, result.stdout) == (2, "")
    wrong, summary = result.stderr.splitlines()
    assert wrong.startswith(
        f"{file}: schedule bad: job reprot: not registered in this store; did you mean rep"
    )
    assert summary.startswith(f"fencepost: {file}: 1 of 3 schedules are refused")
    assert set(listed(used)) == {"report"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[schedules.a]\njob = "report"\ncron = "99 * * * *"\n', "[schedules.a] cron"),
        ('[schedules.a]\njob = "report"\nevry = "1h"\n', "evry"),
        ('[schedules.a]\nevery = "1h"\n', "job is missing"),
        ("[schedules.a\n", "not TOML"),
        ("[shedules.a]\n", "shedules"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line(used: str, file: Path, text: str, said: str) -> None:
    file.write_text(text)
    line = refused("schedules", "apply", str(file), "--store", used)
    assert line.startswith(str(file)), line
    assert said in line


def test_a_schedule_of_code_is_not_taken_over(used: str, file: Path) -> None:
    file.write_text('[schedules.report]\njob = "report"\nevery = "2h"\n')
    result = call("schedules", "apply", str(file), "--store", used)
    assert result.exit_code == 2
    assert "schedule report: is deployed by code" in result.stderr


def test_a_schedule_of_code_that_was_removed_is_the_files_for_good(used: str, file: Path) -> None:
    file.write_text('[schedules.report]\njob = "report"\nevery = "2h"\n')
    called("schedules", "remove", "report", "--store", used)
    assert apply(used, file)["created"] == ["report"]
    assert apply(used, file)["unchanged"] == 1


def test_what_a_list_prints_is_applied_from_stdin(used: str, file: Path, tmp_path: Path) -> None:
    apply(used, file)
    text = called("schedules", "list", "--label", "applied-from", "--json", "--store", used)
    result = RUNNER.invoke(
        cli, ["schedules", "apply", "-", "--source", "customers.toml", "--json", "--store", used], input=text
    )
    assert json.loads(result.stdout)["unchanged"] == 2, result.output
    file.with_suffix(".json").write_text(json.dumps([{"schedule_id": "x", "job": "report", "evry": "1h"}]))
    line = refused("schedules", "apply", str(file.with_suffix(".json")), "--store", used)
    assert "schedule x: Object contains unknown field `evry`" in line


def test_requests_to_a_server_are_cut_by_size_and_others_by_number() -> None:
    entries = [
        ScheduleEntry(schedule_id=f"s{number}", job="report", payload={"text": "x" * 1_000})
        for number in range(BATCH + 1)
    ]
    sent = _batches(entries, Place(None, None, server="http://127.0.0.1:1"))
    assert [one for batch in sent for one in batch] == entries
    assert max(len(msgspec.json.encode(batch)) for batch in sent) < TAKEN_BY_A_SERVER
    assert [len(batch) for batch in _batches(entries, Place(None, None))] == [BATCH, 1]


def test_a_file_of_another_namespace_is_refused(used: str, file: Path) -> None:
    file.write_text('namespace = "billing"\n' + TWO)
    told = refused("schedules", "apply", str(file), "--store", used)
    assert "is billing, and would be applied to default; say --namespace billing" in told
    there = call("schedules", "apply", str(file), "--namespace", "billing", "--store", used)
    assert "job report: not registered" in there.stderr


def test_a_source_that_is_no_name_is_refused_before_anything_is_read(used: str, file: Path) -> None:
    assert "--source 'a b'" in refused("schedules", "apply", str(file), "--source", "a b", "--store", used)
    spaced = file.rename(file.with_name("our customers.toml"))
    assert "give one by --source NAME" in refused("schedules", "apply", str(spaced), "--store", used)
