"""The application: what it refuses at once, and what it takes in the user's own types."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fencepost import Every, Fencepost, Run
from fencepost.errors import InvalidPayload, InvalidSpec, UsageError
from fencepost.model.identifiers import JobName
from fencepost.model.run import RunFilter, RunState
from fencepost.operations import runs as run_operations


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Fencepost]:
    app = Fencepost(f"sqlite:///{tmp_path}/app.db")
    async with app:
        yield app


async def test_arguments_come_back_in_the_users_own_types(app: Fencepost) -> None:
    came: asyncio.Future[tuple[Point, Colour, datetime]] = asyncio.get_running_loop().create_future()
    moment = datetime(2026, 3, 1, tzinfo=UTC)

    @app.job()
    async def paint(run: Run, where: Point, colour: Colour, at_time: datetime) -> None:
        came.set_result((where, colour, at_time))

    async with app.running(plans=False):
        await app.enqueue(paint, where=Point(1, 2), colour=Colour.RED, at_time=moment)
        assert await asyncio.wait_for(came, 10) == (Point(1, 2), Colour.RED, moment)


async def test_a_job_that_is_new_or_changed_is_made_known_before_its_schedule(app: Fencepost) -> None:
    async def report() -> None: ...

    for name, timeout in (("first", None), ("second", None), ("second", "5s")):
        app.jobs.pop(JobName(name), None)
        app.job(name, timeout=timeout)(report)
        await app.schedules.add(f"of-{name}-{timeout}", job=name, trigger=Every("1h"))
        known = await (await app.open()).jobs.all(app.settings.namespace)
        assert known == app.specs()


async def test_a_schedule_in_code_ticks_and_is_accounted_for(app: Fencepost) -> None:
    ticks: asyncio.Queue[str] = asyncio.Queue()

    @app.job(schedule=Every("1s"))
    async def beat(run: Run) -> None:
        ticks.put_nowait(run.key)

    async with app.running():
        keys = [await asyncio.wait_for(ticks.get(), 10) for _ in range(2)]
    control = await app.control()
    done = await run_operations.find_runs(control, RunFilter(state=RunState.SUCCEEDED))
    assert set(keys) <= {run.run_key for run in done}


def generator(run: Run) -> Iterator[int]:
    yield 1


async def async_generator(run: Run) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [generator, async_generator])
def test_a_generator_is_not_taken_for_a_job(app: Fencepost, function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidSpec, match="is a generator"):
        app.job()(function)


def test_a_number_of_retries_is_not_taken_for_a_retry_policy(app: Fencepost) -> None:
    words: Any = {"retry": 3}
    with pytest.raises(InvalidSpec, match=r"retry 3: expected Retry\(…\), such as Retry\(max_attempts=3\)"):
        app.job("j", **words)(lambda: None)


def test_a_decorator_without_parentheses_is_not_ignored(app: Fencepost) -> None:
    with pytest.raises(InvalidSpec, match="with parentheses"):
        app.job(generator)  # type: ignore[arg-type]


def test_a_timeout_of_nothing_is_refused(app: Fencepost) -> None:
    def report() -> None: ...

    with pytest.raises(InvalidSpec, match="longer than nothing"):
        app.job(timeout="0s")(report)


def test_a_text_is_not_taken_for_a_trigger(app: Fencepost) -> None:
    with pytest.raises(InvalidSpec, match="expected a trigger"):
        app.add_schedule("beat", job="beat", trigger="* * * * *")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        pytest.param({"number": float("nan")}, InvalidPayload, id="not a number"),
        pytest.param({"number": object()}, InvalidPayload, id="an object"),
        pytest.param({"number": "x" * 300_000}, InvalidPayload, id="too long"),
        pytest.param({"number": 1, "key": "a#b"}, InvalidSpec, id="a key like a tick's"),
        pytest.param({"number": 1, "key": 5}, InvalidSpec, id="a key that is no text"),
        pytest.param({"number": 1, "at": "2030-01-01"}, UsageError, id="a time that is a text"),
        pytest.param({"number": 1, "at": datetime(2030, 1, 1)}, UsageError, id="no zone"),  # noqa: DTZ001
        pytest.param({"number": 1, "at": datetime(1, 1, 1, tzinfo=UTC)}, UsageError, id="too early"),
        pytest.param({"number": 1, "at": datetime(9999, 12, 31, tzinfo=UTC)}, UsageError, id="too far"),
    ],
)
async def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    app: Fencepost, arguments: dict[str, Any], error: type[Exception]
) -> None:
    @app.job()
    async def count(number: Any) -> None:
        return None

    with pytest.raises(error):
        await app.enqueue(count, **arguments)
    assert await run_operations.find_runs(await app.control(), RunFilter()) == []


async def test_a_backfill_is_filled_by_a_node_that_plans_and_run(app: Fencepost) -> None:
    came: asyncio.Queue[datetime] = asyncio.Queue()

    @app.job(schedule=Every("1h", anchor="2026-01-01T00:00:00Z"))
    async def report(run: Run) -> None:
        came.put_nowait(run.fire_time)

    async with app.running():
        since, until = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 3, tzinfo=UTC)
        await app.schedules.backfill("report", since, until)
        hours = [(await asyncio.wait_for(came.get(), 20)).hour for _ in range(3)]
    assert hours == [1, 2, 3]


async def test_a_tick_is_called_off_by_its_time(app: Fencepost) -> None:
    @app.job(schedule=Every("1h", anchor="2026-01-01T00:00:00Z"))
    async def report() -> None: ...

    await app.node()
    when = datetime(2999, 1, 1, tzinfo=UTC)
    assert (await app.schedules.hold("report", when)).held
    assert not (await app.schedules.release("report", when)).held
    assert (await app.schedules.skip("report", when)).state is RunState.SKIPPED
    assert [await app.schedules.freeze("report"), await app.schedules.thaw("report")] == [True, True]


def test_a_function_without_a_name_of_its_own_is_asked_for_one() -> None:
    app = Fencepost("sqlite:///unused.db")
    with pytest.raises(InvalidSpec, match="has no name of its own"):
        app.job()(partial(print, 1))
    app.retire()
