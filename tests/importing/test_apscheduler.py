"""What APScheduler itself exports becomes schedules that fire at the same times."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import UsageError
from fencepost.importing.apscheduler import import_apscheduler
from fencepost.importing.report import Imported, Weight
from fencepost.triggers import decode
from tests.importing.modules import executed

NOW = datetime(2026, 1, 7, 12, tzinfo=UTC)
TIMES = 40


@pytest.fixture
def scheduler() -> Iterator[Any]:
    """A scheduler that does nothing, in Berlin."""
    found = BackgroundScheduler(timezone="Europe/Berlin")
    found.start(paused=True)
    yield found
    found.shutdown()


def exported(scheduler: Any) -> str:
    file = io.StringIO()
    scheduler.export_jobs(file)
    return file.getvalue()


def imported(scheduler: Any) -> Imported:
    return import_apscheduler(exported(scheduler), "jobs.json")


def only_remark(found: Imported, weight: Weight) -> str:
    (text,) = (one.text for one in found.report.remarks if one.weight is weight)
    return text


def block(found: Imported, schedule_id: str) -> str:
    (text,) = (one for one in found.text.split("\n\n") if f'    "{schedule_id}",' in one)
    return text


def fire_times(trigger: Any) -> list[datetime]:
    """What APScheduler says, from NOW on."""
    times: list[datetime] = []
    previous = None
    while len(times) < TIMES:
        previous = trigger.get_next_fire_time(
            previous, NOW if previous is None else previous + timedelta.resolution
        )
        if previous is None:
            break
        times.append(previous.astimezone(UTC))
    return times


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("cron", {"hour": 3}),
        ("cron", {"minute": "*/5"}),
        ("cron", {"second": "10-50/20", "hour": "1,5-7"}),
        ("cron", {"minute": "7/20"}),
        ("cron", {"day_of_week": "mon-fri", "hour": 9}),
        ("cron", {"day_of_week": "5-6", "hour": 9}),
        ("cron", {"day_of_week": "*/2", "hour": 9}),
        ("cron", {"day_of_week": "1/2", "hour": 9}),
        ("cron", {"day_of_week": "sun", "day": "1-7", "hour": 9}),
        ("cron", {"day": "*/2", "day_of_week": "mon", "hour": 9}),
        ("cron", {"day": "last"}),
        ("cron", {"day": "2nd fri,last mon", "hour": "12"}),
        ("cron", {"month": "jan-mar,12", "day": 5}),
        ("cron", {"hour": 9, "start_date": "2026-02-01", "end_date": "2026-02-10 09:00:00"}),
        ("cron", {"hour": 9, "timezone": "Asia/Tokyo"}),
        ("interval", {"minutes": 7, "start_date": "2026-01-07 13:30:05"}),
        ("interval", {"days": 2, "start_date": "2026-02-01", "end_date": "2026-02-09"}),
        ("interval", {"seconds": 90, "start_date": "2026-01-07 15:00:00"}),
        ("date", {"run_date": "2026-05-01 10:00:00"}),
        ("calendarinterval", {"months": 2, "hour": 3, "start_date": "2026-01-15"}),
        ("calendarinterval", {"weeks": 1, "days": 1, "start_date": "2026-01-15", "end_date": "2026-06-01"}),
        ("calendarinterval", {"years": 1, "months": 1, "start_date": "2026-01-28", "minute": 30}),
    ],
)
def test_a_trigger_fires_at_the_same_times(scheduler: Any, kind: str, options: dict[str, Any]) -> None:
    job = scheduler.add_job("json:dumps", kind, id="one", kwargs={"obj": 1}, **options)
    expected = fire_times(job.trigger)
    job.modify(next_run_time=expected[0])
    trigger = decode(executed(imported(scheduler).text)["one"].trigger)
    assert trigger.next(NOW - timedelta(microseconds=1), TIMES) == expected


def test_an_interval_that_has_begun_keeps_its_beat(scheduler: Any) -> None:
    job = scheduler.add_job("json:dumps", "interval", minutes=7, start_date="2025-01-01", kwargs={"obj": 1})
    job.modify(next_run_time=NOW)
    (spec,) = executed(imported(scheduler).text).values()
    assert spec.trigger["kind"] == "every"
    assert decode(spec.trigger).next(NOW, TIMES) == fire_times(job.trigger)[-TIMES:]


def test_the_options_of_a_job_are_carried_over(scheduler: Any) -> None:
    common = {"trigger": "cron", "kwargs": {"obj": [1, "é", None]}}
    scheduler.add_job("json:dumps", id="plain", misfire_grace_time=60, jitter=30, **common)
    scheduler.add_job(
        "json:dumps", id="wide", misfire_grace_time=None, coalesce=False, max_instances=3, **common
    )
    found = imported(scheduler)
    plain, wide = block(found, "plain"), block(found, "wide")
    assert 'payload={"obj": [1, "é", None]}' in plain
    assert 'overlap="skip"' in plain
    assert 'catch_up=CatchUp("latest", max_lateness="60s")' in plain
    assert 'jitter="30s"' in plain
    assert 'overlap="allow(3)"' in wide
    assert 'catch_up=CatchUp("parallel(3)", max_lateness="36525d")' in wide
    assert set(found.schedules) == {"plain", "wide"}
    looks = {one.where: one.text for one in found.report.remarks if one.weight is Weight.LOOK}
    assert "json:dumps" in looks["job dumps"]
    assert "in APScheduler twice" in looks["Europe/Berlin"]
    assert len(looks) == 2


def test_a_random_id_gives_way_to_the_name(scheduler: Any) -> None:
    for _ in range(2):
        scheduler.add_job("json:dumps", "cron", name="Say it", kwargs={"obj": 1})
    assert imported(scheduler).schedules == ("Say-it", "Say-it-2")


def test_a_paused_job_and_one_with_bare_arguments_stand_as_comments(scheduler: Any) -> None:
    scheduler.add_job("json:dumps", "cron", id="paused", kwargs={"obj": 1}, next_run_time=None)
    scheduler.add_job("json:dumps", "cron", id="bare", args=[1], misfire_grace_time=60)
    found = imported(scheduler)
    assert executed(found.text) == {}
    assert '#     "paused",' in found.text
    assert '#     "bare",' in found.text
    left_out = " ".join(one.text for one in found.report.remarks if one.weight is Weight.LEFT_OUT)
    assert "is paused" in left_out
    assert "([1])" in left_out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trigger": "cron", "year": 2027}, "year is restricted"),
        ({"trigger": "cron", "week": "1-3"}, "week is restricted"),
        ({"trigger": "cron", "day": "2nd fri,3"}, "cannot join"),
        ({"trigger": "cron", "day": "2nd fri", "day_of_week": "mon"}, "cannot join"),
        ({"trigger": OrTrigger([CronTrigger(hour=3)])}, '"OrTrigger": not carried over'),
        ({"trigger": "calendarinterval", "months": 1, "start_date": "2026-01-31"}, "starts on day 31"),
        ({"trigger": "calendarinterval", "months": 1, "days": 1}, "months and days at once"),
        ({"trigger": "cron", "kwargs": {"obj": NOW}}, "kwargs: hold a pickled object"),
        ({"trigger": "interval", "seconds": 0.01}, "expected at least 100ms"),
    ],
)
def test_what_cannot_be_carried_over_is_left_out(scheduler: Any, options: dict[str, Any], said: str) -> None:
    scheduler.add_job("json:dumps", **{"kwargs": {"obj": 1}, "misfire_grace_time": 60, **options})
    found = imported(scheduler)
    assert found.schedules == ()
    assert said in only_remark(found, Weight.LEFT_OUT)


@pytest.mark.parametrize(
    "func", ["os:system('x')", "a;b:c", "import:x", "x", "x:", ":x", "x:y.class", "x:y\nz", 7]
)
def test_no_text_of_the_export_becomes_code(scheduler: Any, func: Any) -> None:
    scheduler.add_job("json:dumps", "cron", kwargs={"obj": 1})
    document = json.loads(exported(scheduler))
    document["jobs"][0]["func"] = func
    found = import_apscheduler(json.dumps(document), "jobs.json")
    assert found.schedules == ()
    assert str(func) not in found.text or func == "x"


def test_hostile_texts_stay_literals(scheduler: Any) -> None:
    nasty = '"""\n)\nraise SystemExit\n\'"\\\ud800\u2028'
    scheduler.add_job("json:dumps", "cron", id="x", kwargs={"obj": 1})
    document = json.loads(exported(scheduler))
    document["jobs"][0] |= {"id": nasty, "name": nasty, "kwargs": {"obj": nasty}, "misfire_grace_time": 60}
    found = import_apscheduler(json.dumps(document), "jobs.json")
    assert found.text.encode()
    (spec,) = executed(found.text).values()
    assert spec.payload == {"obj": nasty}


@pytest.mark.parametrize(
    "document",
    [
        "",
        "{",
        "[]",
        "7",
        '{"version": 2, "jobs": []}',
        '{"jobs": []}',
        '{"version": 1, "jobs": 3}',
        "[" * 100_000,
    ],
)
def test_what_is_no_export_is_refused(document: str) -> None:
    with pytest.raises(UsageError) as refused:
        import_apscheduler(document, "jobs.json")
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("jobs.json: ")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.data())
def test_any_change_of_an_export_is_imported_or_reported(data: st.DataObject) -> None:
    document = json.loads(EXPORT)
    places = list(_places(document["jobs"]))
    for _ in range(data.draw(st.integers(1, 3))):
        target, key = data.draw(st.sampled_from(places))
        target[key] = data.draw(JSON)
    found = import_apscheduler(json.dumps(document), "jobs.json")
    compile(found.text, "schedules.py", "exec")
    assert found.schedules or found.report.remarks


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield value, key
        yield from _places(one)


def _export() -> str:
    found = BackgroundScheduler(timezone="Europe/Berlin")
    found.start(paused=True)
    for kind in ("cron", "interval", "calendarinterval"):
        options = {"days": 2} if kind != "cron" else {"hour": "3-5", "day_of_week": "mon"}
        found.add_job("json:dumps", kind, id=kind, kwargs={"obj": 1}, **options)
    text = exported(found)
    found.shutdown()
    return text


EXPORT = _export()
