"""`fencepost schedules add`, `edit` and `show`: triggers of every kind, and how they are shaped."""

import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from fencepost.triggers import tzdata_version
from tests.cli.calls import call, called, called_json, refused

BERLIN = ("--cron", "30 2 * * *", "--tz", "Europe/Berlin")
RULE = ("--rrule", "FREQ=MONTHLY;BYDAY=-1FR", "--anchor", "2026-01-01T09:00", "--tz", "Europe/Berlin")
MONTHLY = ("--every", "1 month", "--anchor", "2026-01-31T09:00", "--tz", "Europe/Berlin")
LAST_DAY = ("--business-day", "-1", "--at-time", "18:00", "--calendar", "de", "--tz", "Europe/Berlin")
SHIFTED = (*BERLIN, "--on-business-days", "next", "--calendar", "de")
EXCEPT = "DTSTART:20260101T090000\nRRULE:FREQ=DAILY\nEXDATE:20260102T090000"
NOON = {"v": 1, "kind": "cron", "expression": "0 12 * * *", "tz": "UTC", "gap": None, "fold": None}
EVENING = {**NOON, "expression": "0 18 * * *"}
UNION = json.dumps({"v": 1, "kind": "union", "of": [NOON, EVENING]})
GUARDED = json.dumps({"v": 1, "kind": "outside", "of": NOON, "opens": EVENING, "lasts": "3h"})
NEVER = json.dumps({"v": 1, "kind": "intersection", "of": [NOON, EVENING]})


@pytest.fixture
def shop(used: str) -> str:
    """A store that has the calendars `de` and `plant` as well."""
    for name in ("de", "plant"):
        called("calendars", "set", name, "--holiday", "2026-12-25", "--store", used)
    return used


@pytest.fixture
def short_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Combinations of triggers give up early."""
    monkeypatch.setattr("fencepost.triggers.combine.LOOKS_MAX", 20)


def add(url: str, *options: str) -> Any:
    return called_json("schedules", "add", "extra", "--job", "report", *options, "--store", url)


def edit(url: str, *options: str) -> Any:
    return called_json("schedules", "edit", "extra", *options, "--store", url)


def show(url: str) -> Any:
    return called_json("schedules", "show", "extra", "--store", url)


@pytest.mark.parametrize(
    ("options", "trigger"),
    [
        pytest.param(
            RULE, {"kind": "rrule", "start": "2026-01-01T09:00:00", "tz": "Europe/Berlin"}, id="rule"
        ),
        pytest.param(MONTHLY, {"kind": "every", "interval": "1 month", "tz": "Europe/Berlin"}, id="step"),
        pytest.param(
            LAST_DAY,
            {"kind": "business_day", "nth": -1, "at": ["18:00"], "calendar": {"name": "de"}},
            id="day",
        ),
        pytest.param(
            ("--business-day", "every", "--at-time", "09:00", "--at-time", "17:00", "--calendar", "de"),
            {"kind": "business_day", "nth": None, "at": ["09:00", "17:00"]},
            id="every business day",
        ),
        pytest.param(SHIFTED, {"kind": "business_shift", "otherwise": "next"}, id="shifted"),
        pytest.param(
            (*BERLIN, "--start", "2999-01-01", "--end", "2999-07-01"),
            {"kind": "between", "start": "2998-12-31T23:00:00Z", "end": "2999-06-30T22:00:00Z"},
            id="window",
        ),
        pytest.param((*BERLIN, "--start", "none"), {"kind": "cron"}, id="no window"),
        pytest.param(("--trigger", UNION), {"kind": "union", "of": [NOON, EVENING]}, id="form"),
        pytest.param(("--cron", "H H * * *"), {"kind": "cron", "expression": "H H * * *"}, id="hashed"),
    ],
)
def test_each_kind_is_added(options: tuple[str, ...], trigger: dict[str, Any], shop: str) -> None:
    found = add(shop, *options)["trigger"]
    assert found == {**found, **trigger}
    assert len(show(shop)["next"]) == 5
    assert "extra" in called("schedules", "list", "--store", shop)
    assert called("schedules", "show", "extra", "--store", shop).count("  next  ") == 5


@pytest.mark.parametrize(
    ("old", "change", "trigger"),
    [
        pytest.param(
            RULE, ("--tz", "UTC"), {"tz": "UTC", "start": "2026-01-01T09:00:00"}, id="a rule's zone"
        ),
        pytest.param(
            RULE,
            ("--rrule", "FREQ=MONTHLY;BYDAY=1MO"),
            {"rule": "FREQ=MONTHLY;BYDAY=1MO", "start": "2026-01-01T09:00:00", "tz": "Europe/Berlin"},
            id="a rule keeps its start",
        ),
        pytest.param(
            RULE,
            ("--rrule", "DTSTART;TZID=Asia/Tokyo:20270101T090000\nRRULE:FREQ=DAILY"),
            {"start": "2027-01-01T09:00:00", "tz": "Asia/Tokyo"},
            id="a rule's own start wins",
        ),
        pytest.param(
            MONTHLY,
            ("--every", "2 months", "--gap", "skip"),
            {"interval": "2 months", "anchor": "2026-01-31T09:00:00", "tz": "Europe/Berlin", "gap": "skip"},
            id="a step keeps its anchor",
        ),
        pytest.param(
            MONTHLY, ("--every", "2h"), {"interval": "2h", "anchor": "1970-01-01T00:00:00Z"}, id="exact"
        ),
        pytest.param(LAST_DAY, ("--business-day", "3"), {"nth": 3, "at": ["18:00"]}, id="another day"),
        pytest.param(LAST_DAY, ("--business-day", "every"), {"nth": None, "at": ["18:00"]}, id="every day"),
        pytest.param(
            LAST_DAY, ("--calendar", "plant"), {"nth": -1, "calendar": {"name": "plant"}}, id="calendar"
        ),
        pytest.param(SHIFTED, ("--on-business-days", "skip"), {"otherwise": "skip"}, id="another shift"),
        pytest.param(
            SHIFTED, ("--calendar", "plant"), {"calendar": {"name": "plant"}}, id="shift's calendar"
        ),
        pytest.param(SHIFTED, ("--on-business-days", "none"), {"kind": "cron"}, id="no shift"),
        pytest.param(SHIFTED, ("--cron", "0 3 * * *"), {"kind": "business_shift"}, id="the shift stays"),
        pytest.param((*BERLIN, "--end", "2999-01-01"), ("--end", "none"), {"kind": "cron"}, id="no end"),
        pytest.param(
            (*BERLIN, "--end", "2999-01-01"),
            ("--start", "2998-01-01", "--cron", "0 3 * * *"),
            {"kind": "between", "start": "2997-12-31T23:00:00Z", "end": "2998-12-31T23:00:00Z"},
            id="the end stays",
        ),
        pytest.param(
            (*BERLIN, "--start", "2999-01-01"), ("--gap", "skip"), {"kind": "between"}, id="start stays"
        ),
        pytest.param(
            (*BERLIN, "--start", "2999-01-01"), ("--start", "none"), {"kind": "cron"}, id="no start"
        ),
        pytest.param(
            ("--trigger", GUARDED),
            ("--tz", "Europe/Berlin"),
            {**json.loads(GUARDED), "of": {**NOON, "tz": "Europe/Berlin"}},
            id="a window around it stays",
        ),
        pytest.param(("--trigger", UNION), ("--every", "1h"), {"kind": "every"}, id="all replaced"),
        pytest.param(BERLIN, ("--trigger", UNION), {"kind": "union"}, id="all given"),
    ],
)
def test_a_trigger_is_edited_piece_by_piece(
    old: tuple[str, ...], change: tuple[str, ...], trigger: dict[str, Any], shop: str
) -> None:
    add(shop, *old)
    found = edit(shop, *change)["trigger"]
    assert found == {**found, **trigger}


def test_spread_and_jitter_are_set_and_taken_away(used: str) -> None:
    made = add(used, *BERLIN, "--spread", "10m", "--jitter", "5%")
    assert (made["spread"], made["jitter"]) == ("10m", "5%")
    edited = edit(used, "--spread", "none")
    assert ("spread" in edited, edited["jitter"]) == (False, "5%")
    assert edit(used, "--spread", "50%", "--jitter", "none")["spread"] == "50%"


def test_show_has_when_the_runs_are_due(used: str) -> None:
    add(used, "--every", "1h", "--spread", "30m")
    shown = show(used)
    assert len(shown["next"]) == len(shown["next_run_at"]) == 5
    offsets = {due[13:] for due in shown["next_run_at"]}
    assert len(offsets) == 1
    assert offsets != {":00:00Z"}
    assert called("schedules", "show", "extra", "--store", used).count("  due ") == 5
    edit(used, "--spread", "none")
    assert show(used)["next"] == show(used)["next_run_at"]
    assert "  due " not in called("schedules", "show", "extra", "--store", used)


def test_show_says_calendars_zone_rules_and_what_the_clocks_do(shop: str) -> None:
    add(shop, *SHIFTED)
    shown, said = show(shop), called("schedules", "show", "extra", "--store", shop)
    assert shown["tzdata"] == tzdata_version()
    assert shown["calendars"]["de"]["revision"] == 1
    assert shown["description"] in said
    assert "de (revision 1)" in said
    (change,) = shown["changes"]
    assert said.endswith(f"\n\n{change['sentence']}\n")


def test_an_edited_calendar_is_one_line_of_history(shop: str) -> None:
    add(shop, *SHIFTED)
    called("calendars", "set", "de", "--holiday", "2026-12-24", "--store", shop)
    edit(shop, "--overlap", "allow")
    _, second = called_json("schedules", "history", "extra", "--store", shop)
    assert second["changes"] == ['overlap: "skip" -> "allow"', "calendars.de.revision: 1 -> 2"]


def test_a_trigger_that_cannot_be_read_hides_no_other_schedule(used: str, tmp_path: Path) -> None:
    add(used, *BERLIN)
    rewrite(tmp_path / "store.db", '"kind":"cron"', '"kind":"moon"')
    listed = {one["schedule_id"]: one for one in called_json("schedules", "list", "--store", used)}
    assert listed["extra"]["description"].startswith('cannot be read: trigger kind "moon" is unknown')
    assert "cannot be read" in called("schedules", "list", "--store", used)
    assert show(used)["trouble"].startswith('trigger kind "moon" is unknown')
    assert "cannot be read" in called("schedules", "show", "extra", "--store", used)
    assert "cannot be read" in called("schedules", "history", "extra", "--store", used)
    assert "moon" in refused("schedules", "edit", "extra", "--tz", "UTC", "--store", used)
    assert edit(used, "--cron", "0 3 * * *")["trigger"]["kind"] == "cron"


def test_a_trigger_that_never_fires_is_shown_all_the_same(
    used: str, tmp_path: Path, short_searches: None
) -> None:
    add(used, "--trigger", UNION)
    rewrite(tmp_path / "store.db", '"kind":"union"', '"kind":"intersection"')
    assert len(called_json("schedules", "list", "--store", used)) == 2
    assert "it may never fire" in show(used)["trouble"]
    assert "it may never fire" in called("schedules", "show", "extra", "--store", used)


def rewrite(path: Path, old: str, new: str) -> None:
    """Give the schedule a trigger that this release would refuse to write."""
    connection = apsw.Connection(str(path))
    for table in ("schedules", "schedule_versions"):
        connection.execute(f"UPDATE {table} SET spec = replace(spec, ?, ?)", (old, new))
    connection.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--trigger", "{"), "--trigger: not JSON"),
        (("--trigger", '{"kind": "moon"}'), '--trigger: trigger kind "moon" is unknown'),
        (("--trigger", UNION, "--tz", "UTC"), "--tz has no meaning with --trigger, which says it all"),
        (("--rrule", "FREQ=FORTNIGHTLY"), "--rrule: rrule "),
        (("--rrule", "FREQ=DAILY", "--anchor", "dawn"), '--anchor: time "dawn"'),
        (("--every", "1 moon"), '--every: every "1 moon": expected a step'),
        (("--every", "1h", "--fold", "both"), "--fold: has no meaning with an exact interval"),
        (("--every", "1h", "--spread", "200%"), '--spread: share "200%"'),
        (("--every", "1h", "--jitter", "some"), '--jitter: duration "some"'),
        ((*BERLIN, "--start", "soon"), '--start: time "soon"'),
        ((*BERLIN, "--start", "2026-02-01", "--end", "2026-01-01"), "--end: between "),
        (
            (*BERLIN, "--at-time", "18:00"),
            "--at-time: has no meaning with --cron; it belongs to --business-day",
        ),
        ((*BERLIN, "--calendar", "de"), "--calendar: has no meaning alone"),
        ((*BERLIN, "--on-business-days", "next"), "--on-business-days: needs the name of a calendar"),
        ((*BERLIN, "--on-business-days", "later"), "--on-business-days later: unknown"),
        (
            ("--every", "1h", "--on-business-days", "next", "--calendar", "de"),
            "--on-business-days: every hour",
        ),
        (
            ("--business-day", "1", "--calendar", "de"),
            "--business-day: needs a time of the day; add --at-time",
        ),
        (("--business-day", "1", "--at-time", "18:00"), "--business-day: needs the name of a calendar"),
        (("--business-day", "last", "--at-time", "18:00"), "--business-day: 'last': expected a number"),
        (
            ("--business-day", "99", "--at-time", "18:00", "--calendar", "de"),
            "--business-day: business day 99",
        ),
        (("--business-day", "1", "--at-time", "6pm", "--calendar", "de"), '--at-time: at "6pm"'),
    ],
)
def test_a_wrong_trigger_is_refused_before_a_store_is_asked(
    options: tuple[str, ...], said: str, url: str
) -> None:
    assert said in refused("schedules", "add", "extra", "--job", "report", *options, "--store", url)


def test_a_trigger_that_cannot_fire_is_refused(used: str, short_searches: None) -> None:
    def said(*options: str) -> str:
        return refused("schedules", "add", "extra", "--job", "report", *options, "--store", used)

    assert "it may never fire" in said("--trigger", NEVER)
    day = ("--business-day", "1", "--at-time", "18:00", "--calendar", "us")
    assert "fencepost calendars set us" in said(*day)


@pytest.mark.parametrize(
    ("old", "change", "said"),
    [
        (("--trigger", UNION), ("--tz", "UTC"), "the trigger is a combination"),
        (("--trigger", UNION), ("--end", "2999-01-01"), "give all of it with --trigger"),
        (("--rrule", EXCEPT), ("--tz", "Europe/Berlin"), "give all of it with --trigger"),
        (BERLIN, ("--anchor", "2026-01-01"), "--anchor: has no meaning with --cron"),
        (BERLIN, ("--calendar", "de"), "--calendar: has no meaning alone"),
        (BERLIN, ("--on-business-days", "next"), "--on-business-days: needs the name of a calendar"),
        (SHIFTED, ("--every", "1h"), "--on-business-days: every hour"),
        (("--every", "1h"), ("--gap", "skip"), "--gap: has no meaning with an exact interval"),
        (BERLIN, ("--cron", "0 3 * * *", "--every", "1h"), "not --cron and --every"),
        (BERLIN, ("--spread", "wide"), '--spread: duration "wide"'),
    ],
)
def test_a_wrong_change_is_refused(
    old: tuple[str, ...], change: tuple[str, ...], said: str, shop: str
) -> None:
    add(shop, *old)
    assert said in refused("schedules", "edit", "extra", *change, "--store", shop)


def test_a_spread_alone_is_a_change(used: str) -> None:
    add(used, *BERLIN)
    assert call("schedules", "edit", "extra", "--spread", "5m", "--store", used).exit_code == 0
    assert show(used)["version"] == 2


def test_what_the_clocks_of_its_zone_always_skip_is_refused(shop: str) -> None:
    expression = ("--cron", "30 2 25-31 3 +SUN", "--tz", "Europe/Berlin")
    said = refused(
        "schedules", "add", "extra", "--job", "report", *expression, "--gap", "skip", "--store", shop
    )
    assert "never fires, the clocks of Europe/Berlin skip each of its times and gap is skip" in said
    assert "fix: gap shift" in said
    assert add(shop, *expression)["schedule_id"] == "extra"
    past = ("--at", "2020-01-01T00:00:00Z")
    called("schedules", "add", "past", "--job", "report", *past, "--store", shop)
