"""`fencepost calendars`."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.calls import call, called, called_json, refused

BAVARIA = ("--region", "DE-BY", "--years", "2026-2027")


def set_days(url: str, *options: str, name: str = "de") -> Any:
    return called_json("calendars", "set", name, *options, "--store", url)


def show(url: str, name: str = "de") -> Any:
    return called_json("calendars", "show", name, "--store", url)


def test_a_calendar_is_written_and_shown(used: str) -> None:
    set_days(used, "--weekend", "FRI,SAT", "--holiday", "2026-12-25", "--workday", "2026-12-26")
    shown = show(used)
    assert (shown["name"], shown["revision"], shown["known_through"]) == ("de", 1, 2026)
    assert shown["weekend"] == ["FRI", "SAT"]
    assert (shown["holidays"], shown["workdays"]) == (["2026-12-25"], ["2026-12-26"])
    said = called("calendars", "show", "de", "--store", used)
    assert "  holiday  2026-12-25 Fri\n  workday  2026-12-26 Sat\n" in said


def test_set_replaces_all_days_and_says_which(used: str) -> None:
    set_days(used, "--holiday", "2026-12-25", "--holiday", "2026-12-26")
    changed = set_days(used, "--holiday", "2026-12-26", "--holiday", "2027-01-01", "--workday", "2026-12-19")
    assert (changed["revision"], changed["written"], changed["changed"]) == (2, True, True)
    assert changed["added"] == {"holidays": ["2027-01-01"], "workdays": ["2026-12-19"]}
    assert changed["removed"] == {"holidays": ["2026-12-25"], "workdays": []}
    said = called("calendars", "set", "de", "--weekend", "SUN", "--holiday", "2026-12-26", "--store", used)
    assert said.splitlines() == [
        "calendar de: revision 3; 1 holiday through 2026; 0 schedules use it",
        "  weekend: SAT SUN -> SUN",
        "  - 2027-01-01 Fri holiday",
        "  - 2026-12-19 Sat workday",
    ]


def test_the_same_days_make_no_revision(used: str) -> None:
    set_days(used, "--holiday", "2026-12-25")
    again = set_days(used, "--holiday", "2026-12-25", "--weekend", "SUN,SAT")
    assert (again["revision"], again["changed"]) == (1, False)
    said = called("calendars", "set", "de", "--holiday", "2026-12-25", "--store", used)
    assert said == "calendar de: unchanged, revision 1; 1 holiday through 2026; 0 schedules use it\n"


def test_a_dry_run_writes_nothing(used: str) -> None:
    first = set_days(used, "--holiday", "2026-12-25", "--dry-run")
    assert (first["revision"], first["written"]) == (1, False)
    assert called_json("calendars", "list", "--store", used) == []
    set_days(used, "--holiday", "2026-12-25")
    said = called("calendars", "set", "de", "--holiday", "2026-12-24", "--dry-run", "--store", used)
    assert said.startswith("calendar de: revision 2 (dry run, nothing is written); 1 holiday")
    assert show(used)["holidays"] == ["2026-12-25"]


def test_single_days_win_over_the_region(used: str) -> None:
    made = set_days(used, *BAVARIA, "--holiday", "2026-12-24", "--workday", "2026-01-06")
    assert "2026-12-24" in made["holidays"]
    assert "2026-01-06" not in made["holidays"]
    assert "2027-01-06" in made["holidays"]
    assert made["known_through"] == 2027


def test_holidays_come_from_a_file(used: str, tmp_path: Path) -> None:
    path = tmp_path / "closed.txt"
    path.write_text("# closed\n2026-12-24  # half a day\n\n2026-12-31\n")
    made = set_days(used, "--file", str(path), "--holiday", "2026-12-25")
    assert made["holidays"] == ["2026-12-24", "2026-12-25", "2026-12-31"]


def test_a_week_may_have_no_weekend(used: str) -> None:
    assert set_days(used, "--weekend", "none")["weekend"] == []
    assert "weekend" in called("calendars", "show", "de", "--store", used)


def test_list_has_a_line_each(used: str) -> None:
    assert call("calendars", "list", "--store", used).stderr == "no calendars\n"
    set_days(used, "--holiday", "2026-12-25")
    set_days(used, "--weekend", "SUN", name="plant")
    first, second = called_json("calendars", "list", "--store", used)
    assert (first["name"], first["known_through"], second["name"]) == ("de", 2026, "plant")
    _, de, plant = called("calendars", "list", "--store", used).splitlines()
    assert de.split() == ["de", "1", "SAT", "SUN", "1", "0", "2026", "0"]
    assert plant.split() == ["plant", "1", "SUN", "0", "0", "-", "0"]


def test_who_uses_it_is_said_and_keeps_it(used: str) -> None:
    set_days(used, "--holiday", "2026-12-25")
    day = ("--business-day", "-1", "--at-time", "18:00", "--calendar", "de")
    called("schedules", "add", "closing", "--job", "report", *day, "--store", used)
    assert show(used)["schedules"] == ["closing"]
    said = called("calendars", "set", "de", "--holiday", "2026-12-24", "--store", used)
    assert "; 1 schedule uses it\n" in said
    assert "is used by closing; edit or remove" in refused("calendars", "remove", "de", "--store", used)
    called("schedules", "remove", "closing", "--store", used)
    assert called_json("calendars", "remove", "de", "--store", used) == {"name": "de", "removed": True}
    assert "calendar de: not found" in refused("calendars", "show", "de", "--store", used)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("set", "de"), 'calendar "de" has no days; give at least one of --weekend, --holiday, --workday'),
        (("set", "a b", "--weekend", "SUN"), "calendar 'a b'"),
        (("set", "de", "--holiday", "25.12.2026"), 'holidays has "25.12.2026", expected a date such as'),
        (("set", "de", "--holiday", "2026-02-30"), 'holidays has "2026-02-30"'),
        (("set", "de", "--holiday", "2026-12-25", "--workday", "2026-12-25"), "both a holiday and a workday"),
        (("set", "de", "--weekend", "SAMSTAG"), 'weekend has "SAMSTAG", expected days from MON'),
        (("set", "de", "--region", "DE"), "--region: needs the years to look up; add --years"),
        (("set", "de", "--years", "2026"), "--years: has no meaning without --region"),
        (("set", "de", "--region", "DE", "--years", "soon"), '--years: "soon": expected years such as'),
        (("set", "de", "--region", "DE-XX", "--years", "2026"), '--region: region "DE-XX" is unknown'),
        (("set", "de", *BAVARIA, "--weekend", "SUN"), "--weekend: has no meaning with --region"),
        (("set", "de", "--file", "absent.txt"), "--file absent.txt: cannot be read: No such file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str, url: str) -> None:
    assert said in refused("calendars", *arguments, "--store", url)


def test_a_calendar_that_is_not_there_is_not_shown_or_removed(used: str) -> None:
    set_days(used, "--weekend", "SUN", name="fra")
    assert "calendar fr: not found; did you mean fra?" in refused("calendars", "show", "fr", "--store", used)
    assert "calendar fr: not found" in refused("calendars", "remove", "fr", "--store", used)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"2026-12-25\n2026-13-01\n", 'line 2: "2026-13-01": expected a date such as 2026-12-25'),
        (b"BEGIN:VCALENDAR\n", 'line 1: "BEGIN:VCALENDAR": expected a date'),
        (b"2026-W01-1\n", 'line 1: "2026-W01-1": expected a date'),
        (b"\xff\xfe", "expected UTF-8 text, one date a line"),
    ],
    ids=["no such day", "a calendar of another make", "a week", "no text"],
)
def test_a_file_of_something_else_is_refused(content: bytes, said: str, url: str, tmp_path: Path) -> None:
    path = tmp_path / "closed.txt"
    path.write_bytes(content)
    assert said in refused("calendars", "set", "de", "--file", str(path), "--store", url)
