"""`fencepost next`."""

import json

import pytest

from tests.cli.calls import call, called, called_json, refused

BERLIN = ("30 2 * * *", "--tz", "Europe/Berlin", "--after", "2026-03-28T12:00", "--count", "2")


def test_json_is_a_list_of_utc_times() -> None:
    assert called_json("next", *BERLIN) == ["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]


@pytest.mark.parametrize(
    ("gap", "first"), [("shift", "2026-03-29T01:00:00Z"), ("skip", "2026-03-30T00:30:00Z")]
)
def test_the_gap_policy_counts(gap: str, first: str) -> None:
    assert called_json("next", *BERLIN, "--gap", gap)[0] == first


@pytest.mark.parametrize(
    ("fold", "times"),
    [
        ("first", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("last", ["2026-10-25T01:30:00Z", "2026-10-26T01:30:00Z"]),
        ("both", ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]),
    ],
)
def test_the_fold_policy_counts(fold: str, times: list[str]) -> None:
    options = ("--tz", "Europe/Berlin", "--after", "2026-10-24T12:00:00Z", "--count", "2", "--fold", fold)
    assert called_json("next", "30 2 * * *", *options) == times


def test_people_see_utc_and_local_time() -> None:
    _, first, second = called("next", *BERLIN).splitlines()
    assert first.split("  ") == ["2026-03-29T01:00:00Z", "2026-03-29 03:00:00 CEST"]
    assert second.split("  ") == ["2026-03-30T00:30:00Z", "2026-03-30 02:30:00 CEST"]


def test_without_after_it_is_from_now_on() -> None:
    assert len(json.loads(call("next", "@hourly", "--json").stdout)) == 5


def test_an_interval_is_an_expression_too() -> None:
    times = called_json("next", "every 15m", "--after", "2026-01-01T00:00:00Z", "--count", "2")
    assert times == ["2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("61 * * * *",), "minute 61 is out of range"),
        (("0 0 30 2 *",), "never fires"),
        (("* * * * *", "--tz", "Europe/Berln"), "did you mean Europe/Berlin"),
        (("* * * * *", "--after", "yesterday"), '--after: time "yesterday"'),
        (("* * * * *", "--count", "0"), "'--count'"),
        (("* * * * *", "--gap", "jump"), "'--gap'"),
        (("every 5 parsecs",), 'duration "5 parsecs"'),
        (("every 5m", "--gap", "skip"), "--gap and --fold have no meaning"),
        ((), "Missing argument 'EXPR'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused("next", *arguments)
