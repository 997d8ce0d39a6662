"""Many schedules of a program, written together."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost import Calendar, Cron, Every, Fencepost
from fencepost.errors import InvalidSpec, QuotaExceeded
from fencepost.model.schedule import ScheduleChange
from fencepost.operations.schedule_writing import BATCH_MAX
from fencepost.services.lookups import all_schedules
from fencepost.testing import Bench
from tests.testing.apps import STARTS

CREATED, CHANGED, UNCHANGED = ScheduleChange


def make_app(**settings: Any) -> Fencepost:
    app = Fencepost(store="memory://", **settings)

    @app.job()
    def report(region: str = "eu") -> None: ...

    return app


def hourly(**options: Any) -> dict[str, Any]:
    return {"job": "report", "trigger": Every("1h"), **options}


async def test_many_schedules_are_added_and_fire() -> None:
    app = make_app()
    async with Bench(app, now=STARTS) as bench:
        names = [f"tenant-{number:04}" for number in range(BATCH_MAX + 2)]
        became = await app.schedules.add_many((name, hourly(labels={"of": name})) for name in names)
        assert became == dict.fromkeys(names, CREATED)
        assert (await app.schedules.get(names[-1])).spec.labels == {"of": names[-1]}
        await app.schedules.remove(names[0])
        assert len(await bench.advance("1h")) == len(names) - 1


async def test_added_again_they_change_only_where_they_differ() -> None:
    app = make_app()
    async with Bench(app, now=STARTS):
        await app.schedules.add_many([("a", hourly()), ("b", hourly())])
        again = [("a", hourly()), ("b", hourly(trigger=Cron("0 6 * * *"))), ("c", hourly())]
        assert list((await app.schedules.add_many(again)).values()) == [UNCHANGED, CHANGED, CREATED]
        assert [(await app.schedules.get(name)).version for name in "abc"] == [1, 2, 1]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (hourly(job="reprot"), "schedule b: job reprot: not registered in this store; did you mean report?"),
        (hourly(payload={"rgion": "us"}), "schedule b: payload: unknown name 'rgion'"),
        (hourly(overlp="skip"), "schedule b: .*unexpected keyword argument 'overlp'"),
        ({"job": "report"}, "schedule b: .*missing .* 'trigger'"),
        (
            hourly(trigger=Calendar("de").keep(Cron("0 6 * * *"))),
            "schedule b: calendar de: not in the store",
        ),
    ],
)
async def test_a_batch_with_a_mistake_writes_nothing_and_names_it(wrong: dict[str, Any], said: str) -> None:
    app = make_app()
    async with Bench(app, now=STARTS):
        with pytest.raises(InvalidSpec, match=said):
            await app.schedules.add_many([("a", hourly()), ("b", wrong)])
        control = await app.control()
        assert [one async for one in all_schedules(control.store, control.namespace)] == []


async def test_a_schedule_is_not_given_twice() -> None:
    app = make_app()
    async with Bench(app, now=STARTS):
        with pytest.raises(InvalidSpec, match="schedule a: given twice"):
            await app.schedules.add_many([("a", hourly()), ("a", hourly())])


async def test_more_than_the_quota_are_refused_in_one_line() -> None:
    app = make_app(quota_schedules=3)
    async with Bench(app, now=STARTS):
        await app.schedules.add_many([("a", hourly()), ("b", hourly())])
        with pytest.raises(QuotaExceeded, match="has 2 schedules, would get 2 more, and its quota is 3"):
            await app.schedules.add_many([("b", hourly()), ("c", hourly()), ("d", hourly())])
