"""`fencepost.toml`: the triggers of its schedules, and how a mistake in one is answered."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fencepost.app import Fencepost
from fencepost.errors import UsageError
from fencepost.manifest import load
from fencepost.model.identifiers import ScheduleId
from fencepost.model.json import JsonValue
from fencepost.model.schedule import ScheduleSpec
from fencepost.triggers import decode, stored_trigger

JOB = '[jobs.backup]\ncommand = ["true"]\n'
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def loaded(folder: Path, text: str) -> Fencepost:
    path = folder / "fencepost.toml"
    path.write_text(f"{JOB}{text}", "utf-8")
    return load(path, {})


def schedule(folder: Path, lines: str) -> ScheduleSpec:
    return loaded(folder, f'[schedules.one]\njob = "backup"\n{lines}\n').code_schedules[ScheduleId("one")]


def refusal(folder: Path, lines: str) -> str:
    with pytest.raises(UsageError) as caught:
        schedule(folder, lines)
    line = str(caught.value)
    assert "\n" not in line
    return line.removeprefix(f"{folder / 'fencepost.toml'}: ")


@pytest.mark.parametrize(
    ("lines", "trigger"),
    [
        pytest.param(
            'rrule = "FREQ=MONTHLY;BYDAY=-1FR"\nstart = 2026-01-01T09:00:00\ntz = "Europe/Berlin"',
            {"kind": "rrule", "start": "2026-01-01T09:00:00", "tz": "Europe/Berlin"},
            id="a rule counts from start",
        ),
        pytest.param(
            'rrule = "FREQ=DAILY"\ndst = { gap = "skip", fold = "last" }',
            {"kind": "rrule", "gap": "skip", "fold": "last"},
            id="a rule has a policy",
        ),
        pytest.param(
            'every = "1 month"\nanchor = "2026-01-31T09:00"\ntz = "Europe/Berlin"\ndst = { gap = "skip" }',
            {"interval": "1 month", "anchor": "2026-01-31T09:00:00", "tz": "Europe/Berlin", "gap": "skip"},
            id="a step of the calendar has a zone and a policy",
        ),
        pytest.param(
            'every = "1h"\nanchor = "2026-07-01T00:10"\ntz = "Europe/Berlin"',
            {"interval": "1h", "anchor": "2026-06-30T22:10:00Z"},
            id="a local anchor is read in the zone",
        ),
        pytest.param(
            'every = "1h"\nstart = "2026-07-01"\ntz = "Europe/Berlin"',
            {"kind": "between", "start": "2026-06-30T22:00:00Z", "end": None},
            id="so is a local start of a beat",
        ),
        pytest.param(
            'business_day = -1\ntime = "18:00"\ncalendar = "de"\ntz = "Europe/Berlin"',
            {"kind": "business_day", "nth": -1, "at": ["18:00"], "calendar": {"name": "de"}},
            id="the last business day",
        ),
        pytest.param(
            'business_day = "every"\ntime = ["09:00", "17:00"]\ncalendar = "de"',
            {"kind": "business_day", "nth": None, "at": ["09:00", "17:00"]},
            id="every business day",
        ),
        pytest.param(
            'cron = "0 9 1 * *"\non_business_days = "next"\ncalendar = "de"',
            {"kind": "business_shift", "otherwise": "next", "calendar": {"name": "de"}},
            id="kept to business days",
        ),
        pytest.param(
            'cron = "@daily"\nstart = 2026-01-01\nend = "2026-03-01T00:00:00"\ntz = "Europe/Berlin"',
            {"kind": "between", "start": "2025-12-31T23:00:00Z", "end": "2026-02-28T23:00:00Z"},
            id="a start and an end are read in the zone",
        ),
        pytest.param(
            'rrule = "FREQ=DAILY"\nstart = "2026-01-01T09:00"\nend = "2026-03-01"',
            {"kind": "between", "start": None, "end": "2026-03-01T00:00:00Z"},
            id="a rule may end",
        ),
        pytest.param('cron = "H H * * *"', {"expression": "H H * * *"}, id="an H waits for the id"),
    ],
)
def test_each_trigger_has_its_form(lines: str, trigger: dict[str, object], tmp_path: Path) -> None:
    found = schedule(tmp_path, lines).trigger
    assert found == {**found, **trigger}


def test_windows_are_left_out(tmp_path: Path) -> None:
    windows = '[{ cron = "0 2 * * *", lasts = "3h" }, { at = "2026-01-01T12:00:00Z", lasts = "90m" }]'
    trigger = decode(schedule(tmp_path, f'every = "1h"\noutside = {windows}').trigger)
    assert [one.hour for one in trigger.next(NOW, 19)] == [1, *range(5, 12), *range(14, 24), 0]


def test_layers_lie_in_a_fixed_order(tmp_path: Path) -> None:
    spec = schedule(
        tmp_path,
        'cron = "0 9 1 * *"\non_business_days = "skip"\ncalendar = "de"\nend = "2027-01-01"\n'
        'outside = [{ every = "1 year", lasts = "1d" }]',
    )
    kinds: list[JsonValue] = []
    form: JsonValue = spec.trigger
    while isinstance(form, dict):
        kinds.append(form["kind"])
        form = form.get("of")
    assert kinds == ["between", "outside", "business_shift", "cron"]


def test_spread_and_jitter_belong_to_the_schedule(tmp_path: Path) -> None:
    spec = schedule(tmp_path, 'every = "1h"\nspread = "50%"\njitter = 30')
    assert (str(spec.spread), str(spec.jitter)) == ("50%", "30s")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("rrule = 'FREQ=FORTNIGHTLY'", "[schedules.one] rrule: rrule "),
        ("rrule = 5", "[schedules.one] rrule = 5: expected a text"),
        ("rrule = 'FREQ=DAILY'\nstart = 'soon'", '[schedules.one] start: time "soon": expected RFC 3339'),
        (
            "rrule = 'FREQ=DAILY'\nanchor = 2026-01-01T09:00:00",
            "[schedules.one] anchor has no meaning with rrule",
        ),
        (
            "cron = '@daily'\nstart = 5",
            "[schedules.one] start = 5: expected a time such as 2026-12-24T18:00:00",
        ),
        ("cron = '@daily'\nend = 'late'", '[schedules.one] end: time "late": expected RFC 3339'),
        ("cron = '@daily'\nstart = '2026-02-01'\nend = '2026-01-01'", "[schedules.one] end: between "),
        ("every = true", "[schedules.one] every = True: expected an interval such as 15m or 1 month"),
        ("every = '1 moon'", '[schedules.one] every: every "1 moon": expected a step'),
        ("every = '1 month'\ntz = 'Berlin'", '[schedules.one] tz: time zone "Berlin" is unknown'),
        ("every = '1h'\nspread = '200%'", '[schedules.one] spread: share "200%": expected 1% to 100%'),
        ("every = '1h'\njitter = 'some'", '[schedules.one] jitter: duration "some": expected'),
        ("every = '1h'\nspread = [1]", "[schedules.one] spread: duration [1]: expected"),
        (
            "business_day = 1\ncalendar = 'de'",
            "[schedules.one] business_day: needs a time of the day; add time",
        ),
        ("business_day = 1\ntime = '18:00'", "business_day: needs the name of a calendar; add calendar"),
        (
            "business_day = 99\ntime = '18:00'\ncalendar = 'de'",
            "[schedules.one] business_day: business day 99",
        ),
        (
            "business_day = 'last'\ntime = '18:00'\ncalendar = 'de'",
            'business_day = "last": expected a whole number',
        ),
        (
            "business_day = 1\ntime = '6pm'\ncalendar = 'de'",
            '[schedules.one] time: at "6pm": expected a time of',
        ),
        (
            "business_day = 1\ntime = 18\ncalendar = 'de'",
            '[schedules.one] time = 18: expected a text such as "18:00"',
        ),
        ("business_day = 1\ntime = '18:00'\ncalendar = 'a b'", "[schedules.one] calendar: calendar 'a b'"),
        ("cron = '@daily'\ntime = '18:00'", "[schedules.one] time: has no meaning with cron; it belongs to"),
        ("cron = '@daily'\ncalendar = 'de'", "[schedules.one] calendar: has no meaning alone; it belongs to"),
        (
            "cron = '@daily'\non_business_days = 'next'",
            "[schedules.one] on_business_days: needs the name of a",
        ),
        (
            "cron = '@daily'\non_business_days = 'later'\ncalendar = 'de'",
            '[schedules.one] on_business_days: otherwise "later" is unknown, expected next, previous or skip',
        ),
        (
            "every = '1h'\non_business_days = 'next'\ncalendar = 'de'",
            "[schedules.one] on_business_days: every hour",
        ),
        ("every = '1h'\noutside = 5", "[schedules.one] outside = 5: expected a list of 1 to 20 windows"),
        ("every = '1h'\noutside = ['2h']", "[schedules.one] outside = ['2h']: expected a list of tables"),
        ("every = '1h'\noutside = [{ every = '1d' }]", "[schedules.one.outside.1] lasts is missing"),
        ("every = '1h'\noutside = [{ lasts = '1h' }]", "[schedules.one.outside.1]: give exactly one of cron"),
        (
            "every = '1h'\noutside = [{ every = '1d', lasts = '2h' }, { cron = '61 * * * *', lasts = '1h' }]",
            '[schedules.one.outside.2] cron: cron "61 * * * *": minute 61',
        ),
        (
            "every = '1h'\noutside = [{ every = '1d', lasts = 'long' }]",
            "[schedules.one.outside.1] lasts: duration",
        ),
        (
            "every = '1h'\noutside = [{ every = '1d', lasts = '0s' }]",
            "[schedules.one] outside: outside: a window",
        ),
        (
            "every = '1h'\noutside = [{ every = '1d', lasts = '1h', end = 5 }]",
            "[schedules.one.outside.1] end is unk",
        ),
    ],
)
def test_a_mistake_in_a_trigger_is_one_line(lines: str, said: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, lines).startswith(said) or said in refusal(tmp_path, lines)


CALENDARS = """
[calendars.de]
weekend = ["SAT", "SUN"]
holidays = [2026-12-25, "2026-12-26"]
workdays = ["2026-12-19"]

[calendars.plant]
region = "DE-BY"
years = "2026-2027"
holidays = ["2026-12-24"]
workdays = [2026-12-25]
"""


def test_calendars_are_read(tmp_path: Path) -> None:
    de, plant = loaded(tmp_path, CALENDARS).code_calendars.values()
    assert de == {
        "name": "de",
        "weekend": "SAT SUN",
        "holidays": "2026-12-25 2026-12-26",
        "workdays": "2026-12-19",
    }
    days = str(plant["holidays"]).split()
    assert {"2026-12-24", "2026-12-26", "2027-12-25"} <= set(days)
    assert "2026-12-25" not in days


def test_a_schedule_fires_by_a_calendar_of_its_file(tmp_path: Path) -> None:
    lines = '[schedules.one]\njob = "backup"\nbusiness_day = -5\ntime = "18:00"\ncalendar = "de"\n'
    app = loaded(tmp_path, f"{CALENDARS}{lines}")
    spec = app.code_schedules[ScheduleId("one")]
    trigger = stored_trigger(
        ScheduleSpec(spec.job, spec.trigger, calendars={"de": app.code_calendars["de"]}), "one"
    )
    assert trigger.next_after(datetime(2026, 12, 1, tzinfo=UTC)) == datetime(2026, 12, 24, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", '[calendars.de]: calendar "de" has no days; give at least one of weekend, holidays, workdays'),
        ("holiday = []", "[calendars.de] holiday is unknown; did you mean holidays?"),
        ("holidays = 5", "[calendars.de] holidays = 5: expected a list of dates such as [2026-12-25]"),
        ("holidays = [5]", "[calendars.de] holidays = [5]: expected a list of dates"),
        (
            "holidays = ['25.12.2026']",
            '[calendars.de]: calendar "de": holidays has "25.12.2026", expected a date',
        ),
        ("holidays = [2026-12-25T00:00:00]", '[calendars.de]: calendar "de": holidays has '),
        ("weekend = 5", "[calendars.de] weekend = 5: expected days such as SAT,SUN"),
        ("weekend = 'SAMSTAG'", '[calendars.de]: calendar "de": weekend has "SAMSTAG", expected days'),
        ("region = 'DE'", "[calendars.de] region: needs the years to look up; add years"),
        ("years = '2026'", "[calendars.de] years: has no meaning without region"),
        ("region = 'DE'\nyears = 'soon'", '[calendars.de] years: "soon": expected years such as 2026-2030'),
        ("region = 'DE'\nyears = '2030-2026'", '[calendars.de] years: "2030-2026": expected 1 to 50 years'),
        ("region = 'DE'\nyears = 2.5", "[calendars.de] years = 2.5: expected a text"),
        ("region = 'DE-XX'\nyears = 2026", '[calendars.de] region: region "DE-XX" is unknown, did you mean'),
        (
            "region = 'DE'\nyears = 2026\nweekend = 'SUN'",
            "[calendars.de] weekend: has no meaning with region",
        ),
    ],
)
def test_a_mistake_in_a_calendar_is_one_line(lines: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        loaded(tmp_path, f"[calendars.de]\n{lines}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'fencepost.toml'}: {said}")


def test_a_trigger_that_its_own_calendar_never_lets_fire_is_refused(tmp_path: Path) -> None:
    calendar = '[calendars.plant]\nweekend = "MON TUE WED THU FRI SAT"\n'
    lines = 'business_day = 9\ntime = "18:00"\ncalendar = "plant"'
    with pytest.raises(UsageError, match=r"\[schedules.one\]: on the 9th business day .* never fires"):
        loaded(tmp_path, f'{calendar}[schedules.one]\njob = "backup"\n{lines}\n')
