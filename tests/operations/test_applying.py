"""Schedules that are written whole, one or many."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.model.audit import Action
from fencepost.model.identifiers import JobName, ScheduleId
from fencepost.model.job import JobSpec
from fencepost.model.json import JsonObject
from fencepost.model.schedule import ScheduleSpec
from fencepost.operations.applying import (
    ApplySchedulesRequest,
    PutScheduleRequest,
    ScheduleEntry,
    apply_schedules,
    put_schedule,
)
from fencepost.operations.schedules import ScheduleRequest, show_schedule
from fencepost.triggers import Every
from tests.operations.asking import asked, refused
from tests.services.house import House
from tests.services.verbs_work import logged, open_control


def entry(name: str, every: str = "1h", **words: Any) -> ScheduleEntry:
    return ScheduleEntry(schedule_id=name, **{"job": "report", "every": every, **words})


async def applied(control: Any, *entries: ScheduleEntry, **terms: Any) -> tuple[list[str], bool]:
    answer = await asked(control, apply_schedules, ApplySchedulesRequest(schedules=list(entries), **terms))
    return [one.change for one in answer.items], answer.written


async def test_one_is_created_replaced_and_left_alone() -> None:
    control = await open_control(House())
    nightly = PutScheduleRequest(schedule_id="nightly", job="report", every="1h", labels={"team": "ops"})
    assert (await asked(control, put_schedule, nightly)).version == 1
    assert (await asked(control, put_schedule, nightly)).version == 1
    bare = PutScheduleRequest(schedule_id="nightly", job="report", every="2h", expected_version=1)
    replaced = await asked(control, put_schedule, bare)
    assert (replaced.version, replaced.labels) == (2, {})
    assert "was changed meanwhile" in await refused(control, put_schedule, bare)
    new = PutScheduleRequest(schedule_id="nightly", job="report", every="3h", expected_version=0)
    assert "was changed meanwhile" in await refused(control, put_schedule, new)


async def test_what_is_masked_stays_as_it_was_and_is_not_written_where_nothing_was() -> None:
    control = await open_control(House())
    await control.store.jobs.register(control.namespace, [JobSpec(JobName("report"), open_payload=True)])
    secret = PutScheduleRequest(schedule_id="a", job="report", every="1h", payload={"api_token": "s3cret"})
    await asked(control, put_schedule, secret)
    shown = await asked(control, show_schedule, ScheduleRequest(schedule_id="a"))
    again = PutScheduleRequest(schedule_id="a", job="report", every="1h", payload=shown.payload)
    assert (await asked(control, put_schedule, again)).version == 1
    elsewhere = PutScheduleRequest(schedule_id="b", job="report", every="1h", payload=shown.payload)
    assert "in the place of a secret" in await refused(control, put_schedule, elsewhere)


async def test_many_are_answered_one_by_one_and_written_together() -> None:
    control = await open_control(House())
    assert await applied(control, entry("a"), entry("b")) == (["created", "created"], True)
    mixed = entry("a"), entry("b", "2h"), entry("c")
    assert await applied(control, *mixed, dry_run=True) == (["unchanged", "changed", "created"], False)
    assert await applied(control, *mixed) == (["unchanged", "changed", "created"], True)
    assert await applied(control, *mixed) == (["unchanged"] * 3, True)
    written = [one for one in await logged(control) if one[0] is Action.SCHEDULE_PUT]
    assert sorted(subject for _, subject in written) == ["a", "b", "b", "c", "invoices"]


async def test_where_one_is_refused_none_is_written_and_each_is_told() -> None:
    control = await open_control(House())
    wrong = entry("b", job="nope"), entry("c", cron="99 * * * *"), entry("d", max_runs=3)
    answer = await asked(
        control, apply_schedules, ApplySchedulesRequest(schedules=[entry("a"), *wrong, entry("b")])
    )
    assert not answer.written
    assert [(one.schedule_id, one.change) for one in answer.items] == [
        ("a", "created"),
        ("b", "refused"),
        ("c", "refused"),
        ("d", "refused"),
    ]
    assert [one.trouble for one in answer.items][1] == "is given twice; give each id once"
    page = await control.store.schedules.page(control.namespace, None, 9)
    assert [one.schedule_id for one in page] == ["invoices"]


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("postgres://ann:***@db/shop", False),
        ("Authorization: Bearer ***", False),
        ("*** urgent *** postgres://ann:***@db/shop", False),
        ("*** read this first ***", True),
    ],
)
async def test_a_secret_that_is_masked_inside_a_text_is_not_written(text: str, is_taken: bool) -> None:
    control = await open_control(House())
    await control.store.jobs.register(control.namespace, [JobSpec(JobName("report"), open_payload=True)])
    put = PutScheduleRequest(schedule_id="a", job="report", every="1h", payload={"what": text})
    if is_taken:
        assert (await asked(control, put_schedule, put)).payload == {"what": text}
    else:
        assert "in the place of a secret" in await refused(control, put_schedule, put)


async def test_a_masked_text_that_was_changed_around_its_secret_is_not_written() -> None:
    control = await open_control(House())
    await control.store.jobs.register(control.namespace, [JobSpec(JobName("report"), open_payload=True)])
    url = "postgres://ann:s3cret@db/shop"
    await asked(
        control,
        put_schedule,
        PutScheduleRequest(schedule_id="a", job="report", every="1h", payload={"at": url}),
    )
    moved = {"at": "postgres://ann:***@other/shop"}
    put = PutScheduleRequest(schedule_id="a", job="report", every="1h", payload=moved)
    assert "in the place of a secret" in await refused(control, put_schedule, put)


async def test_stars_that_are_kept_do_not_stand_in_the_way_of_another_change() -> None:
    control = await open_control(House())
    await control.store.jobs.register(control.namespace, [JobSpec(JobName("report"), open_payload=True)])
    stars: JsonObject = {"what": "***"}
    spec = ScheduleSpec(JobName("report"), trigger=Every("1h").to_json(), payload=stars)
    await control.store.schedules.put(
        control.namespace, ScheduleId("a"), spec, tzdata="2026a", expected_version=None
    )
    put = PutScheduleRequest(schedule_id="a", job="report", every="2h", payload={**stars, "more": 1})
    assert (await asked(control, put_schedule, put)).version == 2
