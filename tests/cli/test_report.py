"""`fencepost report` writes down what happened, and hides nothing behind its bounds."""

import json
import re
from pathlib import Path

import pytest

from fencepost.cli import report_facts
from tests.cli.beats import beat, keys, spoil
from tests.cli.calls import call, called, called_json, refused

FAIL = "UPDATE runs SET state = 'dead', error = ? WHERE run_key = ?"
MISS = "UPDATE runs SET state = 'missed', reason = 'too late' WHERE run_key = ?"
DELETE = "DELETE FROM runs WHERE run_key = ?"
RETRIED = """
    UPDATE runs SET state = 'ready', finished_at = NULL, due_at = run_at,
        first_started_at = run_at + 120000000,
        run_at = run_at + 3600000000
    WHERE run_key = ?
"""
LED = """
    INSERT INTO terms (shard, epoch, holder, lineage, since, until)
    VALUES (?, ?, ?, 'store', ?, ?)
"""
HOUR_US = 3_600_000_000
TITLES = [
    *("What fired", "What was wrong", "What was late", "What was missed", "What died", "Who led"),
    *("Whose late plans were refused", "What people did"),
]


@pytest.fixture
def beaten(url: str) -> str:
    """The address of a store in which a schedule `beat` has fired a dozen times."""
    beat(url)
    return url


def page(store: str, *options: str) -> dict[str, str]:
    """The page by its titles."""
    text = called("report", "--tz", "UTC", "--store", store, *options)
    first, *sections = text.split("\n## ")
    assert first.startswith("# 20")
    return {title: body for title, _, body in (one.partition("\n\n") for one in sections)}


def test_every_kind_of_trouble_is_on_the_page(beaten: str) -> None:
    dead, missed, gone = keys(beaten)[2:5]
    spoil(beaten, FAIL, "ValueError: a | b <script>\nmore", dead)
    spoil(beaten, MISS, missed)
    spoil(beaten, DELETE, gone)
    called("freeze", "--schedule", "beat", "--reason", "wrong amounts", "--store", beaten)
    found = page(beaten)
    assert list(found) == TITLES
    # A tick more may be due by now.
    assert re.search(r"\n1\d ticks expected, \d+ ran, 9\d\.\d\d% accounted for: ", found["What fired"])
    assert "1 dead, 1 missed | 1 missing |" in found["What fired"]
    assert "| missing | beat | " in found["What was wrong"]
    assert f"| {missed} | " in found["What was missed"]
    assert "| too late |" in found["What was missed"]
    assert f"| {dead} | 1 | " in found["What died"]
    assert r"| ValueError: a \| b \<script\> |" in found["What died"]
    assert "| freeze | schedule beat | wrong amounts |" in found["What people did"]
    assert found["Whose late plans were refused"] == "Nothing.\n"


def test_what_began_late_is_listed_however_often_it_was_tried(beaten: str) -> None:
    late = keys(beaten)[2]
    spoil(beaten, RETRIED, late)
    assert re.search(rf"\| {late} \| .*:\d\d UTC \| .*:\d\d UTC \| 2m \|", page(beaten)["What was late"])
    shown = called("runs", "show", late, "--tz", "UTC", "--store", beaten)
    words = dict(re.split(r"  +", line, maxsplit=1) for line in shown.splitlines() if "  " in line)
    assert words["due"] == words["fire time"] < words["first started"] < words["next attempt"]
    assert words["late"] == "2m"


def test_a_quiet_time_has_a_page_too(beaten: str) -> None:
    found = page(beaten, "--from", "2026-01-01", "--to", "2026-01-02")
    assert {title: body.strip() for title, body in found.items() if title != "What fired"} == dict.fromkeys(
        TITLES[1:], "Nothing."
    )
    assert "0 ticks expected" in found["What fired"]


def test_only_the_range_that_was_asked_for_is_told(beaten: str) -> None:
    victims = keys(beaten)[2:7]
    for victim in victims:
        spoil(beaten, FAIL, "boom", victim)
    first, last = (victims[place].split("#")[1] for place in (1, 3))
    found = called_json("report", "--from", first, "--to", last, "--store", beaten)
    assert (found["since"], found["until"], found["expected"]) == (first, last, 3)
    assert sorted(one["run_key"] for one in found["dead"]["items"]) == victims[1:4]
    assert found["dead"]["count"] == 3


def test_who_led_then_is_told_and_nobody_else(beaten: str) -> None:
    now_us = int(Path(beaten.removeprefix("sqlite:///")).stat().st_mtime * 1_000_000)
    for epoch, shard, holder, since, until in (
        (7, 0, "web-1", -10, -5),
        (8, 0, "web-2", -5, -1),
        (7, 1, "web-2", -5, -1),
        (9, 0, "web-3", -1, None),
    ):
        end = None if until is None else now_us + until * HOUR_US
        spoil(beaten, LED, shard, epoch, holder, now_us + since * HOUR_US, end)
    led = page(beaten, "--from", "4h", "--to", "2h")["Who led"]
    assert "| web-2 | 0-1 | 7 to 8 | " in led
    assert "web-1" not in led
    assert "web-3" not in led
    assert "| web-3 | 0 | 9 | " in page(beaten, "--from", "1h")["Who led"]


def test_what_is_not_shown_is_counted(beaten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_facts, "LISTED_MAX", 2)
    for victim in keys(beaten)[:5]:
        spoil(beaten, FAIL, "boom", victim)
    died = page(beaten)["What died"]
    assert died.count("boom") == 2
    assert died.endswith("And 3 more.\n")
    found = json.loads(call("report", "--json", "--store", beaten).stdout)
    assert (len(found["dead"]["items"]), found["dead"]["count"]) == (2, 5)


def test_what_was_not_looked_at_is_not_called_on_time(beaten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Only the newest" not in page(beaten)["What was late"]
    monkeypatch.setattr(report_facts, "READ_MAX", 3)
    monkeypatch.setattr(report_facts, "LIMIT_MAX", 3)
    assert "Only the newest 3 runs of the range were looked at." in page(beaten)["What was late"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--from", "1h", "--to", "2h"), "--to: expected a time that is not before --from"),
        (("--from", "yesterday"), "--from: "),
        (("--to", "soon"), "--to: "),
    ],
)
def test_a_range_that_is_none_is_refused(beaten: str, arguments: tuple[str, ...], said: str) -> None:
    assert said in refused("report", *arguments, "--store", beaten)
