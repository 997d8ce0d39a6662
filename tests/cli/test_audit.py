"""`fencepost audit` finds what somebody planted, and nothing in a ledger that nobody touched."""

import json

import pytest

from tests.cli.beats import TICKS, beat, keys, spoil
from tests.cli.calls import call, called, called_json, refused

PROMISED = [
    *(
        "since",
        "until",
        "expected",
        "recorded",
        "due",
        "accounted",
        "succeeded",
        "run_completeness",
        "run_accounted",
        "success_share",
    ),
    *("faults", "counts", "repaired", "schedules"),
]
DELETE = "DELETE FROM runs WHERE run_key = ?"
STICK = "UPDATE runs SET state = 'running', finished_at = NULL, alive_until = started_at WHERE run_key = ?"
DOUBLE = """
    INSERT INTO runs (namespace, run_key, schedule_id, job, fire_time, version, state, attempt, fence, epoch,
                      queue, priority, run_at, started_at, finished_at, first_started_at)
    SELECT namespace, replace(run_key, 'Z#1', 'Z#2'), schedule_id, job, fire_time, 2, state, attempt,
           fence + 100, epoch, queue, priority, run_at, started_at, finished_at, first_started_at
      FROM runs WHERE run_key = ?
"""
AGAIN = "UPDATE runs SET attempt = 2 WHERE run_key = ?"
SUCCESS = """
    INSERT INTO attempts (namespace, run_key, attempt, fence, finished_at, outcome, output)
    SELECT namespace, run_key, 1, 1, finished_at, 'succeeded', 'done' FROM runs WHERE run_key = ?
"""

COUNT_THREE = """
    INSERT INTO missed_ranges (namespace, schedule_id, version, first_at, last_at, through, ticks, reason)
    SELECT namespace, schedule_id, 1, min(fire_time), max(fire_time), max(fire_time), 3, 'too late'
      FROM runs WHERE run_key IN (?, ?)
"""


@pytest.fixture
def beaten(url: str) -> str:
    """The address of a store that a beat has used; nobody is alive any more."""
    beat(url)
    return url


def found(url: str, *options: str) -> tuple[int, dict[str, int]]:
    """The exit code, and what was found."""
    result = call("audit", "--store", url, "--json", *options)
    counts = json.loads(result.stdout)["counts"]
    return result.exit_code, {kind: count for kind, count in counts.items() if count}


def test_a_clean_ledger_is_fine(beaten: str) -> None:
    assert found(beaten) == (0, {})
    assert found(beaten, "beat") == (0, {})
    report = called_json("audit", "--store", beaten)
    assert list(report) == PROMISED
    assert report["expected"] == report["recorded"] >= report["accounted"] >= TICKS
    assert report["schedules"][0]["states"]["succeeded"] == TICKS
    assert "no findings" in called("audit", "--store", beaten)


@pytest.mark.parametrize(
    ("statements", "kind"),
    [
        ([DELETE], "missing"),
        ([STICK], "uncertain"),
        ([DOUBLE], "doubled"),
        ([AGAIN, SUCCESS], "doubled"),
    ],
)
def test_a_planted_fault_is_found_and_named(beaten: str, statements: list[str], kind: str) -> None:
    victim = keys(beaten)[4]
    for statement in statements:
        spoil(beaten, statement, victim)
    assert found(beaten) == (1, {kind: 1})
    shown = call("audit", "beat", "--store", beaten, "--tz", "UTC")
    assert shown.exit_code == 1
    assert f"1 {kind}" in shown.stdout
    assert victim[5:24].replace("T", " ") in shown.stdout


def test_a_miscounted_range_is_found(beaten: str) -> None:
    first, last = keys(beaten)[3:5]
    spoil(beaten, COUNT_THREE, first, last)
    for key in (first, last):
        spoil(beaten, DELETE, key)
    assert found(beaten) == (1, {"miscounted": 1})


def test_what_is_missing_is_repaired_once_and_in_the_callers_name(beaten: str) -> None:
    victims = keys(beaten)[4:6]
    for victim in victims:
        spoil(beaten, DELETE, victim)
    repair = ("audit", "beat", "--repair", "--reason", "rows were lost", "--store", beaten)
    report = called_json(*repair)
    assert (report["repaired"], report["counts"]["missing"]) == (victims, 2)
    entry = called_json("log", "--store", beaten)[0]
    assert (entry["action"], entry["reason"]) == ("run.restore", "rows were lost")
    assert found(beaten)[1].get("missing") is None
    assert called_json("audit", "--from", "1m", "--repair", "--store", beaten)["repaired"] == []


def test_a_repair_does_not_hide_other_faults(beaten: str) -> None:
    gone, silent = keys(beaten)[4:6]
    spoil(beaten, DELETE, gone)
    spoil(beaten, STICK, silent)
    result = call("audit", "--repair", "--store", beaten)
    assert result.exit_code == 1
    assert f"planned: {gone}" in result.stdout


def test_only_the_range_that_was_asked_for_is_judged(beaten: str) -> None:
    victim = keys(beaten)[4]
    fire_time = victim.split("#")[1]
    spoil(beaten, DELETE, victim)
    assert found(beaten, "--from", fire_time, "--to", fire_time) == (1, {"missing": 1})
    assert found(beaten, "--from", "30s")[0] == 0
    assert found(beaten, "--from", "2026-01-01", "--to", "2026-02-01") == (0, {})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("audit", "beatt"), "did you mean beat?"),
        (("audit", "--from", "1h", "--to", "2h"), "--to: "),
        (("audit", "--from", "yesterday"), "--from: "),
        (("audit", "--to", "tomorrow"), "--to: "),
        (("why", "beatt", "2026-03-01"), "did you mean beat?"),
        (("why", "beatt"), "did you mean beat?"),
        (("why", "beat", "yesterday"), "TIME: "),
        (("why", "report#no"), "not found"),
        (("runs", "stuck", "--older-than", "ages"), "--older-than: "),
    ],
)
def test_what_cannot_be_asked_is_refused(beaten: str, arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*arguments, "--store", beaten)


def test_a_stuck_run_is_listed_by_job_and_age(beaten: str) -> None:
    none = call("runs", "stuck", "--store", beaten)
    assert (none.exit_code, none.stdout) == (0, "")
    young, old = keys(beaten)[6], keys(beaten)[2]
    for victim in (young, old):
        spoil(beaten, STICK, victim)
    result = call("runs", "stuck", "--older-than", "1h", "--store", beaten, "--json")
    assert result.exit_code == 1
    listed = json.loads(result.stdout)
    assert [one["run_key"] for one in listed] == [old, young]
    assert list(listed[0])[:3] == ["why", "age_s", "run_key"]
    assert "silent" in listed[0]["why"]
    assert old in call("runs", "stuck", "--store", beaten).stdout


def test_a_story_is_told_by_schedule_and_time_and_by_key(beaten: str) -> None:
    victim = keys(beaten)[4]
    fire_time = victim.split("#")[1]
    explanation = called_json("why", "beat", fire_time, "--store", beaten)
    assert list(explanation) == ["schedule_id", "fire_time", "verdict", "sentences", "remedies", "run_keys"]
    assert (explanation["verdict"], explanation["run_keys"]) == ("succeeded", [victim])
    assert called_json("why", victim, "--store", beaten) == explanation
    spoil(beaten, DELETE, victim)
    shown = called("why", "beat", fire_time.removesuffix("Z"), "--tz", "UTC", "--store", beaten)
    assert "missing" in shown.splitlines()[0]
    assert "--repair" in shown


def test_without_a_time_it_is_the_latest_tick(beaten: str) -> None:
    called("schedules", "pause", "beat", "--store", beaten)
    victim = max(keys(beaten))
    explanation = called_json("why", "beat", "--store", beaten)
    assert explanation == called_json("why", victim, "--store", beaten)
    assert (explanation["verdict"], explanation["run_keys"]) == ("succeeded", [victim])


def test_the_latest_tick_is_told_also_where_there_is_no_row_of_it(beaten: str) -> None:
    called("schedules", "pause", "beat", "--store", beaten)
    victim = max(keys(beaten))
    spoil(beaten, DELETE, victim)
    explanation = called_json("why", "beat", "--store", beaten)
    assert (explanation["fire_time"], explanation["verdict"]) == (victim.split("#")[1], "missing")


def test_without_a_schedule_it_is_the_latest_run_of_the_job(used: str) -> None:
    explanation = called_json("why", "burn", "--store", used)
    assert (explanation["schedule_id"], explanation["verdict"], explanation["run_keys"]) == (
        None,
        "dead",
        ["burn#bad"],
    )


def test_a_tick_to_come_is_not_the_latest(used: str) -> None:
    called("schedules", "add", "later", "--job", "report", "--at", "2999-01-01T00:00:00Z", "--store", used)
    assert "none of its ticks has been due" in refused("why", "later", "--store", used)
