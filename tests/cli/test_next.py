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
    said, _, first, second, empty, change = called("next", *BERLIN).splitlines()
    assert (said, empty) == ("at 02:30 every day, Berlin time", "")
    assert change.startswith("On 2026-03-29 the clocks in Berlin go from 02:00 to 03:00")
    assert first.split("  ") == ["2026-03-29T01:00:00Z", "2026-03-29 03:00:00 CEST"]
    assert second.split("  ") == ["2026-03-30T00:30:00Z", "2026-03-30 02:30:00 CEST"]


def test_without_after_it_is_from_now_on() -> None:
    assert len(json.loads(call("next", "@hourly", "--json").stdout)) == 5


def test_an_interval_is_an_expression_too() -> None:
    times = called_json("next", "every 15m", "--after", "2026-01-01T00:00:00Z", "--count", "2")
    assert times == ["2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"]


@pytest.mark.parametrize(
    ("arguments", "times"),
    [
        pytest.param(("every 1 day",), ["2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"], id="a step"),
        pytest.param(
            ("every 1 month", "--tz", "Europe/Berlin", "--anchor", "2026-01-31T09:00"),
            ["2026-03-31T07:00:00Z", "2026-04-30T07:00:00Z"],
            id="a step from an anchor",
        ),
        pytest.param(
            ("every 1h", "--tz", "Asia/Kathmandu", "--anchor", "2026-01-01T00:10"),
            ["2026-03-28T00:25:00Z", "2026-03-28T01:25:00Z"],
            id="an anchor read in the zone",
        ),
        pytest.param(("@every 6h",), ["2026-03-28T06:00:00Z", "2026-03-28T12:00:00Z"], id="a beat"),
        pytest.param(
            ("FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=18", "--tz", "Europe/Berlin"),
            ["2026-04-24T16:00:00Z", "2026-05-29T16:00:00Z"],
            id="a rule",
        ),
        pytest.param(
            ("rrule:freq=daily;count=2", "--anchor", "2026-03-29T09:00:00Z"),
            ["2026-03-29T09:00:00Z", "2026-03-30T09:00:00Z"],
            id="a rule from an anchor",
        ),
        pytest.param(
            ("DTSTART;TZID=Asia/Tokyo:20260401T090000\nRRULE:FREQ=YEARLY",),
            ["2026-04-01T00:00:00Z", "2027-04-01T00:00:00Z"],
            id="lines",
        ),
        pytest.param(
            ('{"v": 1, "kind": "at", "times": ["2026-04-01T00:00:00Z"]}',),
            ["2026-04-01T00:00:00Z"],
            id="a form",
        ),
        pytest.param(
            ("0 12 LW * *", "--tz", "Europe/Berlin"),
            ["2026-03-31T10:00:00Z", "2026-04-30T10:00:00Z"],
            id="the last weekday",
        ),
    ],
)
def test_many_things_are_an_expression(arguments: tuple[str, ...], times: list[str]) -> None:
    after = ("--after", "2026-03-28T00:00:00Z", "--count", "2")
    assert called_json("next", *arguments, *after) == times


def test_an_h_is_hashed_by_the_id() -> None:
    after = ("--after", "2026-01-01T00:00:00Z", "--count", "1")
    first = called_json("next", "H H * * *", "--id", "one", *after)
    assert first == called_json("next", "H H * * *", "--id", "one", *after)
    assert first != called_json("next", "H H * * *", "--id", "two", *after)


def test_previous_goes_backwards() -> None:
    before = ("--previous", "--after", "2026-01-01T00:00:00Z", "--count", "2")
    assert called_json("next", "every 1h", *before) == ["2025-12-31T23:00:00Z", "2025-12-31T22:00:00Z"]


def test_where_nothing_comes_it_says_so() -> None:
    form = '{"v": 1, "kind": "at", "times": ["2026-04-01T00:00:00Z"]}'
    result = call("next", form, "--after", "2027-01-01")
    assert (result.exit_code, result.stderr) == (0, "no more fire times\n")
    assert call("next", form, "--after", "2026-01-01", "--previous").stderr == "no earlier fire times\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("61 * * * *",), "minute 61 is out of range"),
        (("0 0 30 2 *",), "never fires"),
        (("* * * * *", "--tz", "Europe/Berln"), "did you mean Europe/Berlin"),
        (("* * * * *", "--after", "yesterday"), '--after: time "yesterday"'),
        (("* * * * *", "--count", "0"), "'--count'"),
        (("* * * * *", "--gap", "jump"), "'--gap'"),
        (("every 5 parsecs",), 'every "5 parsecs": expected a step'),
        (("every 5m", "--gap", "skip"), "--gap: has no meaning with an exact interval"),
        (("every 5m", "--tz", "Europe/Berln"), "--tz: time zone"),
        (("every 5m", "--anchor", "dawn"), '--anchor: time "dawn"'),
        (
            ("@daily", "--anchor", "2026-01-01"),
            "--anchor: has no meaning with a cron expression; it belongs to",
        ),
        (("H * * * *",), "H is hashed by a schedule's id; give it with --id"),
        (("FREQ=FORTNIGHTLY",), "rrule "),
        (("FREQ=DAILY;COUNT=3",), "COUNT needs a start"),
        (("{", "--count", "1"), "not JSON"),
        (('{"v": 1, "kind": "moon"}',), 'trigger kind "moon" is unknown'),
        (('{"v": 1, "kind": "at", "times": []}', "--tz", "UTC"), "--tz: has no meaning with the stable form"),
        ((), "Missing argument 'EXPR'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused("next", *arguments)
