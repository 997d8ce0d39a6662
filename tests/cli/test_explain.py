"""`fencepost explain`."""

import pytest

from fencepost.triggers import tzdata_version
from tests.cli.calls import called, called_json, refused

MARCH = ("--tz", "Europe/Berlin", "--after", "2026-03-28T12:00")


def test_json_says_it_all() -> None:
    found = called_json("explain", "30 2 * * *", *MARCH)
    (change,) = found.pop("changes")
    assert found == {
        "description": "at 02:30 every day, Berlin time",
        "tz": "Europe/Berlin",
        "zones": ["Europe/Berlin"],
        "policy": {"gap": "shift", "fold": "first", "chosen": []},
        "next": ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"],
        "previous": "2026-03-28T01:30:00Z",
        "warnings": [],
        "tzdata": tzdata_version(),
        "trigger": {
            "v": 1,
            "kind": "cron",
            "expression": "30 2 * * *",
            "tz": "Europe/Berlin",
            "gap": None,
            "fold": None,
        },
    }
    assert change == {
        **change,
        "tz": "Europe/Berlin",
        "at": "2026-03-29T01:00:00Z",
        "kind": "gap",
        "length_s": 3600.0,
        "wall_from": "2026-03-29T02:00:00",
        "wall_to": "2026-03-29T03:00:00",
        "fire_times": ["2026-03-29T01:00:00Z"],
        "count": 1,
    }


def test_people_read_words_times_policy_and_what_the_clocks_do() -> None:
    said = called("explain", "30 2 * * *", *MARCH, "--gap", "skip")
    description, empty, previous, first, *_ = said.splitlines()
    assert (description, empty) == ("at 02:30 every day, Berlin time", "")
    assert previous.split(None, 1) == ["previous", "2026-03-28 02:30:00 CET"]
    assert first.split(None, 1) == ["next", "2026-03-30 02:30:00 CEST"]
    assert "does not fire (gap skip, chosen)" in said
    assert "fires the first time (fold first, by default)" in said
    assert f"Europe/Berlin (zone rules {tzdata_version()})" in said
    assert said.splitlines()[-2] == ""
    assert said.splitlines()[-1].startswith("On 2026-03-29 the clocks in Berlin go from 02:00 to 03:00")


@pytest.mark.parametrize(
    ("arguments", "policy"),
    [
        pytest.param(("*/5 * * * *",), {"gap": "skip", "fold": "both", "chosen": []}, id="a beat"),
        pytest.param(("every 1 day",), {"gap": "shift", "fold": "first", "chosen": []}, id="a step"),
        pytest.param(
            ("FREQ=DAILY;BYHOUR=2", "--fold", "last"),
            {"gap": "shift", "fold": "last", "chosen": ["fold"]},
            id="a rule",
        ),
        pytest.param(
            ("FREQ=HOURLY",), {"gap": "skip", "fold": "both", "chosen": []}, id="a rule by the hour"
        ),
        pytest.param(("every 1h",), None, id="an exact interval"),
        pytest.param(("@every 1h",), None, id="an exact beat"),
    ],
)
def test_the_policy_in_force_is_said(arguments: tuple[str, ...], policy: object) -> None:
    assert called_json("explain", *arguments, *MARCH)["policy"] == policy


def test_a_layer_hides_no_policy() -> None:
    cron = (
        '{"v": 1, "kind": "cron", "expression": "@daily", "tz": "Europe/Berlin", "gap": "skip", "fold": null}'
    )
    form = f'{{"v": 1, "kind": "between", "of": {cron}, "start": null, "end": "2027-01-01T00:00:00Z"}}'
    assert called_json("explain", form)["policy"] == {"gap": "skip", "fold": "first", "chosen": ["gap"]}


def test_elapsed_time_has_no_zone() -> None:
    assert called_json("explain", "every 15m")["zones"] == []
    assert "no change of the clocks moves it" in called("explain", "every 15m")


def test_what_is_over_is_said_to_be_over() -> None:
    said = called("explain", "FREQ=DAILY;COUNT=2", "--anchor", "2026-01-01", "--after", "2026-02-01")
    assert "never again" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("61 * * * *",), "minute 61 is out of range"),
        (("H * * * *",), "give it with --id"),
        (("* * * * *", "--count", "3"), "No such option '--count'"),
        ((), "Missing argument 'EXPR'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused("explain", *arguments)


def test_what_others_read_differently_is_warned_of() -> None:
    (warning,) = called_json("explain", "0 0 */2 * MON")["warnings"]
    assert "a day has to fit both day fields, as in Debian's cron" in warning
    assert f"\nwarning: {warning}.\n" in called("explain", "0 0 */2 * MON")
    assert "counts weekdays from 1 for Sunday" in called("explain", "0 0 12 ? * 6#3")
    assert "warning" not in called("explain", "0 0 13 * FRI")
