"""What django-celery-beat dumped becomes a module that an application can start with."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery.schedules import crontab
from hypothesis import given
from hypothesis import strategies as st

from fencepost.errors import UsageError
from fencepost.importing.celery_beat import import_celery_beat
from fencepost.importing.report import Imported, Weight
from fencepost.triggers import decode
from tests.importing.modules import executed

NOW = datetime(2026, 1, 7, 12, tzinfo=UTC)
CRONTAB = {
    "minute": "30",
    "hour": "2",
    "day_of_month": "*",
    "month_of_year": "*",
    "day_of_week": "*",
    "timezone": "Europe/Berlin",
}
TASK = {
    "name": "Nightly report",
    "task": "shop.tasks.report",
    "interval": None,
    "crontab": 1,
    "solar": None,
    "clocked": None,
    "args": "[]",
    "kwargs": '{"region": "eu"}',
    "queue": None,
    "exchange": None,
    "routing_key": None,
    "headers": "{}",
    "priority": None,
    "expires": None,
    "expire_seconds": None,
    "one_off": False,
    "start_time": None,
    "enabled": True,
    "last_run_at": "2026-01-06T01:30:00Z",
    "total_run_count": 3,
    "date_changed": "2026-01-06T01:30:00.123Z",
    "description": "",
}


def row(model: str, pk: int, fields: dict[str, Any]) -> dict[str, Any]:
    return {"model": f"django_celery_beat.{model}", "pk": pk, "fields": fields}


def dump(kind: str = "crontab", schedule: dict[str, Any] | None = None, **task: Any) -> list[dict[str, Any]]:
    """One task with one schedule."""
    chosen = {**TASK, "crontab": None, kind: 1, **task}
    return [
        row(f"{kind}schedule", 1, CRONTAB if schedule is None else schedule),
        row("periodictask", 1, chosen),
        row("periodictasks", 1, {"last_update": "2026-01-06T01:30:00Z"}),
    ]


def imported(rows: Any) -> Imported:
    return import_celery_beat(json.dumps(rows), "beat.json")


def texts(found: Imported, weight: Weight) -> list[str]:
    return [one.text for one in found.report.remarks if one.weight is weight]


def test_a_task_becomes_a_job_and_a_schedule() -> None:
    found = imported(dump())
    spec = executed(found.text)["Nightly-report"]
    assert spec.job == "shop.tasks.report"
    assert spec.payload == {"region": "eu"}
    assert spec.overlap == executed(imported(dump(queue="")).text)["Nightly-report"].overlap
    assert 'overlap="allow"' in found.text
    assert 'catch_up="latest"' in found.text
    assert decode(spec.trigger).next(NOW, 1) == [datetime(2026, 1, 8, 1, 30, tzinfo=UTC)]
    assert "do_shop_tasks_report()" in texts(found, Weight.LOOK)[0]


@pytest.mark.parametrize(
    ("kind", "schedule", "trigger"),
    [
        ("interval", {"every": 10, "period": "seconds"}, 'Every("10s")'),
        ("interval", {"every": 2, "period": "days"}, 'Every("2d")'),
        ("interval", {"every": 500_000, "period": "microseconds"}, 'Every("500ms")'),
        ("crontab", CRONTAB, 'Cron("30 2 * * *", tz="Europe/Berlin")'),
        (
            "crontab",
            {**CRONTAB, "day_of_week": "monday, fri", "day_of_month": "1-7"},
            'Cron("30 2 1-7 * +MON,FRI", tz="Europe/Berlin")',
        ),
        (
            "solar",
            {"event": "dusk_civil", "latitude": "52.520000", "longitude": "13.405000"},
            'Solar("dusk", 52.52, 13.405)',
        ),
        ("clocked", {"clocked_time": "2026-05-01T10:00:00+02:00"}, 'At("2026-05-01T08:00:00Z")'),
    ],
)
def test_a_schedule_becomes_a_trigger(kind: str, schedule: dict[str, Any], trigger: str) -> None:
    found = imported(dump(kind, schedule, one_off=kind == "clocked"))
    assert f"trigger={trigger},\n" in found.text
    assert len(executed(found.text)) == 1


def test_start_and_expiry_bound_the_trigger() -> None:
    rows = dump(start_time="2026-02-01T00:00:00Z", expires="2026-02-03T00:00:00Z", expire_seconds=None)
    (spec,) = executed(imported(rows).text).values()
    assert len(decode(spec.trigger).next(NOW, 10)) == 2


def test_seconds_until_a_message_expires_are_how_late_it_may_start() -> None:
    (spec,) = executed(imported(dump(expire_seconds=90)).text).values()
    assert spec.catch_up.max_lateness == timedelta(seconds=90)


def test_a_queue_is_carried_over_and_the_rest_of_the_routing_is_said() -> None:
    found = imported(dump(queue="slow", exchange="x", routing_key="y", priority=9, headers='{"a": 1}'))
    (spec,) = executed(found.text).values()
    assert spec.queue == "slow"
    said = " ".join(texts(found, Weight.LOOK))
    assert all(
        word in said for word in ('queue "slow"', 'exchange "x"', 'routing_key "y"', "priority 9", "headers")
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"enabled": False}, "is not enabled"),
        ({"one_off": True}, "only once"),
        ({"args": '[7, "eu"]'}, '([7, "eu"])'),
        ({"args": f'["{"x" * 10_000}"]'}, "xxx…); name them"),
    ],
)
def test_what_must_not_run_as_it_is_stands_as_a_comment(change: dict[str, Any], said: str) -> None:
    found = imported(dump(**change))
    assert (found.schedules, executed(found.text)) == ((), {})
    assert '#     "Nightly-report",' in found.text
    (text,) = texts(found, Weight.LEFT_OUT)
    assert said in text


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (dump(crontab=None), "expected exactly one of"),
        (dump(interval=1), "not interval, crontab"),
        (dump(crontab=7), "crontab 7: not in the dump"),
        (dump(kwargs="{"), "kwargs: not JSON"),
        (dump(kwargs="[]"), "kwargs: []"),
        (dump(kwargs='{"a": NaN}'), "NaN is not JSON"),
        (dump(kwargs='{"a": 1e999}'), "no plain JSON"),
        (dump(args="{}"), "args: {}"),
        (dump(task=""), 'task "": expected a text'),
        (dump(task="celery.backend_cleanup"), "Celery's own upkeep"),
        (dump(queue="two words"), "queue 'two words'"),
        (dump(expires="soon"), 'time "soon"'),
        (dump(schedule={**CRONTAB, "minute": "61"}), "minute 61"),
        (dump(schedule={**CRONTAB, "timezone": "Mars"}), "time zone"),
        (dump("interval", {"every": 5, "period": "microseconds"}), "whole milliseconds"),
        (dump("interval", {"every": 1_000, "period": "microseconds"}), "expected at least 100ms"),
        (dump("interval", {"every": 5, "period": "parsecs"}), "period"),
        (dump("solar", {"event": "dawn_nautical", "latitude": "0", "longitude": "0"}), "dawn_nautical"),
        (dump("solar", {"event": "sunset", "latitude": "north", "longitude": "0"}), "latitude"),
        (dump("clocked", {}), "clocked_time"),
    ],
)
def test_what_cannot_be_carried_over_is_left_out(rows: list[dict[str, Any]], said: str) -> None:
    found = imported(rows)
    assert found.schedules == ()
    (text,) = texts(found, Weight.LEFT_OUT)
    assert said in text
    assert executed(found.text) == {}


def test_tables_of_other_applications_are_passed_over() -> None:
    assert len(imported([{"model": "auth.user", "pk": 1, "fields": {}}, *dump()]).schedules) == 1


@pytest.mark.parametrize("document", ["", "{}", "[7]", '[{"pk": 1}]', '[{"model": "django_celery_beat.x"'])
def test_what_is_no_dump_is_refused(document: str) -> None:
    with pytest.raises(UsageError) as refused:
        import_celery_beat(document, "beat.json")
    assert str(refused.value).startswith("beat.json: ")


def test_hostile_texts_stay_literals() -> None:
    nasty = '"""\n)\nraise SystemExit\n\'"\\ \u2028'
    found = imported(dump(name=nasty, task=nasty, kwargs=json.dumps({nasty: nasty})))
    (spec,) = executed(found.text).values()
    assert spec.payload == {nasty: nasty}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
ROWS = st.sampled_from([*CRONTAB, "every", "period", "event", "latitude", "clocked_time"])


@given(
    st.sampled_from(["crontab", "interval", "solar", "clocked"]),
    st.dictionaries(ROWS, JSON | st.sampled_from(["*", "5", "days", "sunset", 3])),
    st.dictionaries(st.sampled_from(list(TASK)), JSON, max_size=3),
)
def test_any_dump_is_imported_or_reported(kind: str, schedule: dict[str, Any], task: dict[str, Any]) -> None:
    found = imported(dump(kind, schedule, **{name: one for name, one in task.items() if name != kind}))
    compile(found.text, "schedules.py", "exec")
    assert found.schedules or found.report.remarks


@pytest.mark.parametrize(
    ("field", "said", "written"),
    [
        ("hour", "22-2", "30 22-23,0-2 * * *"),
        ("hour", "22-2/2", "30 22,0,2 * * *"),
        ("minute", "59-10/5", "59,4,9 2 * * *"),
        ("day_of_month", "28-3", "30 2 28-31,1-3 * *"),
        ("month_of_year", "11-2", "30 2 * 11-12,1-2 *"),
        ("day_of_week", "fri-mon", "30 2 * * 5-6,0-1"),
        ("day_of_week", "fri-sun", "30 2 * * FRI-SUN"),
        ("hour", "1-3,22-2", "30 1-3,22-23,0-2 * * *"),
    ],
)
def test_a_range_that_runs_backwards_is_written_forwards(field: str, said: str, written: str) -> None:
    (spec,) = executed(imported(dump(schedule={**CRONTAB, field: said})).text).values()
    assert spec.trigger["expression"] == written
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    theirs = crontab(**{**{name: CRONTAB[name] for name in names}, field: said})
    ours = crontab(**dict(zip(names, written.split(), strict=True)))
    assert theirs == ours


@pytest.mark.parametrize(("tz", "told"), [("Europe/Berlin", True), ("UTC", False), ("Asia/Tokyo", False)])
def test_where_clocks_change_the_differences_are_told(tz: str, told: bool) -> None:
    found = [
        one for one in imported(dump(schedule={**CRONTAB, "timezone": tz})).report.remarks if one.where == tz
    ]
    assert [one.weight for one in found] == [Weight.LOOK] * told
    assert all("in Celery as much later as they moved" in one.text for one in found)
